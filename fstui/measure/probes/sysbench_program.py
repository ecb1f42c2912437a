"""sysbench as a child of a probe: started with its secrets on a pipe, heard line by line, gone when the probe is."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fstui.measure.wire.talk import interrupted, send, telling

SCHEMAS = "./schemas.lua"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
_QUERY = re.compile(r" for query '.*")


class Trouble(Exception):  # noqa: N818  becomes the ``error`` frame
    """What sysbench said, or did not say."""


@contextlib.contextmanager
def telling_trouble(
    call: str, start: str, errno_of: Callable[[str], int | None] = lambda words: None
) -> Iterator[None]:
    """The same as ``telling`` for what drives a program: its Trouble by ``call``, an OSError by ``start``."""
    with telling(start):
        try:
            yield
        except Trouble as trouble:
            words = str(trouble)
            send("error", call=call, errno=errno_of(words), message=words[:1000], writer=0)


class Sysbench:
    """One run of the program: its lines are heard in a thread, while the first one listens to the engine."""

    def __init__(
        self,
        settings: dict[str, Any],
        command: str,
        *words: str,
        hear: Callable[[str], None],
        script: str = "",
        environment: dict[str, str] | None = None,
    ) -> None:
        """``script``: one of ours; else that of the workload, in as many schemas as there are."""
        self.hear = hear
        self.text: list[str] = []
        self.watched, self._finished = os.pipe()
        config, writer = os.pipe()
        os.write(writer, settings["secrets"].encode())
        os.close(writer)
        workload = "oltp_read_write" if command != "run" else settings["workload"]
        own = {"FSTUI_WORKLOAD": workload, "FSTUI_SCHEMAS": str(settings["schemas"]), **(environment or {})}
        script = script or (SCHEMAS if settings["schemas"] > 1 else workload)
        argv = [settings["sysbench"], script, *settings["connection"], f"--config-file=/dev/fd/{config}"]
        argv += [*words, command]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(config,),
            env={**os.environ, **settings["environment"], **own, "LC_ALL": "C"},
            preexec_fn=die_with_us,  # noqa: PLW1509  no thread of ours runs yet
        )
        os.close(config)
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                text = line.decode(errors="replace").rstrip("\n")
                self.text.append(text)
                with contextlib.suppress(BrokenPipeError):
                    self.hear(text)
        finally:
            os.close(self._finished)

    def end(self) -> int:
        """Its status, once it has closed its output."""
        self.thread.join()
        return self.process.wait()

    def end_before_the_clock(self, tell: Callable[[], None] = lambda: None) -> None:
        """``tell`` is called now and then. Raises Trouble; SystemExit where the engine hangs up meanwhile."""
        while self.thread.is_alive():
            self.thread.join(0.05)
            tell()
            if interrupted():
                self.process.kill()
                raise SystemExit(1)
        if self.end():
            raise Trouble(reason(self.text, self.process.returncode))


def die_with_us() -> None:
    """prctl(2): a probe that is killed leaves no client behind that goes on writing."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def reason(text: list[str], status: int = 1) -> str:
    """What sysbench gave as its reason: its first FATAL line, which names the server's error, and what went with it.

    Without the query, which may be a thousand rows. sysbench 1.0 itself crashes where PostgreSQL does.
    """
    fatal = [line.partition(": ")[2] for line in text if line.startswith(("FATAL: ", "ALERT: "))]
    told = [line for line in fatal if not line.startswith(("`", "failed query was: "))] or fatal
    if not told and status < 0:
        return f"sysbench was ended by signal {-status}: its server may be gone"
    return _QUERY.sub("", told[-1]) if told else (text[-1] if text else "it said nothing")
