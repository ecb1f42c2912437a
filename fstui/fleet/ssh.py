"""ssh(1) as it is called here: its options, and the way through gateways.

All boxes behind a gateway share one connection to it (ssh_config(5), ControlMaster), which hands on what is encrypted
from end to end. So a gateway needs an sshd and nothing else, no key of ours lies on it, and its sshd does not see
hundreds of connections begin at once, of which it would drop some (sshd_config(5), MaxStartups).
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fstui.fleet.asked import Asked
from fstui.model.errors import Refused

_ALIVE = ("-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""A box that vanishes is noticed within so many seconds, whatever its kernel does."""
_OURS_ALONE = "trap '' INT HUP; exec"
"""Ctrl-C is for us, who tell the boxes; ssh keeps ignored what was ignored before it."""
_IDLE_S = 60
"""So long a gateway's connection outlives the last that used it, where nobody ended it."""
_ENDING_S = 5
_MOST_PATH = 80
"""A socket's path may have 107 bytes (unix(7)); ssh puts 17 of its own behind it while it makes one."""
Hops = tuple[str, ...]


def words_of(asked: Asked) -> list[str]:
    """ssh with its options: the user's own first, as the first one counts (ssh_config(5)); it never asks."""
    ours = ["-a", "-x", "-T", "-oBatchMode=yes", f"-oConnectTimeout={asked.connect_s}", *_ALIVE]
    return [*shlex.split(asked.ssh), *ours]


class Ssh:
    """Command lines for the local shell, which becomes ssh; ``%h`` is the box, or the gateway."""

    def __init__(self, asked: Asked, directory: Path) -> None:
        self._words = words_of(asked)
        self._directory = os.path.relpath(directory) if asked.hops else ""
        if len(self._directory) > _MOST_PATH - len("/gateway-"):
            raise Refused(f"{directory}: its path is too long for the sockets of gateways; --into names another")
        self._sockets: dict[Hops, str] = {}

    def to(self, hops: Hops, script: str, stdin: Path | None = None) -> str:
        """A script there, by way of these."""
        given = f" <{shlex.quote(str(stdin))}" if stdin else ""
        return self._line([*self._words, *self._through(hops)], f"{shlex.quote(script)}{given}")

    def opened(self, hops: Hops) -> str:
        """The connection to the last of these, by way of those before it; ends when that stands."""
        self._sockets[hops] = f"{self._directory}/gateway-{len(self._sockets)}"
        shared = ["-oControlMaster=yes", f"-oControlPersist={_IDLE_S}", _shared(self._sockets[hops]), "-fN"]
        return self._line([*self._words, *self._through(hops[:-1]), *shared], "")

    def close(self) -> None:
        """End the connections to gateways, the furthest first."""
        for hops, socket in sorted(self._sockets.items(), key=lambda item: -len(item[0])):
            if os.path.exists(socket):  # noqa: PTH110  relative, as ssh has it
                ending = [*self._words, _shared(socket), "-O", "exit", "--", hops[-1]]
                with suppress(subprocess.TimeoutExpired):  # it ends by itself then
                    subprocess.run(
                        ending, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_ENDING_S
                    )

    def _through(self, hops: Hops) -> list[str]:
        if not hops:
            return []
        way = [*self._words, *self._through(hops[:-1]), "-oControlMaster=no", _shared(self._sockets[hops])]
        return [f"-oProxyCommand={_literal(shlex.join(way))} -W '[%h]:%p' -- {hops[-1]}"]

    def _line(self, before: Iterable[str], after: str) -> str:
        return f"{_OURS_ALONE} {_literal(shlex.join(before))} -- %h {_literal(after)}"


def _shared(socket: str) -> str:
    return f'-oControlPath="{_literal(socket)}"'


def _literal(text: str) -> str:
    """ClusterShell takes a percent sign for a word of its own, and so does ssh in a ProxyCommand."""
    return text.replace("%", "%%")
