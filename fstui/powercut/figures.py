"""Compare acknowledged records with those that were read back, and return the figures for the judge."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from fstui import proc
from fstui.measure.kinds.powercut import CutKind, PowerCutFigures
from fstui.powercut.header import PowerCutHeader
from fstui.powercut.log import Log
from fstui.powercut.records import LOST

_COUNTED = ("checked", "present", "newer", "in_flight", "unpromised", "reordered", *LOST)


class Witnessed(NamedTuple):
    log: Log
    header: PowerCutHeader
    cut_off: bool
    """The log ended within a line, which was ignored."""


class Declared(NamedTuple):
    """What only the user can know about the cut."""

    storage_was_cut: bool = False
    unmountable: bool = False
    cut_kind: CutKind = "power"


class ReadBack:
    """What the child program ``powercut.readback`` printed."""

    def __init__(self) -> None:
        self.error: str | None = "the program that reads them has ended"
        """Why the records could not be read, unless it has answered."""
        self.found = False
        self.ended: str | None = None
        """Why the writer stopped, if it stopped by itself."""
        self.read_only = False
        self.writers: dict[int, dict[str, Any]] = {}
        """The counts of each writer."""
        self.left: str | None = None
        """Which copy of a database could not be removed, and why."""

    def add(self, line: dict[str, Any]) -> None:
        if "writer" in line:
            self.writers[line["writer"]] = line
        elif "error" in line:
            self.error = line["error"]
        else:
            self.error, self.found, self.ended = None, line["found"], line["ended"]


def figures(witnessed: Witnessed, read: ReadBack, declared: Declared, cuts_before: int) -> PowerCutFigures:
    log, header, cut_off = witnessed
    now = proc.boot_id()
    oldest = [(writer, found["oldest"]) for writer, found in read.writers.items() if found["oldest"] is not None]
    ages_ms = [log.last_ms - log.writers[writer].when(sequence) for writer, sequence in oldest]
    return PowerCutFigures(
        cut=header.run,
        identity=header.target.identity,
        cuts_before=cuts_before,
        cut_kind=declared.cut_kind,
        rebooted=bool(now and header.boot) and now != header.boot,
        storage_was_cut=declared.storage_was_cut,
        unmountable=declared.unmountable,
        gone=not read.found and not declared.unmountable,
        ended=read.ended or (None if log.failed and declared.storage_was_cut else log.ended),
        read_only=read.read_only,
        log_cut_off=cut_off,
        acknowledged=log.acknowledged,
        oldest_lost_s=max(ages_ms, default=0) / 1e3,
        by_claim=_by_claim(log, header, read),
        not_recovered=" ".join(filter(None, (found["not_recovered"] for found in read.writers.values()))),
        **{name: sum(found[name] for found in read.writers.values()) for name in _COUNTED},
    )


def _by_claim(log: Log, header: PowerCutHeader, read: ReadBack) -> dict[str, dict[str, int]]:
    claims: dict[str, Counter[str]] = {}
    for stream in header.streams:
        sums = claims.setdefault(f"{stream.sync}, {stream.writes}", Counter())
        writer = log.writers.get(stream.writer)
        sums["acknowledged"] += len(writer.at_ms) if writer else 0
        if found := read.writers.get(stream.writer):
            sums["checked"] += found["checked"]
            sums["lost"] += sum(found[name] for name in LOST)
    return {claim: dict(sums) for claim, sums in claims.items()}
