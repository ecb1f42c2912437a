"""What can be set of the power-cut check, and what a writer will do with it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import product
from typing import get_args

import msgspec

from fstui.measure.kinds.powercut import PowerCut
from fstui.model.base import Base
from fstui.model.forms import Form, Setting, chosen
from fstui.model.run import ScenarioRef
from fstui.powercut.records import MOST_FILE_BYTES, Stream, Sync, Writes

NAME = "power-cut"
FORM = Form(
    name=NAME,
    title="Power cut with a witness",
    question="Pull the plug: is every acknowledged record there?",
    help="""
The only proof. Numbered records are written here and acknowledged, one by one, to a witness on another machine; then
you pull the plug, and after the reboot every acknowledged record must be there. It runs by hand: this box cannot see
its own power go. One way to sync at a time tells most, since each real flush also saves what the other ways only
claimed to have saved.
""",
    settings={
        "seconds": Setting(value=0, unit="s", min=0, max=86400, help="0: until the power goes"),
        "sync": Setting(value=["fdatasync"], choices=list(get_args(Sync)), help="what a record is acknowledged after"),
        "writes": Setting(
            value=["overwrite", "append", "create"],
            choices=list(get_args(Writes)),
            help="where it goes; create: a new file each",
        ),
        "writers": Setting(value=1, min=1, max=16, help="writers for each of these ways"),
        "pace": Setting(
            value=1000, unit="/s", min=0, max=100_000, help="records at the most, per writer; 0: as fast as it goes"
        ),
        "block": Setting(value=4096, unit="bytes", choices=[4096, 16384, 65536], help="bytes per record"),
        "file": Setting(value=4 << 20, unit="bytes", min=131_072, max=MOST_FILE_BYTES, help="bytes kept per writer"),
    },
)
NEEDS_A_PERSON = (
    "the power-cut check needs a person and a witness on another machine: 'ssh BOX fstui powercut write DIR | fstui "
    "powercut witness acks.log' there, then pull the plug; 'fstui powercut --help' says how"
)


class Plan(Base, frozen=True, kw_only=True):
    """What the writer will do, before the first byte is written."""

    scenario: ScenarioRef
    """The settings as a run document has them."""
    asked: PowerCut
    """The same settings, typed."""
    streams: tuple[Stream, ...]
    """All of them at the same time."""

    @property
    def ways(self) -> tuple[str, ...]:
        """``fdatasync append`` …: how its streams sync, and where they write."""
        return tuple(dict.fromkeys(f"{stream.sync} {stream.writes}" for stream in self.streams))

    @property
    def room_bytes(self) -> int:
        """Taken at most at one time."""
        return sum(stream.most_bytes for stream in self.streams)

    @property
    def bytes_per_s(self) -> int | None:
        """Written each second; None where that is as much as it can."""
        return int(sum(self.asked.pace * stream.block_bytes for stream in self.streams)) or None

    @property
    def max_bytes(self) -> int | None:
        """Written at most; None where nothing but the cut sets an end."""
        each_second = self.bytes_per_s
        seconds = self.asked.seconds
        return self.room_bytes + int(seconds * each_second) if seconds and each_second else None


def make_plan(settings: Mapping[str, str]) -> Plan:
    """Of the user's ``key=value`` pairs. Raises Refused where one cannot be."""
    values = chosen(FORM, settings)
    asked = msgspec.convert(values, PowerCut)
    ways = product(msgspec.convert(asked.sync, tuple[Sync, ...]), msgspec.convert(asked.writes, tuple[Writes, ...]))
    each = [way for way in dict.fromkeys(ways) for _ in range(asked.writers)]
    return Plan(
        scenario=ScenarioRef(name=NAME, title=FORM.title, settings=values),
        asked=asked,
        streams=tuple(Stream.of(number, *way, asked.block, asked.file) for number, way in enumerate(each)),
    )


def write_command(directory: str, settings: Mapping[str, str]) -> str:
    """The writer's command line, for the box whose power is to be cut."""
    words = ["fstui", "powercut", "write", directory]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)
