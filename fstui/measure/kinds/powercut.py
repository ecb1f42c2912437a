"""Power-cut tests: a host writes numbered records, and a witness on another host receives the acknowledgements."""

from typing import ClassVar, Literal

from fstui.measure.kinds import StepFigures, StepSettings
from fstui.model.base import Amount, Count
from fstui.model.quantities import count

CutKind = Literal["power", "host-stop", "reset"]
"""What the cut did, according to the user."""
CUT_NAMES: dict[CutKind, str] = {"power": "cut", "host-stop": "stop", "reset": "reset"}
CUT_LIMITS: dict[CutKind, str] = {
    "power": "",
    "host-stop": "The host below kept its power and its caches, so a power cut of that host may lose more.",
    "reset": "The disk kept its power, so its write cache was not tested. A power cut may lose more.",
}
"""What a cut of this kind does not prove if no record was lost."""


class PowerCut(StepSettings, frozen=True, kw_only=True, tag="powercut"):
    """The settings of a power-cut test. No scenario contains such a step, because a person must cut the power."""

    in_scenarios: ClassVar[bool] = False
    uniform: ClassVar[bool] = False
    seconds: float = 0.0
    """0: the writers run until the power is cut."""
    sync: tuple[str, ...] = ("fdatasync",)
    writes: tuple[str, ...] = ("overwrite", "append", "create")
    writers: int = 1
    """Writers per combination of sync and write."""
    pace: float = 1000.0
    """Maximum number of records per second and writer; 0: no limit."""
    block: int = 4096
    file: int = 4194304
    """Bytes per writer."""


class PowerCutFigures(StepFigures, frozen=True, kw_only=True, tag="powercut"):
    """The acknowledgements that the witness received, compared with what was read back."""

    cut: str
    """The writer's run id. It identifies the cut, which may be verified several times."""
    identity: str
    """Identity of the target during the writes. Survived cuts are counted for each identity."""
    cuts_before: Count = 0
    """Earlier cuts that this target has survived since its last loss."""
    rebooted: bool = False
    """The boot id of the writing host has changed since the writes."""
    storage_was_cut: bool = False
    """According to the user, the storage lost power but the host did not."""
    cut_kind: CutKind = "power"
    simulated: bool = False
    unmountable: bool = False
    """According to the user, the filesystem can no longer be mounted."""
    gone: bool = False
    """The filesystem is mounted, but the run's directory does not exist."""
    ended: str | None = None
    """Why the writer ended by itself, without a power cut; None if it did not."""
    read_only: bool = False
    log_cut_off: bool = False
    """The last line of the witness's log is incomplete and was ignored."""
    acknowledged: Count = 0
    checked: Count = 0
    """Acknowledged records that must exist, because no newer acknowledged record replaced them."""
    present: Count = 0
    newer: Count = 0
    """Records in ``present`` that a newer record has replaced, although the newer one was not acknowledged."""
    missing: Count = 0
    stale: Count = 0
    """Lost records: an older record is in their place."""
    torn: Count = 0
    """Lost records that are damaged."""
    misplaced: Count = 0
    """Lost records: a record that was written to another place is in their place."""
    unreadable: Count = 0
    not_recovered: str = ""
    """The end of the log of a database server that did not start again. Its records count as unreadable."""
    reordered: Count = 0
    """Lost records, although a later record of the same writer exists."""
    in_flight: Count = 0
    """Places that are damaged because a newer record was being written when the power was cut. This is not a loss."""
    unpromised: Count = 0
    """Missing new files whose directory was not synced. According to POSIX, this is not a loss."""
    oldest_lost_s: Amount = 0.0
    """Seconds from the acknowledgement of the oldest lost record to the last acknowledgement."""
    by_claim: dict[str, dict[str, Count]] = {}
    """``"fdatasync, append"`` → ``acknowledged``, ``checked``, ``lost``."""

    @property
    def lost(self) -> int:
        return self.missing + self.stale + self.torn + self.misplaced + self.unreadable

    @property
    def text(self) -> str:
        return f"{count(self.present)} of {count(self.checked)} acknowledged records are there"

    @property
    def was_cut(self) -> bool:
        """Whether there is evidence that the power was cut, perhaps after the writer had ended."""
        return self.rebooted or self.storage_was_cut or self.unmountable or self.simulated

    @property
    def was_cut_during_writes(self) -> bool:
        return self.was_cut and self.ended is None

    @property
    def any_lost(self) -> bool:
        """Whether acknowledged records are lost, or the cut destroyed the whole directory or filesystem."""
        return self.lost > 0 or (
            self.acknowledged > 0 and self.was_cut_during_writes and (self.gone or self.unmountable)
        )

    @property
    def is_final(self) -> bool:
        """Whether another verification would give the same result."""
        return self.survived or self.any_lost or self.ended is not None

    @property
    def survived(self) -> bool:
        """Whether a cut of any kind lost no acknowledged record."""
        return self.was_cut_during_writes and not self.any_lost and self.checked > 0

    @property
    def survived_power_cut(self) -> bool:
        return self.survived and self.cut_kind == "power"
