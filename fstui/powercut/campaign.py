"""The settings and the cuts of a campaign, and the directory on the witness in which they are stored.

A campaign cuts the power of HOST, the tested machine. Its directory contains ``campaign.json`` (the settings) and for
each cut ``NUMBER.json`` (its state, written again before each step), ``NUMBER.log`` (the acknowledgements) and
``NUMBER.run.json`` (what HOST read back). ``stopped`` contains the reason why the campaign stopped. After a power cut
of the witness itself, the same command continues with the step that was interrupted.
"""

from __future__ import annotations

import fcntl
import os
import random
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from fstui import __version__
from fstui.measure.kinds.powercut import CUT_NAMES, CutKind, PowerCutFigures
from fstui.model.base import Amount, Base, Count
from fstui.model.documents import encode
from fstui.model.errors import Refused, local_time
from fstui.powercut.header import PowerCutHeader, decode_header
from fstui.powercut.log import MAX_HEADER, BadLog, parse_header
from fstui.state.files import create_private_directory, read_regular, write_atomically

Step = Literal["start", "write", "off", "wait", "on", "back", "verify", "done"]
"""``start``: HOST is being prepared; ``write``: the writer runs; ``off``, ``on``: that command was started; ``wait``:
the power is off; ``back``: HOST is booting; ``verify``: the records are compared."""
Outcome = Literal["", "intact", "lost", "no-cut", "refused"]
"""``intact``: no acknowledged record was lost. ``no-cut``: nothing was proven. ``refused``: HOST cannot write with this
pattern."""

CUT_KINDS = tuple(CUT_NAMES)
PATTERNS: dict[str, dict[str, str]] = {
    "overwrite + fdatasync": {"sync": "fdatasync", "writes": "overwrite"},
    "append + fsync": {"sync": "fsync", "writes": "append"},
    "O_DIRECT + O_DSYNC": {"sync": "O_DIRECT+O_DSYNC", "writes": "overwrite"},
    "create + rename + fsync of the directory": {"sync": "fsync", "writes": "rename"},
    "16 KiB blocks": {"sync": "fdatasync", "writes": "overwrite", "block": "16384"},
    "4 writers": {"sync": "fdatasync", "writes": "overwrite", "writers": "4"},
    "SQLite": {"sync": "fdatasync", "writes": "sqlite"},
    "PostgreSQL": {"writes": "postgresql"},
    "MariaDB": {"writes": "mariadb"},
    "MySQL": {"writes": "mysql"},
}
"""The settings of the writer by the name of the pattern. The cuts use the patterns in this order."""
_POWER_STATES: dict[Step, str] = {
    "start": "in an unknown state: it has not answered yet",
    "off": "in an unknown state: the off command was running",
    "wait": "off",
    "on": "in an unknown state: the on command was running",
    "back": "in an unknown state: it has not answered since the on command",
}
_Document = TypeVar("_Document")
_COMMON_SETTINGS = {"host": "--host", "directory": "--dir", "kind": "--cut", "wait_s": "--wait"}
"""The settings that must be the same for all cuts of a campaign, and the option that sets each."""
_SETTINGS_NAME, _LOCK_NAME, _REASON_NAME = "campaign.json", "lock", "stopped"


class CampaignSettings(Base, frozen=True, kw_only=True):
    """Everything that the user chose."""

    host: str
    directory: str
    off: str
    on: str
    cuts: int
    wait_s: tuple[float, float]
    """Shortest and longest time from the first acknowledgement to a cut. The times are uniformly distributed."""
    kind: CutKind
    seed: int
    ssh: str
    installed: str
    """The shell command that starts fstui on HOST."""
    mount: str
    """A shell command that mounts DIR on HOST unless DIR is mounted already; empty: HOST mounts DIR at boot."""
    remake: str
    """A shell command that creates a new filesystem for DIR on HOST after a loss; empty: none is created."""
    root_of: str
    trust_dir: bool
    """``root_of``, ``trust_dir``: options of ``powercut write`` on HOST."""
    off_s: float
    """The power stays off for this long."""
    back_s: float
    """The longest time from the on command until HOST can be reached and DIR is mounted."""
    command_s: float
    """The longest time of the off and the on command."""
    started_at: str
    version: str = __version__


class CampaignCut(Base, frozen=True, kw_only=True):
    """One cut."""

    number: Count
    pattern: str
    wait_s: Amount
    started_at: str
    step: Step = "start"
    mount_point: str = ""
    boot_before: str = ""
    boot_after: str = ""
    off_took_s: Amount = 0.0
    off_printed: str = ""
    silent_after_s: float | None = None
    """Time from the return of the off command to the last acknowledgement; negative if that arrived before."""
    back_after_s: Amount = 0.0
    """Time from the on command until HOST could be reached."""
    spoiled: str = ""
    """Why the cut proves nothing unless a record is lost."""
    outcome: Outcome = ""
    reason: str = ""
    """Why the outcome is ``no-cut`` or ``refused``."""
    figures: PowerCutFigures | None = None

    @property
    def is_conclusive(self) -> bool:
        """Whether the cut counts: the power was cut and the records were compared."""
        return self.outcome in ("intact", "lost")

    @property
    def power_state(self) -> str:
        """The state of the power supply, as far as the witness knows."""
        has_answered = self.step == "start" and self.boot_before
        return "on" if has_answered else _POWER_STATES.get(self.step, "on")


class CampaignStore:
    """The directory of a campaign. Every change is durable when the method returns."""

    def __init__(self, directory: Path, settings: CampaignSettings, cuts: list[CampaignCut], lock_fd: int) -> None:
        self.directory = directory
        self.settings = settings
        self.cuts = cuts
        self.is_running = False
        self._earlier_refusals = sum(cut.outcome == "refused" for cut in cuts)
        """The number of refusals before this start. Their patterns are used again, because the cause may be gone."""
        self._lock_fd = lock_fd
        """Descriptor of the lock, which is held until the process ends."""

    @classmethod
    def open(cls, directory: Path, settings: CampaignSettings | None) -> CampaignStore:
        """Continue the campaign in the directory, or begin one with these settings. Raises Refused, OSError."""
        saved = directory / _SETTINGS_NAME
        if settings is None and not saved.exists():
            raise Refused(f"{directory} contains no campaign. To begin one, give --host, --dir, --off, --on and --cuts")
        create_private_directory(directory)
        lock_fd = os.open(directory / _LOCK_NAME, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if saved.exists():
                settings = _merge_settings(_read_file(saved, CampaignSettings, owner=os.geteuid()), settings, directory)
            assert settings is not None
            write_atomically(saved, msgspec.json.format(encode(settings)) + b"\n")
            (directory / _REASON_NAME).unlink(missing_ok=True)
            return cls(directory, settings, _read_cuts(directory), lock_fd)
        except BaseException as error:
            os.close(lock_fd)
            if isinstance(error, BlockingIOError):
                raise Refused(f"another fstui runs the campaign in {directory}. Wait for its end, or stop it") from None
            raise

    @classmethod
    def read(cls, directory: Path) -> CampaignStore:
        """Return the campaign in the directory, even if it is running. Raises Refused, OSError."""
        store = cls(directory, _read_file(directory / _SETTINGS_NAME, CampaignSettings), _read_cuts(directory), -1)
        lock_fd = os.open(directory / _LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            store.is_running = True
        finally:
            os.close(lock_fd)
        return store

    @staticmethod
    def exists_in(directory: Path) -> bool:
        with suppress(OSError):
            return (directory / _SETTINGS_NAME).is_file()
        return False

    @property
    def stop_reason(self) -> str:
        with suppress(OSError):
            return (self.directory / _REASON_NAME).read_text()
        return ""

    def stop(self, reason: str) -> None:
        """Save why the campaign stops. Raises OSError."""
        write_atomically(self.directory / _REASON_NAME, reason.encode())

    @property
    def conclusive_cuts(self) -> list[CampaignCut]:
        return [cut for cut in self.cuts if cut.is_conclusive]

    def current_cut(self) -> CampaignCut:
        """Return the unfinished cut, or the next one. Raises Refused if HOST refused every pattern."""
        if self.cuts and self.cuts[-1].step != "done":
            return self.cuts[-1]
        refusals = [cut for cut in self.cuts if cut.outcome == "refused"][self._earlier_refusals :]
        refused = {cut.pattern: cut.reason for cut in refusals}
        possible = [pattern for pattern in PATTERNS if pattern not in refused]
        if not possible:
            raise Refused(f"{self.settings.host} refuses to write: {next(iter(refused.values()))}")
        number = len(self.cuts) + 1
        pattern = possible[(number - 1) % len(possible)]
        wait_s = round(random.Random(f"{self.settings.seed}/{number}").uniform(*self.settings.wait_s), 3)
        now = local_time().isoformat(timespec="seconds")
        return CampaignCut(number=number, pattern=pattern, wait_s=wait_s, started_at=now)

    def save(self, cut: CampaignCut) -> CampaignCut:
        """Replace the state of the newest cut, or add a new one. Raises OSError."""
        write_atomically(self.directory / f"{cut.number:05}.json", encode(cut) + b"\n")
        self.cuts[cut.number - 1 :] = [cut]
        return cut

    def log_path(self, cut: CampaignCut) -> Path:
        return self.directory / f"{cut.number:05}.log"

    def header(self, cut: CampaignCut) -> PowerCutHeader | None:
        try:
            with self.log_path(cut).open("rb") as log:
                return decode_header(parse_header(log.readline(MAX_HEADER)))
        except (OSError, BadLog, Refused):
            return None

    def save_run(self, cut: CampaignCut, document: bytes) -> None:
        write_atomically(self.directory / f"{cut.number:05}.run.json", document.strip() + b"\n")


def _merge_settings(saved: CampaignSettings, new: CampaignSettings | None, directory: Path) -> CampaignSettings:
    """Return the new settings with the saved seed and start. Raises Refused if the cuts would not be comparable."""
    if new is None:
        return saved
    if different := [option for name, option in _COMMON_SETTINGS.items() if getattr(saved, name) != getattr(new, name)]:
        raise Refused(
            f"The campaign in {directory} was begun with a different {' and '.join(different)}. Give the same values, "
            "or name another directory with --into"
        )
    return msgspec.structs.replace(new, seed=saved.seed, started_at=saved.started_at)


def _read_cuts(directory: Path) -> list[CampaignCut]:
    cuts: list[CampaignCut] = []
    while (path := directory / f"{len(cuts) + 1:05}.json").exists():
        cuts.append(_read_file(path, CampaignCut))
    return cuts


def _read_file(path: Path, kind: type[_Document], owner: int | None = None) -> _Document:
    """Read a file of a campaign. ``owner``: who must own the file, because its commands will run. Raises Refused."""
    try:
        data, status = read_regular(path)
        if owner not in (None, status.st_uid):
            raise Refused(f"{path} belongs to another user, and its commands would run as you")
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(f"{path}: {error}. It is not a file of a campaign") from None
