"""O_DIRECT writes without a sync, acknowledged before the platter can have written them."""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.rotation import FAR_TOO_FAST, Pace, fastest_pace
from fstui.model.quantities import rate


@rule(order=20)
def odirect_no_cache(case: Case) -> Iterator[Conclusion]:
    """* suspicious, high confidence: you declared the medium (so fstui does not doubt the rotational speed), and the
      rate is more than 5 times what the platter can do
    * suspicious, medium confidence: in all other cases

    ## What it means
    The disk reports no volatile write cache, and yet O_DIRECT writes were acknowledged faster than its platter can
    write them. A layer below the kernel, such as the drive, acknowledges them early.

    ## How it was measured
    The rate is compared with the same limit as in the rule `odirect-before-platter`. The drive or the kernel reports
    that the disk has no write cache, or you declared `--write-cache none`.

    ## What it proves, and what it does not
    Either the drive's cache is on, or the host of a virtual disk acknowledges the writes early. fstui trusts what you
    declared: if your declaration of the medium or of the write cache is wrong, the finding may be wrong, too.

    ## What to do next
    Make sure that the drive's cache is off (`hdparm -W DEVICE`, `smartctl -g wcache DEVICE`). If fstui runs in a
    virtual machine, also change the settings of the virtual disk on the host. VirtualBox: set IgnoreFlush to 0. QEMU:
    do not use `cache=unsafe`. For stronger evidence, run a power-cut test.
    """
    paces = [pace for pace in case.rotation.too_fast_direct_paces if pace.platters.has_no_cache]
    if paces:
        worst = fastest_pace(paces)
        claim = "was declared to have" if worst.platters.declared else "reports"
        is_cached = any(node.write_cache == "write back" for node in worst.platters.devices)
        disk, layer = ("drive", "cache") if is_cached else ("disk", "layer")
        yield Conclusion(
            title=f"O_DIRECT {rate(worst.step.rate_per_s)}/s on a disk with no cache",
            sentence=f"{worst.direct_clause}, although the {disk} {claim} no write cache. "
            f"A {layer} below the kernel acknowledges early.",
            verdict="suspicious",
            confidence="high" if worst.ratio_to_limit > FAR_TOO_FAST and worst.platters.declared else "medium",
            steps=[pace.step for pace in paces],
            evidence=(
                *(pace.evidence for pace in paces),
                *worst.platters.evidence,
                *(words.write_cache(node) for node in worst.platters.devices if node.write_cache == "write back"),
            ),
            next=(
                "Make sure that the real drive's write cache is off: 'hdparm -W DEVICE', 'smartctl -g wcache DEVICE'.",
                *words.host_advice(case.host),
                words.CUT_THE_POWER,
            ),
        )


@rule(order=30)
def odirect_before_platter(case: Case) -> Iterator[Conclusion]:
    """*a note: the O_DIRECT writes of some steps were not durable; the verdict of the run does not change*

    ## What it means
    O_DIRECT writes without any sync were acknowledged faster than the platter could write them: they were in a cache. A
    drive with its cache on is expected to behave like this. O_DIRECT alone therefore does not make writes durable.

    ## How it was measured
    The rate of a step with O_DIRECT, no sync and one writer is compared with what the platter can do:

    - If the step rewrites one block, the limit is one write per revolution. If the step writes at random offsets, the
      limit is two writes per revolution.
    - A rate above 1.5 times the limit is too fast.

    A step is left out if its bytes did not reach the device: a layer above the disk then buffered them.

    ## What it proves, and what it does not
    More than a third of these writes were not yet on the platter when they were acknowledged. The finding says nothing
    about synced writes.

    ## What to do next
    Also open the file with O_DSYNC, or call fdatasync after each write. Or switch the drive's write cache off, run
    again and compare the rates.
    """
    paces = case.rotation.too_fast_direct_paces
    if paces:
        worst = fastest_pace(paces)
        yield Conclusion(
            title=f"O_DIRECT alone {rate(worst.step.rate_per_s)}/s, the platter can do {rate(worst.limit_per_s)}/s",
            sentence=f"{worst.direct_clause}: many writes were acknowledged before the platter had them."
            f"{_compared_with_synced(case, worst)}",
            verdict="not-durable",
            confidence="high" if worst.ratio_to_limit > FAR_TOO_FAST else "medium",
            scope="step",
            steps=[pace.step for pace in paces],
            evidence=(*(pace.evidence for pace in paces), *worst.platters.evidence),
            next=(
                "Do not rely on O_DIRECT for durability: add O_DSYNC, or fdatasync after the write.",
                *case.rotation.cache_off_advice,
            ),
        )


def _compared_with_synced(case: Case, pace: Pace) -> str:
    offsets = "same" if pace.is_one_block else "random"
    synced = [
        write_step
        for write_step in case.steps.synced
        if write_step.settings.offsets == offsets and write_step.step.rate_per_s > 0
    ]
    if not synced:
        return ""
    # O_DIRECT with a sync is the most similar step
    step = min(synced, key=lambda write_step: not write_step.direct).step
    times = pace.step.rate_per_s / step.rate_per_s
    return f" The rate is {times:.1f} × that of {step.name}, {rate(step.rate_per_s)}/s."
