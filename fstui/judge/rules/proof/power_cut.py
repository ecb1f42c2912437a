"""*lost, high confidence; kept (N cuts), medium and from 5 cuts on high confidence, in a guest one step less;
cannot-tell where no power was cut*

## What it means
The only proof there is. Records were written and synced, and each was acknowledged to a witness on another machine
after its sync had returned. Then the power was cut. *lost*: a record that had been acknowledged is not there any more,
or the filesystem that held it cannot be mounted. *kept*: all are there, after so many cuts.

## How it was measured
`fstui powercut write DIR` writes numbered records with checksums and prints a line for each one whose sync has
returned; `fstui powercut witness FILE` on the other machine keeps the lines. After the reboot `fstui powercut verify
DIR < FILE` reads every record back that no newer one has replaced: missing, stale (an older record stands there), torn
(damaged), misplaced or unreadable ones are lost. Reordered counts those of the lost of which a later record is there.
One record per writer was being written when the power went: its place may be torn, and that is no loss. A new file
whose directory was not synced may be gone by the rules of POSIX; it is counted apart.

Cuts add up per target: serials, layers, cache settings and mount options as they were when the records were written. A
changed setting starts again at 0, and so does a loss. A cut counts once, however often it is verified.

## What it proves, and what not
One lost record is proof that the storage does not keep its word. Kept records prove it for these cuts and these
settings: a volatile cache often has time to empty itself, so cut more than once, under load, and at the wall plug. A
reset, a reboot or a kernel panic leaves the disk its power and proves nothing about its cache, and the box cannot tell
them from a cut. A killed virtual machine proves only that the guest and its virtual disk pass the syncs on to the
host's cache: pull the host's plug. A killed process proves nothing about the disk.

## What to do next
Lost: find the layer that drops the flush (`fstui list`, `fsync-rate`, the drive's cache, the controller's battery, the
hypervisor's cache mode), change it, and cut again. Kept: cut again, with other ways to sync (`--set sync=…`).
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.words import power_cuts
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.judgement import Confidence, Finding, Verdict


@rule()
def power_cut(case: Case) -> Iterator[Finding]:
    """Any acknowledged record missing: lost. N clean cuts: kept (N). Without a cut nothing is proven."""
    in_guest = case.host.virtualization is not None
    for step in case.steps.all:
        figures = step.figures
        if isinstance(figures, PowerCutFigures):
            verdict: Verdict = "lost" if figures.any_lost else "kept" if figures.kept else "cannot-tell"
            title, sentence, further = power_cuts.said(figures, in_guest=in_guest)
            yield Finding(
                rule="power-cut",
                verdict=verdict,
                confidence=_confidence(figures, in_guest) if verdict == "kept" else "high",
                scope="storage",
                title=title,
                sentence=sentence,
                steps=(step.name,),
                because=tuple(power_cuts.lines(figures)),
                next=further,
            )


def _confidence(figures: PowerCutFigures, in_guest: bool) -> Confidence:
    """A volatile cache is not lost at every cut; and a guest cannot see whether the host lost its power too."""
    many = figures.cuts_before + 1 >= power_cuts.MANY_CUTS
    if in_guest:
        return "medium" if many else "low"
    return "high" if many else "medium"
