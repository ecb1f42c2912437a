"""One parser with many inputs: ``python -m tests.fuzz.guided NAME INPUTS``.

Guided by the coverage of fstui's code if atheris is installed (``pip install -e .[fuzz]``), otherwise with hypothesis.
It continues after a failure: it prints a line of JSON for each new kind, and at the end one with the number of inputs.
"""

import json
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_BYTES = 8192
SLOW_S = 60
OURS = re.compile(r"/(fstui|tests)/")


def main(name: str, inputs: int) -> None:
    """Run the inputs and print the failures; exit with status 0."""
    with suppress(OSError):  # nice(1) counts only within the session if the kernel groups by session: sched(7)
        Path("/proc/self/autogroup").write_text("19")
    with tempfile.TemporaryDirectory(prefix="fstui-fuzz-") as scratch:
        os.environ |= {"XDG_STATE_HOME": f"{scratch}/state", "XDG_CONFIG_HOME": f"{scratch}/config"}
        try:
            atheris = import_module("atheris")
        except ImportError:
            by_hypothesis(name, inputs)
        else:
            by_coverage(atheris, name, inputs, Path(scratch))


def by_coverage(atheris: Any, name: str, inputs: int, scratch: Path) -> None:
    """Run atheris in a child, because libFuzzer ends its process."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    with atheris.instrument_imports(include=["fstui"]):
        target = import_module("tests.fuzz.targets").TARGETS[name]
    corpus = scratch / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    options = [f"-runs={inputs}", f"-max_len={MAX_BYTES}", f"-timeout={SLOW_S}", "-verbosity=0", "-rss_limit_mb=4096",
               f"-artifact_prefix={scratch}/", "-len_control=0", str(corpus)]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], WatchCounts(target.attempt, inputs).attempt)
    atheris.Fuzz()


def by_hypothesis(name: str, inputs: int) -> None:
    """Generate valid inputs with a replaced piece, and arbitrary ones."""
    from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415

    from tests.fuzz.targets import TARGETS  # noqa: PLC0415
    from tests.fuzz.test_parsers import inputs as spoilt  # noqa: PLC0415

    watched = WatchCounts(TARGETS[name].attempt, inputs)
    quick = settings(
        max_examples=inputs, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    quick(given(spoilt(name))(watched.attempt))()
    watched.say_end()


class WatchCounts:
    """A parser. Each kind of failure is reported once."""

    def __init__(self, attempt: Callable[[bytes], None], most: int) -> None:
        self._attempt = attempt
        self._most = most
        self._began = time.monotonic()
        self._done = 0
        self._known: set[str] = set()

    def attempt(self, data: bytes) -> None:
        """Run one input."""
        try:
            self._attempt(data)
        except Exception as error:
            self._tell(error, data)
        self._done += 1
        if self._done % 1000 == 0 or self._done == self._most:
            self.say_end()

    def _tell(self, error: Exception, data: bytes) -> None:
        ours = [frame for frame in traceback.extract_tb(error.__traceback__) if OURS.search(frame.filename)]
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(ours[-3:]))
        kind = f"{type(error).__name__} {where}"
        if kind not in self._known:
            self._known.add(kind)
            _say(kind=kind, error=str(error)[:300], data=data.hex())

    def say_end(self) -> None:
        """Print the progress; the last of these lines counts."""
        _say(inputs=self._done, elapsed_s=round(time.monotonic() - self._began, 1), kinds=len(self._known))


def _say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
