"""Sentences about a power cut: what was read back, against what a witness on another machine saw acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.quantities import count, counted, seconds

MANY_CUTS = 5
_AGAIN = "Again: 'fstui powercut write' on this box into 'fstui powercut witness' on another one; pull the wall plug."
_WORTHLESS = (
    "Find what drops the syncs: 'fstui list' and fsync-rate show what the box can see; switch the drive's cache off.",
    "Until then keep nothing here that must survive a power cut.",
)
_KINDS = (
    ("missing", "missing"),
    ("stale", "replaced by an older one"),
    ("torn", "damaged"),
    ("misplaced", "replaced by another place's"),
    ("unreadable", "unreadable"),
)


class Said(NamedTuple):
    """What a finding says."""

    title: str
    sentence: str
    next: tuple[str, ...]


def said(figures: PowerCutFigures, *, in_guest: bool) -> Said:
    """Title, sentence and what to do next."""
    if figures.any_lost:
        return _lost(figures)
    return _kept(figures, in_guest=in_guest) if figures.kept else _nothing_proven(figures)


def _lost(figures: PowerCutFigures) -> Said:
    held = f"{count(figures.acknowledged)} acknowledged records"
    if figures.unmountable:
        sentence = f"The filesystem cannot be mounted any more, as you say, and it held {held}."
        return Said(f"cannot be mounted, held {held}", sentence, _WORTHLESS)
    if figures.gone:
        sentence = (
            f"The directory with {held} is gone from the filesystem, though it was synced before the first of them. "
            "Unless somebody removed it by hand, the storage has lost what it had claimed to keep."
        )
        return Said(f"all {held} are gone", sentence, _WORTHLESS)
    lost, checked, reordered = count(figures.lost), count(figures.checked), count(figures.reordered)
    sentence = (
        f"Lost: {lost} of {checked} records that had to be there, {_kinds_of_loss(figures)}. Each had been "
        "acknowledged after its sync returned."
    )
    if figures.lost:
        sentence += f" The oldest was acknowledged {seconds(figures.oldest_lost_s)} before the last one."
    if figures.reordered:
        sentence += f" Not just the last ones: {reordered} older than a record that is there."
    if not figures.cut_seen:
        sentence += " No power was cut that could be seen, which makes it no better."
    return Said(f"{lost} of {checked} acknowledged records lost", sentence, _WORTHLESS)


def _kept(figures: PowerCutFigures, *, in_guest: bool) -> Said:
    cuts = figures.cuts_before + 1
    times = counted(cuts, "cut")
    sentence = (
        f"All {count(figures.checked)} acknowledged records that had to be there are there, after {times} with these "
        "settings."
    )
    if in_guest:
        sentence += (
            " This is a guest: a killed VM leaves the host's cache alone, so it counts only if the host lost its power "
            "too."
        )
    more = (f"{_AGAIN} {MANY_CUTS} cuts and more say much more than one.",) if cuts < MANY_CUTS else ()
    return Said(f"kept ({times})", sentence, more)


def _nothing_proven(figures: PowerCutFigures) -> Said:
    there = f"{count(figures.present)} of {count(figures.checked)} records are there, and that proves nothing: "
    if figures.ended is not None:
        stopped = f"{there}the writer had stopped before ({figures.ended}), so that all had time to reach the disk."
        return Said("no power was cut while it wrote", stopped, (_AGAIN,))
    if figures.cut_seen:
        none = "No acknowledged record was left that had to be there, so nothing is proven."
        return Said("nothing to look at", none, (_AGAIN,))
    if figures.gone:
        there = "The run's directory is gone, and no power was cut: somebody removed it. Nothing is proven: "
    return Said(
        "no power was cut",
        f"{there}the box has not booted again since it wrote. The end of a process leaves the system's cache and the "
        "disk's alone.",
        (_AGAIN, "Was the storage cut and not the box (a USB disk, a disk shelf)? Then add --storage-was-cut."),
    )


def _kinds_of_loss(figures: PowerCutFigures) -> str:
    """``3 missing and 1 damaged``"""
    return words.listed(f"{count(number)} {what}" for name, what in _KINDS if (number := getattr(figures, name)))


def lines(figures: PowerCutFigures) -> Iterator[str]:
    """The evidence, a line each."""
    yield f"acknowledged: {count(figures.acknowledged)}, of these {count(figures.checked)} not replaced since"
    for claim, sums in figures.by_claim.items():
        yield f"{claim}: {count(sums.get('lost', 0))} of {count(sums.get('checked', 0))} lost"
    if figures.newer:
        yield f"newer: {count(figures.newer)} places hold a record that the witness had not heard of yet"
    if figures.in_flight:
        yield f"in flight: {count(figures.in_flight)} damaged places, written to when the power went; no loss"
    if figures.unpromised:
        yield f"new files: {count(figures.unpromised)} are gone whose directory was not synced; nobody promised them"
    yield f"the cut: {_cut(figures)}"
    if figures.read_only:
        yield "now: the filesystem is mounted read-only"
    if figures.log_cut_off:
        yield "the log: its last line was cut off and left out"


def _cut(figures: PowerCutFigures) -> str:
    if figures.ended is not None:
        return f"none while it wrote, the writer had stopped: {figures.ended}"
    if figures.simulated:
        return "the plug of the simulated disk was pulled"
    if figures.storage_was_cut:
        return "of the storage alone, declared by you"
    if figures.rebooted:
        return "the box has booted again (its boot id changed); a reset or a panic would look the same"
    return "declared by you" if figures.unmountable else "none, the boot id is the same"
