"""*suspicious: high confidence above 5 times the limit of a disk that you declared, else medium*

## What it means
The disk is said to have no volatile write cache, and yet O_DIRECT writes were acknowledged faster than its platter can
take them. Some layer beneath acknowledges early.

## How it was measured
As `odirect-before-platter`, on a device whose write cache is `none`: read from the drive, or declared by you.

## What it proves, and what not
Either the cache is not off, or a host beneath answers in the disk's place. If you declared the medium, it holds as far
as your declaration does.

## What to do next
Make sure that the drive's cache is off (`hdparm -W`, `smartctl -g wcache`). VirtualBox: IgnoreFlush=0. QEMU: not
`cache=unsafe`. To prove it: a power cut with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.rotation import FAR_BEYOND, fastest
from fstui.model.judgement import Finding
from fstui.model.quantities import rate


@rule(place=20)
def odirect_no_cache(case: Case) -> Iterator[Finding]:
    """O_DIRECT alone was answered early by a device that is said to have no volatile cache to answer from."""
    paces = tuple(pace for pace in case.rotation.early if pace.platter.no_cache)
    if paces:
        worst = fastest(paces)
        yield Finding(
            rule="odirect-no-cache",
            verdict="suspicious",
            confidence="high" if worst.times > FAR_BEYOND and worst.platter.declared else "medium",
            scope="storage",
            title=f"O_DIRECT {rate(worst.step.rate_per_s)}/s on a disk with no cache",
            sentence=f"{worst.answered_early}, and there is no write cache to answer from. Some layer beneath "
            "acknowledges early.",
            steps=words.names(pace.step for pace in paces),
            because=(*(pace.because for pace in paces), *worst.platter.because),
            next=(
                "Make sure that the real drive's write cache is off: hdparm -W, smartctl -g wcache.",
                *words.hypervisor(case.host),
                words.CUT_THE_POWER,
            ),
        )
