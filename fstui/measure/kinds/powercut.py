"""Numbered records whose acknowledgements a witness on another machine sees, until the power is cut."""

from __future__ import annotations

from typing import ClassVar

from fstui.measure.kinds import StepFigures, StepSettings
from fstui.model.base import Amount, Count


class PowerCut(StepSettings, frozen=True, kw_only=True, tag="powercut"):
    """As they were set. No scenario has such a step: a person cuts the power in the middle of it."""

    in_scenarios: ClassVar[bool] = False

    seconds: float = 0.0
    """0: until the power goes."""
    sync: tuple[str, ...] = ("fdatasync",)
    writes: tuple[str, ...] = ("overwrite", "append", "create")
    writers: int = 1
    """For each of these ways."""
    pace: float = 1000.0
    """Records a second at the most, per writer; 0: as fast as it goes."""
    block: int = 4096
    file: int = 4194304
    """Bytes kept per writer."""


class PowerCutFigures(StepFigures, frozen=True, kw_only=True, tag="powercut"):
    """What the witness saw acknowledged against what was read back."""

    cut: str
    """The writer's run id: one cut, however often it is verified."""
    identity: str
    """Of the target when it was written to: survived cuts add up per identity."""
    cuts_before: Count = 0
    """Cuts that this identity survived before this one, since its last loss."""
    rebooted: bool = False
    """The box that wrote has booted again since: its boot id is another one."""
    storage_was_cut: bool = False
    """The user says that the storage lost its power, and not the box."""
    simulated: bool = False
    """The plug of a simulated disk was pulled."""
    unmountable: bool = False
    """The user says that the filesystem cannot be mounted any more."""
    gone: bool = False
    """The filesystem is there, and the run's directory is not."""
    ended: str | None = None
    """Why the writer stopped in good order, before any power was cut."""
    read_only: bool = False
    """The filesystem is mounted read-only now."""
    log_cut_off: bool = False
    """The log ended within a line, which was left out."""
    acknowledged: Count = 0
    checked: Count = 0
    """Of these, the records that no newer one has replaced since: they must be there."""
    present: Count = 0
    newer: Count = 0
    """Of those present: places that hold a newer record, whose acknowledgement the witness did not see."""
    missing: Count = 0
    stale: Count = 0
    """The place holds an older record."""
    torn: Count = 0
    """The record is damaged."""
    misplaced: Count = 0
    """The place holds another place's record."""
    unreadable: Count = 0
    reordered: Count = 0
    """Of those lost: a record that the same writer acknowledged later is there."""
    in_flight: Count = 0
    """Damaged places whose next record was being written when the power went: no loss."""
    unpromised: Count = 0
    """New files that are gone whose directory nobody synced: no loss by POSIX."""
    oldest_lost_s: Amount = 0.0
    """How long before the last acknowledgement the oldest lost record was acknowledged."""
    by_claim: dict[str, dict[str, Count]] = {}
    """``"fdatasync, append"`` → ``acknowledged``, ``checked``, ``lost``."""

    @property
    def lost(self) -> int:
        """Acknowledged records that are not there as they were acknowledged."""
        return self.missing + self.stale + self.torn + self.misplaced + self.unreadable

    @property
    def cut_seen(self) -> bool:
        """The power went while it wrote, as far as can be told."""
        return (self.rebooted or self.storage_was_cut or self.unmountable or self.simulated) and self.ended is None

    @property
    def any_lost(self) -> bool:
        """Something that was acknowledged is gone: records, or, after a cut, all there was."""
        return self.lost > 0 or (self.acknowledged > 0 and self.cut_seen and (self.gone or self.unmountable))

    @property
    def decides(self) -> bool:
        """Looking again would tell nothing new."""
        return self.kept or self.any_lost or self.ended is not None

    @property
    def kept(self) -> bool:
        """A cut that took nothing."""
        return self.cut_seen and not self.any_lost and self.checked > 0
