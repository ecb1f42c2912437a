"""The settings of the power-cut test, and the plan that follows from them."""

import shlex
from collections.abc import Mapping
from itertools import product
from typing import get_args

import msgspec

from fstui.measure.kinds.powercut import PowerCut
from fstui.model.base import Base
from fstui.model.forms import Form, Setting, chosen_values
from fstui.model.run import ScenarioRef
from fstui.powercut.records import DATABASE_METHODS, MAX_FILE_BYTES, Stream, Sync, WriteMethod

NAME = "power-cut"
FORM = Form(
    name=NAME,
    title="Power cut with a witness",
    question="Do acknowledged records survive a power cut?",
    help="""
This is the strongest test of durability. A writer syncs numbered records, and a witness on another machine logs each
record as soon as it is synced. Then you cut the power. After the restart, every logged record must exist. Test one sync
method at a time: every real flush also saves the records of the other methods.
""",
    settings={
        "seconds": Setting(value=0, unit="s", min=0, max=86400, help="0: until the power is cut"),
        "sync": Setting(
            value=["fdatasync"], choices=list(get_args(Sync)), help="how a record is synced before it is acknowledged"
        ),
        "writes": Setting(
            value=["overwrite", "append", "create"],
            choices=list(get_args(WriteMethod)),
            help="where records are written; create, rename: a new file for each; sqlite, mariadb, mysql, postgresql: "
            "a row of a database, whose server is started in DIR",
        ),
        "writers": Setting(value=1, min=1, max=16, help="writers for each combination"),
        "pace": Setting(
            value=1000, unit="/s", min=0, max=100_000, help="maximum records per second per writer; 0: no limit"
        ),
        "block": Setting(value=4096, unit="bytes", choices=[4096, 16384, 65536], help="bytes per record"),
        "file": Setting(value=4 << 20, unit="bytes", min=131_072, max=MAX_FILE_BYTES, help="bytes kept per writer"),
    },
)
NEEDS_A_PERSON = (
    "the power-cut test needs a person and a witness on another machine. Run there: 'ssh -o ServerAliveInterval=2 HOST "
    "fstui powercut write DIR | fstui powercut witness acks.log', then cut the power of HOST. See "
    "'fstui powercut --help'."
)


class PowerCutPlan(Base, frozen=True, kw_only=True):
    """The work of the writers."""

    scenario: ScenarioRef
    """The settings in the form of a run document."""
    settings: PowerCut
    streams: tuple[Stream, ...]
    """The streams of the writers, which run at the same time."""

    @property
    def combinations(self) -> tuple[str, ...]:
        """The combinations of sync and write method: ``fdatasync append`` …"""
        return tuple(dict.fromkeys(f"{stream.sync} {stream.write_method}" for stream in self.streams))

    @property
    def peak_bytes(self) -> int:
        return sum(stream.max_stored_bytes for stream in self.streams)

    @property
    def bytes_per_s(self) -> int | None:
        return int(sum(self.settings.pace * stream.block_bytes for stream in self.streams)) or None

    @property
    def max_bytes(self) -> int | None:
        """Maximum number of bytes written; None if only the cut ends the test."""
        seconds, bytes_per_s = self.settings.seconds, self.bytes_per_s
        return self.peak_bytes + int(seconds * bytes_per_s) if seconds and bytes_per_s else None


def make_plan(settings: Mapping[str, str]) -> PowerCutPlan:
    """Return the plan for the user's ``key=value`` pairs. Raises Refused for an invalid one."""
    values = chosen_values(FORM, settings)
    cut = msgspec.convert(values, PowerCut)
    selected = product(
        msgspec.convert(cut.sync, tuple[Sync, ...]), msgspec.convert(cut.writes, tuple[WriteMethod, ...])
    )
    # a database chooses the sync method itself, so its records get only one combination
    combinations: list[tuple[Sync, WriteMethod]] = [
        ("fdatasync", writes) if writes in DATABASE_METHODS else (sync, writes) for sync, writes in selected
    ]
    pairs = [pair for pair in dict.fromkeys(combinations) for _ in range(cut.writers)]
    return PowerCutPlan(
        scenario=ScenarioRef(name=NAME, title=FORM.title, settings=values),
        settings=cut,
        streams=tuple(Stream.make(number, *pair, cut.block, cut.file) for number, pair in enumerate(pairs)),
    )


def write_command(directory: str, settings: Mapping[str, str]) -> str:
    """Return the command line of the writer, for the host whose power will be cut."""
    argv = ["fstui", "powercut", "write", directory]
    for key, value in settings.items():
        argv += ["--set", f"{key}={value}"]
    return shlex.join(argv)
