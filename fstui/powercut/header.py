"""The first line of the writer's output: everything that is needed after the power cut."""

import re
from typing import Any

import msgspec

from fstui import proc
from fstui.measure import kinds
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


class PowerCutHeader(Base, frozen=True, kw_only=True):
    fstui: str = FORMAT
    run: str
    started_at: str
    boot: str
    """/proc/sys/kernel/random/boot_id. If it has changed at the verification, the host has restarted."""
    host: Host
    directory: str
    fsid: int
    """statvfs(3) f_fsid of the directory's filesystem."""
    target: Target
    scenario: ScenarioRef
    streams: tuple[Stream, ...]
    """One per writer, in order."""
    version: str

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the writer runs on this host, which has not restarted since."""
        boot_id = proc.boot_id()
        return bool(boot_id) and self.boot == boot_id

    @property
    def settings(self) -> Settings:
        """The settings of the writers. Raises msgspec.ValidationError."""
        return kinds.settings_from({**self.scenario.settings, kinds.TAG: "powercut"})


def decode_header(fields: dict[str, Any]) -> PowerCutHeader:
    try:
        header = msgspec.convert(fields, PowerCutHeader)
        _ = header.settings  # raises if the settings are invalid
        encode(header)  # raises if JSON, and so the run document, cannot contain one of its numbers or texts
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        raise _invalid_header(str(error)) from None
    if not _RUN_ID.fullmatch(header.run):
        raise _invalid_header("its run id is not 16 hexadecimal digits")
    writers = [stream.writer for stream in header.streams]
    if writers != list(range(len(writers))) or not all(stream.is_possible for stream in header.streams):
        raise _invalid_header("its streams are invalid")
    return header


def _invalid_header(reason: str) -> Refused:
    return Refused(f"the first line of the log is not the header of a power-cut test: {reason}")
