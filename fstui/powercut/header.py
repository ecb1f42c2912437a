"""The first line of the writer's output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from fstui.measure import kinds as measures
from fstui.model.base import Base
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.host import Host
from fstui.model.run import ScenarioRef
from fstui.model.settings import Settings
from fstui.model.storage import Target
from fstui.powercut.log import FORMAT
from fstui.powercut.records import Stream

_RUN_ID = re.compile(r"[0-9a-f]{16}")


class Header(Base, frozen=True, kw_only=True):
    """All that must be known of the run when its box has lost its power."""

    fstui: str = FORMAT
    run: str
    started_at: str
    boot: str
    """/proc/sys/kernel/random/boot_id: another one afterwards means that the box has booted again."""
    host: Host
    directory: str
    """The run's own, with the records."""
    fsid: int
    """statvfs(3) f_fsid of its filesystem."""
    target: Target
    """The stack beneath, with its settings and its identity, as they were."""
    scenario: ScenarioRef
    streams: tuple[Stream, ...]
    """One per writer, in their order."""
    version: str

    @property
    def asked(self) -> Settings:
        """What the writers were asked for. Raises msgspec.ValidationError."""
        return measures.settings_from({**self.scenario.settings, measures.TAG: "powercut"})


def decode_header(fields: dict[str, Any]) -> Header:
    """Raises Refused."""
    try:
        header = msgspec.convert(fields, Header)
        _ = header.asked
        encode(header)  # what it says is saved with the run: numbers and texts that no document can hold are refused
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        raise _no_header(str(error)) from None
    if not _RUN_ID.fullmatch(header.run):
        raise _no_header("its run is no id of 16 hexadecimal digits")
    writers = [stream.writer for stream in header.streams]
    if writers != list(range(len(writers))) or not all(stream.is_possible for stream in header.streams):
        raise _no_header("its streams are none that a writer makes")
    return header


def _no_header(why: str) -> Refused:
    return Refused(f"the log's first line is no header of a power-cut run: {why}")


def boot_id() -> str:
    """Of this boot; empty where /proc does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
