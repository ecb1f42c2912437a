"""The events of a run, in order, for both interfaces."""

import msgspec

from fstui.model.counters import Idle
from fstui.model.host import Host
from fstui.model.judgement import Judgement
from fstui.model.plan import Plan
from fstui.model.run import EarlierRun, Run
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Target


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """An event of a run."""


class RunStarted(Event, frozen=True, kw_only=True, tag=True):
    id: str
    target: Target
    plan: Plan
    host: Host
    untraced: str | None = None
    """Why the kernel's trace is not available, as a sentence."""
    earlier_runs: tuple[EarlierRun, ...] = msgspec.field(default=(), name="before")
    """Earlier runs that this one is compared with, newest first."""


class IdleMeasured(Event, frozen=True, kw_only=True, tag=True):
    idle: Idle


class StepPreparing(Event, frozen=True, kw_only=True, tag=True):
    index: int
    name: str
    done: int
    """Bytes of its file written so far, out of ``total``."""
    total: int
    silent_s: float = 0.0
    """How long the probe has reported nothing. This time grows if the storage hangs."""
    server_s: float = 0.0
    """How long the database server has been starting."""


class StepStarted(Event, frozen=True, kw_only=True, tag=True):
    index: int
    name: str


class StepProgressed(Event, frozen=True, kw_only=True, tag=True):
    snapshot: Snapshot


class StepFinished(Event, frozen=True, kw_only=True, tag=True):
    index: int
    step: Step


class FindingsChanged(Event, frozen=True, kw_only=True, tag=True):
    judgement: Judgement


class RunFinished(Event, frozen=True, kw_only=True, tag=True):
    run: Run
    saved_to: str | None = None
    save_error: str | None = None
