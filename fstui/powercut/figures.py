"""Compare acknowledged records with those that were read back, and return the figures for the judge."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.powercut.header import PowerCutHeader, boot_id
from fstui.powercut.log import Log

_SUMS = ("checked", "present", "newer", "in_flight", "unpromised", "reordered")
_LOST = ("missing", "stale", "torn", "misplaced", "unreadable")


class Witnessed(NamedTuple):
    log: Log
    header: PowerCutHeader
    cut_off: bool
    """The log ended within a line, which was ignored."""


class Declared(NamedTuple):
    """What only the user can know about the cut."""

    storage_was_cut: bool = False
    unmountable: bool = False


class ReadBack:
    def __init__(self) -> None:
        self.error: str | None = None
        self.found = False
        self.ended: str | None = None
        """Why the writer stopped, if it stopped by itself."""
        self.read_only = False
        self.sums: dict[int, dict[str, int]] = {}
        """By writer."""
        self.lost: dict[int, list[tuple[int, str]]] = {}
        """By writer: sequence number and kind, the oldest first."""

    def add(self, line: dict[str, Any]) -> None:
        if "error" in line:
            self.error = line["error"]
        elif "found" in line:
            self.found, self.ended = line["found"], line["ended"]
        elif "lost" in line:
            self.lost.setdefault(line["writer"], []).extend((sequence, kind) for sequence, kind in line["lost"])
        else:
            self.sums[line["writer"]] = {name: line[name] for name in _SUMS}


def figures(witnessed: Witnessed, read: ReadBack, declared: Declared, cuts_before: int) -> PowerCutFigures:
    log, header, cut_off = witnessed
    now = boot_id()
    kinds = Counter(kind for lost in read.lost.values() for _, kind in lost)
    ages_ms = [log.last_ms - log.writers[writer].when(lost[0][0]) for writer, lost in read.lost.items()]
    return PowerCutFigures(
        cut=header.run,
        identity=header.target.identity,
        cuts_before=cuts_before,
        simulated=False,
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
        **{name: sum(sums[name] for sums in read.sums.values()) for name in _SUMS},
        **{name: kinds[name] for name in _LOST},
    )


def _by_claim(log: Log, header: PowerCutHeader, read: ReadBack) -> dict[str, dict[str, int]]:
    claims: dict[str, Counter[str]] = {}
    for stream in header.streams:
        sums = claims.setdefault(f"{stream.sync}, {stream.writes}", Counter())
        writer = log.writers.get(stream.writer)
        sums["acknowledged"] += len(writer.at_ms) if writer else 0
        sums["checked"] += read.sums.get(stream.writer, {}).get("checked", 0)
        sums["lost"] += len(read.lost.get(stream.writer, ()))
    return {claim: dict(sums) for claim, sums in claims.items()}
