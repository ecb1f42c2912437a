"""Perform one request on many hosts: copy fstui.pyz to the hosts that need it, run it, save the documents."""

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from fstui.fleet import remote, results
from fstui.fleet.remote import Request
from fstui.fleet.results import About, Fleet, HostResult, results_of
from fstui.fleet.ssh import Fanout, HostTrouble
from fstui.model.errors import Refused, local_time

_COMPLETE_EXITS = ("0", "1", "3", "129", "130", "143")
"""Exit statuses with which fstui has printed a complete document."""
_MAX_PATH = 4096
_RUN_ID = re.compile("[0-9a-z]{1,32}")
"""Valid run ids. An id comes from a document of the host, and the script of ``clean`` uses it in a file name."""
OnAnswer = Callable[[str, str], object]
"""A function that is called with each host and a short text about its answer."""


class FleetJob:
    def __init__(self, request: Request, nodes: tuple[str, ...], into: Path | None, file: Path | None) -> None:
        """``into``: the directory for the results. ``file``: fstui.pyz; None if the hosts have fstui. Raises
        Refused."""
        self._request = replace(request, digest=_digest(file)) if file else request
        self._nodes = nodes
        self._file = file
        self.directory = results.create_directory(into)
        self._results: list[HostResult] = []
        self._remarks: dict[str, str] = {}
        """As in ``About``: how a command with a document failed."""
        self.max_leftover_bytes = 0
        """The maximum number of bytes that fstui.pyz and its unpacked files occupy on one host after the run."""
        self.fanout = Fanout(request)

    async def run(self, on_answer: OnAnswer) -> Fleet:
        """Perform the request on all hosts and save their documents in the directory. Raises OSError."""
        began_s, started_at = time.monotonic(), local_time().isoformat(timespec="seconds")
        troubles = await self.fanout.visit(self._nodes, self._request_document, on_answer)
        about = About(
            command=self._request.command,
            arguments=self._request.arguments,
            started_at=started_at,
            elapsed_s=time.monotonic() - began_s,
            fanout=self._request.fanout,
            nodes=self._nodes,
            troubles=troubles,
            remarks=self._remarks,
        )
        results.save_about(self.directory, about)
        return Fleet(about=about, results=tuple(self._results))

    async def _request_document(self, node: str) -> str:
        """Save the document of a host. Return a short text about it. Raises HostTrouble."""
        place = await self._find_or_copy_file(node) if self._file else ""
        answer = await self.fanout.run(node, remote.run_script(self._request, place))
        if not answer.document:
            raise HostTrouble(answer.refusal)
        try:
            host_results = results_of(node, self._request.command, answer.document)
        except Refused as refusal:
            raise HostTrouble(f"its output is not a document: {str(refusal)[:200]}") from None
        results.save_document(self.directory, node, answer.document)
        kib_left = answer.values.get("stays", "")
        if kib_left.isdecimal() and len(kib_left) < 12:
            self.max_leftover_bytes = max(self.max_leftover_bytes, int(kib_left) << 10)
        self._results += host_results
        if not host_results or answer.values["end"] not in _COMPLETE_EXITS:
            self._remarks[node] = answer.refusal
        return ", ".join(dict.fromkeys(host.verdict or host.sentence for host in host_results))

    async def _find_or_copy_file(self, node: str) -> str:
        """Return the directory with fstui.pyz on a host. Raises HostTrouble."""
        assert self._file is not None
        answer = await self.fanout.run(node, remote.find_script(self._request))
        if "copy" in answer.values:
            answer = await self.fanout.run(node, remote.receive_script(self._request), self._file)
        place = answer.values.get("ready", "")
        if not place.startswith("/") or len(place) >= _MAX_PATH:
            raise HostTrouble("its output cannot be parsed")
        return place


async def clean(request: Request, fleet: Fleet, fanout: Fanout, on_answer: OnAnswer) -> dict[str, str]:
    """Remove what the request left on each host. Return the hosts where that failed, and why."""

    async def clean_host(node: str) -> str:
        runs = [host.run for host in fleet.results if host.node == node and _RUN_ID.fullmatch(host.run)]
        answer = await fanout.run(node, remote.clean_script(request, runs))
        if answer.values.get("end") != "0":
            raise HostTrouble("its output was cut short")
        return "removed"

    return await fanout.visit(fleet.about.nodes, clean_host, on_answer)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            # by default, the file is in the working directory, where another user may have put it
            if os.fstat(content.fileno()).st_uid not in (0, os.geteuid()):
                raise Refused(f"--pyz {file}: it belongs to another user, and every host would run it. Copy it first")
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Refused(f"cannot read --pyz {file}: {error.strerror}") from None
