"""Rule 22: the power was cut, and a witness on another machine knows what had been acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fstui.judge.words import listed
from fstui.model import Confidence, Evidence, Finding, PowerCutFigures, Step, Verdict
from fstui.quantities import count, counted, plain, seconds

MANY_CUTS = 5
_KINDS = (
    ("missing", "missing"),
    ("stale", "replaced by an older one"),
    ("torn", "damaged"),
    ("misplaced", "replaced by another place's"),
    ("unreadable", "unreadable"),
)
_AGAIN = "Again: 'fstui powercut write' on this box into 'fstui powercut witness' on another one; pull the wall plug."
_WORTHLESS = (
    "Find what drops the syncs: 'fstui list' and fsync-rate show what the box can see; switch the drive's cache off.",
    "Until then keep nothing here that must survive a power cut.",
)


def power_cut(evidence: Evidence) -> Iterator[Finding]:
    """Any acknowledged record missing: lost. N clean cuts: kept (N). Without a cut nothing is proven."""
    for step in evidence.steps:
        figures = _figures(step)
        if figures is not None:
            yield _finding(evidence, step, figures)


def _figures(step: Step) -> PowerCutFigures | None:
    if step.probe != "powercut":
        return None
    try:
        return msgspec.convert(step.figures, PowerCutFigures)
    except msgspec.ValidationError:
        return None


def _finding(evidence: Evidence, step: Step, figures: PowerCutFigures) -> Finding:
    verdict: Verdict = "lost" if figures.any_lost else "kept" if figures.kept else "cannot-tell"
    in_guest = evidence.host.virtualization is not None
    title, sentence, further = {
        "lost": _lost,
        "kept": lambda figures: _kept(figures, in_guest),
        "cannot-tell": _nothing_proven,
    }[verdict](figures)
    return Finding(
        rule="power-cut",
        verdict=verdict,
        confidence=_confidence(figures, in_guest) if verdict == "kept" else "high",
        scope="storage",
        title=title,
        sentence=sentence,
        steps=(step.name,),
        because=tuple(_because(figures)),
        next=further,
    )


def _confidence(figures: PowerCutFigures, in_guest: bool) -> Confidence:
    """A volatile cache is not lost at every cut; and a guest cannot see whether the host lost its power too."""
    many = figures.cuts_before + 1 >= MANY_CUTS
    if in_guest:
        return "medium" if many else "low"
    return "high" if many else "medium"


def _lost(figures: PowerCutFigures) -> tuple[str, str, tuple[str, ...]]:
    held = f"{count(figures.acknowledged)} acknowledged records"
    if figures.unmountable:
        return (
            f"cannot be mounted, held {held}",
            f"The filesystem cannot be mounted any more, as you say, and it held {held}.",
            _WORTHLESS,
        )
    if figures.gone:
        return (
            f"all {held} are gone",
            f"The directory with {held} is gone from the filesystem, though it was synced before the first of them. "
            "Unless somebody removed it by hand, the storage has lost what it had claimed to keep.",
            _WORTHLESS,
        )
    kinds = listed(f"{count(number)} {words}" for name, words in _KINDS if (number := getattr(figures, name)))
    age = f" The oldest was acknowledged {seconds(figures.oldest_lost_s)} before the last one." if figures.lost else ""
    order = (
        f" Of {count(figures.reordered)} of them a later record is there: they were not just the last ones."
        if figures.reordered
        else ""
    )
    seen = "" if figures.cut_seen else " No power was cut that could be seen, which makes it no better."
    return (
        f"{count(figures.lost)} of {count(figures.checked)} acknowledged records lost",
        f"Of {count(figures.checked)} records that had to be there, {count(figures.lost)} are not: {kinds}. "
        f"Each had been acknowledged after its sync returned.{age}{order}{seen}",
        _WORTHLESS,
    )


def _kept(figures: PowerCutFigures, in_guest: bool) -> tuple[str, str, tuple[str, ...]]:
    cuts = figures.cuts_before + 1
    times = counted(cuts, "cut")
    guest = (
        " This is a guest: a killed VM leaves the host's cache alone, so it counts only if the host lost its power too."
        if in_guest
        else ""
    )
    return (
        f"kept ({times})",
        f"All {count(figures.checked)} acknowledged records that had to be there are there, after {times} with these "
        f"settings.{guest}",
        (f"{_AGAIN} {MANY_CUTS} cuts and more say much more than one.",) if cuts < MANY_CUTS else (),
    )


def _nothing_proven(figures: PowerCutFigures) -> tuple[str, str, tuple[str, ...]]:
    there = f"{count(figures.present)} of {count(figures.checked)} records are there, and that proves nothing: "
    if figures.ended is not None:
        return (
            "no power was cut while it wrote",
            f"{there}the writer had stopped before ({plain(figures.ended)}), so that all had time to reach the disk.",
            (_AGAIN,),
        )
    if not figures.cut_seen:
        gone = "The run's directory is gone, and no power was cut: somebody removed it. " if figures.gone else ""
        return (
            "no power was cut",
            f"{gone}{there if not figures.gone else 'Nothing is proven: '}the box has not booted again since it wrote. "
            "The end of a process leaves the system's cache and the disk's alone.",
            (_AGAIN, "Was the storage cut and not the box (a USB disk, a disk shelf)? Then add --storage-was-cut."),
        )
    return (
        "nothing to look at",
        "No acknowledged record was left that had to be there, so nothing is proven.",
        (_AGAIN,),
    )


def _because(figures: PowerCutFigures) -> Iterator[str]:
    yield f"acknowledged: {count(figures.acknowledged)}, of these {count(figures.checked)} not replaced since"
    for claim, sums in figures.by_claim.items():
        yield plain(f"{claim}: {count(sums.get('lost', 0))} of {count(sums.get('checked', 0))} lost")
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
        return plain(f"none while it wrote, the writer had stopped: {figures.ended}")
    if figures.storage_was_cut:
        return "of the storage alone, declared by you"
    if figures.rebooted:
        return "the box has booted again (its boot id changed); a reset or a panic would look the same"
    return "declared by you" if figures.unmountable else "none, the boot id is the same"
