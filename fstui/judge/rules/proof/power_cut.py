"""* lost, high confidence: an acknowledged record is missing after the cut
* kept: all records survived. Medium confidence, or high after 5 cuts; in a virtual machine, one level lower
* plausible, low confidence: all records survived a reset, or the forced stop of a virtual machine
* cannot-tell, high confidence: there is no evidence that the power was cut

## What it means
After a power cut, fstui looked for the records acknowledged before the cut.

## How it was measured
`fstui powercut write` writes numbered records and prints a line after each sync. `fstui powercut witness` stores these
lines on another machine. After the reboot, `fstui powercut verify` reads the records back. A record is lost if it is
missing, damaged, unreadable, misplaced, or replaced by an older one, or if its filesystem cannot be mounted.

## What it proves, and what it does not
One lost record proves that the storage is not durable. Kept records are evidence, not proof, because a volatile cache
may have been empty. They say nothing about other storage or other settings. A reset or a kernel panic does not cut the
disk's power, and so does not test the disk's cache.

## What to do next
- lost: find the faulty layer (run `fsync-rate`), change it, and cut again
- kept: cut the power again, at the wall plug and under load. High confidence is no guarantee: after 5 cuts without a
  loss, up to 46 % of cuts may still lose data; after 100 cuts, up to 3 % (with 95 % confidence).

## Details
- If the records are rows of a database server, fstui starts the server on a copy of its data. If the server does not
  start on this copy, but starts with an empty data directory, all its records count as lost.
- Not a loss: damage to a record that was being written at the cut, or a new file that is gone because its directory
  was not synced.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.measure.kinds.powercut import CUT_LIMITS, CUT_NAMES, PowerCutFigures
from fstui.model.judgement import Confidence
from fstui.model.quantities import count, counted, seconds
from fstui.model.steps import Step

MANY_CUTS = 5
_AGAIN = (
    "Cut again: start 'fstui powercut witness' on another host and 'fstui powercut write' here, then cut the power."
)
_AGAIN_SIMULATED = "Cut the simulated disk's power again, at another time: key p in the app, or --pull-plug."
_NOT_DURABLE = (
    "Find the layer that drops the syncs ('fstui list', 'fstui run fsync-rate DIR'). Switch the drive's cache off.",
    "Until then, store nothing here that must survive a power cut.",
)
_KINDS_OF_LOSS = (
    ("missing", "missing"),
    ("stale", "replaced by an older one"),
    ("torn", "damaged"),
    ("misplaced", "in the wrong place"),
    ("unreadable", "unreadable"),
)


@rule()
def power_cut(case: Case) -> Iterator[Conclusion]:
    in_guest = case.host.virtualization is not None
    for step in case.steps.all:
        figures = step.figures
        if not isinstance(figures, PowerCutFigures):
            continue
        if figures.any_lost:
            yield _lost(case, step, figures)
        elif figures.survived_power_cut:
            yield _kept(step, figures, in_guest=in_guest)
        elif figures.survived:
            yield _plausible(step, figures)
        else:
            yield _no_proof(step, figures)


def _lost(case: Case, step: Step, figures: PowerCutFigures) -> Conclusion:
    title, sentence = _title_and_sentence(figures)
    account = None if case.flushes.missing_flushes else case.flushes.complete_lowest_account
    advice = _NOT_DURABLE
    if account:
        where = words.devices(account.devices)
        explanation = f"All flushes arrived at {where}: it ignores them, or a write failed ('dmesg')."
        advice = (f"{explanation} Switch its write cache off, or replace it.", advice[1])
    return Conclusion(
        title=title, sentence=sentence, verdict="lost", steps=[step], evidence=_evidence_lines(figures), next=advice
    )


def _title_and_sentence(figures: PowerCutFigures) -> tuple[str, str]:
    records = f"{count(figures.acknowledged)} acknowledged records"
    if figures.unmountable:
        return (
            f"cannot be mounted, held {records}",
            f"You report that the filesystem cannot be mounted. It held {records}.",
        )
    if figures.gone:
        return f"all {records} are gone", (
            f"The directory with {records} is gone, although it was synced before the first of them. Unless a user "
            "removed it, the storage has lost data that it had acknowledged."
        )
    lost, checked, reordered = count(figures.lost), count(figures.checked), count(figures.reordered)
    kinds = words.join_words(
        f"{count(number)} {loss}" for name, loss in _KINDS_OF_LOSS if (number := getattr(figures, name))
    )
    sentence = (
        f"Lost: {lost} of {checked} acknowledged records ({kinds}). Each was acknowledged after its sync returned."
    )
    if figures.lost:
        sentence += f" The oldest lost one was acknowledged {seconds(figures.oldest_lost_s)} before the last record."
    if figures.reordered:
        sentence += f" Records lost although a later one survived: {reordered}."
    if figures.not_recovered:
        sentence += f" A database server did not start again with its data: {figures.not_recovered}"
    if not figures.was_cut_during_writes:
        sentence += " This host noticed no power cut, but the records are lost nevertheless."
    return f"{lost} of {checked} acknowledged records lost", sentence


def _kept(step: Step, figures: PowerCutFigures, *, in_guest: bool) -> Conclusion:
    cuts = figures.cuts_before + 1
    cut_count = counted(cuts, "cut")
    sentence = f"{_all_survived(figures)}, after {cut_count} with these settings."
    if in_guest:
        sentence += (
            " This is a guest: a killed VM leaves the host's cache intact, so only a power cut of the host counts."
        )
    again = _AGAIN_SIMULATED if figures.simulated else _AGAIN
    return Conclusion(
        title=f"survived {cut_count}",
        sentence=sentence,
        verdict="kept",
        confidence=_confidence(cuts, in_guest),
        steps=[step],
        evidence=_evidence_lines(figures),
        next=(f"{again} {MANY_CUTS} cuts or more prove much more than one.",) if cuts < MANY_CUTS else (),
    )


def _all_survived(figures: PowerCutFigures) -> str:
    replaced = figures.acknowledged - figures.checked
    overwritten = f" ({count(replaced)} more were overwritten later)" if replaced > 0 else ""
    return f"All {count(figures.checked)} acknowledged records survived{overwritten}"


def _plausible(step: Step, figures: PowerCutFigures) -> Conclusion:
    name = CUT_NAMES[figures.cut_kind]
    return Conclusion(
        title=f"survived a {name}",
        sentence=f"{_all_survived(figures)}. {CUT_LIMITS[figures.cut_kind]}",
        verdict="plausible",
        confidence="low",
        steps=[step],
        evidence=_evidence_lines(figures),
        next=("Cut the power: only that tests every cache.",),
    )


def _confidence(cuts: int, in_guest: bool) -> Confidence:
    """Return more confidence after many cuts, and less in a guest: it cannot see whether the host lost its power."""
    has_many = cuts >= MANY_CUTS
    if in_guest:
        return "medium" if has_many else "low"
    return "high" if has_many else "medium"


def _no_proof(step: Step, figures: PowerCutFigures) -> Conclusion:
    title, advice = "no power was cut", [_AGAIN]
    intro = f"{count(figures.present)} of {count(figures.checked)} records are there, but "
    if figures.ended is not None and figures.was_cut:
        title += " while it wrote"
        sentence = (
            f"{intro}the writer had stopped before the cut ({figures.ended}), so all records had time to reach the "
            "disk."
        )
    elif figures.was_cut_during_writes:
        title, sentence = "no records to check", "No acknowledged record was expected, so nothing is proven."
    else:
        if figures.gone:
            intro = "The run's directory was removed, and "
        if figures.ended is not None:
            intro += f"the writer stopped ({figures.ended}) and "
        sentence = (
            f"{intro}this host has not rebooted since, so nothing is proven. The end of a process leaves the caches of "
            "the system and the disk intact."
        )
        advice.append("If only the storage lost its power (a USB disk, a disk shelf), add --storage-was-cut.")
    return Conclusion(
        title=title,
        sentence=sentence,
        verdict="cannot-tell",
        steps=[step],
        evidence=_evidence_lines(figures),
        next=advice,
    )


def _evidence_lines(figures: PowerCutFigures) -> Iterator[str]:
    yield f"acknowledged: {count(figures.acknowledged)} records; {count(figures.checked)} were not overwritten later"
    for claim, sums in figures.by_claim.items():
        yield f"{claim}: {count(sums.get('lost', 0))} of {count(sums.get('checked', 0))} lost"
    if figures.newer:
        yield f"newer: {count(figures.newer)} records reached the disk before the witness received them"
    if figures.in_flight:
        yield f"in flight: {count(figures.in_flight)} records were being written at the cut; damage there is not a loss"
    if figures.unpromised:
        yield f"new files: {count(figures.unpromised)} are gone; their directory was not synced, so POSIX allows that"
    yield f"the cut: {_cut_text(figures)}"
    if figures.read_only:
        yield "now: the filesystem is mounted read-only"
    if figures.log_cut_off:
        yield "the log: its last line was cut off and left out"


def _cut_text(figures: PowerCutFigures) -> str:
    if figures.ended is not None:
        since = "" if figures.was_cut else "; the boot id is the same"
        return f"none while it wrote, the writer had stopped: {figures.ended}{since}"
    if figures.simulated:
        return "the power of the simulated disk was cut"
    if figures.storage_was_cut:
        return "only of the storage, declared by you"
    if figures.cut_kind != "power":
        return f"a {CUT_NAMES[figures.cut_kind]}, declared by you"
    if figures.rebooted:
        return "the host has rebooted (its boot id changed); a reset or a panic would look the same"
    return "declared by you" if figures.unmountable else "none, the boot id is the same"
