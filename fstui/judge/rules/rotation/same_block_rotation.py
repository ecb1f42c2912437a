"""* consistent, medium or low confidence: at most 1.5 times what rotation allows
* suspicious, medium confidence: more than 1.5 times what rotation allows
* suspicious, high confidence: more than 5 times, if you declared the disk and all flushes arrived

## What it means
fstui compared rewrites of one block with the disk's revolutions. In place, a block can be rewritten durably once per
revolution: 90 times per second at 5400 rpm, 120 at 7200, 167 at 10 000, 250 at 15 000. A faster disk has a protected
cache, writes to a log or to flash first, or acknowledges writes too early.

## How it was measured
One writer repeatedly rewrites and syncs one block. For a step with changing offsets, the limit is two writes per
revolution. The drive reports its speed, or you declare it. If a known model reports no speed, fstui assumes 15 000 rpm.

## What it proves, and what it does not
The confidence of "consistent" is medium if all of these are true, else low:

- The rate is at most 1.1 times the limit, and the rotational speed is known.
- No cgroup limited the I/O, and no other process wrote.
- Each disk has power-loss protection, or measurably executes flushes.
- fstui does not run in a virtual machine.

## What to do next
Switch the drive's write cache off, and run again. In a VirtualBox guest, first set IgnoreFlush to 0 on the host.

## Details
- Not compared: several writers, copy-on-write filesystems, caches, RAID controllers, SANs, unknown adapters, unknown
  models that report no speed.
- Some disks write to a log on the platters first (limit: 2 100 rewrites per second), or to flash first (5 000).
- If the model is unknown but reports its speed, it may have such a log: the limit is 2 100, unless you declare the
  disk.
"""

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.rotation import FAR_TOO_FAST, Pace, fastest_pace
from fstui.model.quantities import rate, ratio, size

LOW_CONFIDENCE_ABOVE = 1.1
"""Above this multiple of the limit, confidence is low."""


@rule(order=10)
def same_block_rotation(case: Case) -> Iterator[Conclusion]:
    if case.rotation.too_fast_paces:
        same_block = tuple(pace for pace in case.rotation.too_fast_paces if pace.is_one_block)
        yield _too_fast(case, same_block or case.rotation.too_fast_paces)
    elif case.rotation.same_block_paces:
        yield _no_faster(case, fastest_pace(case.rotation.same_block_paces))


def _no_faster(case: Case, pace: Pace) -> Conclusion:
    paces = case.rotation.same_block_paces
    slowed_down = case.evidence.process.io_limits or case.other_writers.busy_devices
    uncertain = pace.platters.assumed or slowed_down or not case.lowest_devices.verified
    per_s = rate(pace.step.rate_per_s)
    return Conclusion(
        title=f"{per_s}/s, {pace.allowance}",
        sentence=f"One block was rewritten and synced {per_s} times a second, and {pace.allowance}. "
        f"This is based on {words.time_judged([pace.step for pace in paces])}; only a power cut proves more."
        f"{case.lowest_devices.doubt()}",
        verdict="consistent",
        confidence="low" if uncertain or pace.ratio_to_limit > LOW_CONFIDENCE_ABOVE else "medium",
        steps=[pace.step for pace in paces],
        evidence=(*(pace.evidence for pace in paces), *pace.platters.evidence),
        next=(words.CUT_THE_POWER,),
    )


def _too_fast(case: Case, paces: Sequence[Pace]) -> Conclusion:
    worst = fastest_pace(paces)
    step, platters = worst.step, worst.platters
    certain = worst.ratio_to_limit > FAR_TOO_FAST and case.flushes.has_expected_flushes(step) and platters.declared
    per_s = rate(step.rate_per_s)
    return Conclusion(
        title=f"{per_s}/s, {worst.allowance}",
        sentence=f"{_rewritten(worst)} and synced {per_s} times a second in {words.time_measured([step])}, "
        f"{worst.ratio_to_limit:.1f} × the limit ({worst.allowance}). {_explanation(case, worst)}",
        verdict="suspicious",
        confidence="high" if certain else "medium",
        steps=[pace.step for pace in paces],
        evidence=(*(pace.evidence for pace in paces), *platters.evidence),
        next=(*words.host_advice(case.host), *case.rotation.cache_off_advice, words.CUT_THE_POWER),
    )


def _rewritten(pace: Pace) -> str:
    block = size(pace.step.bytes / max(pace.step.ops, 1))
    return (
        f"One {block} block was rewritten" if pace.is_one_block else f"{block} blocks ({pace.step.name}) were written"
    )


def _explanation(case: Case, worst: Pace) -> str:
    accounts = case.flushes.counted_accounts(worst.step)
    if not case.flushes.has_expected_flushes(worst.step) or not accounts[-1].per_sync:
        disks = words.devices(worst.platters.devices)
        return f"Either {disks} or a layer above has a non-volatile cache, or {disks} acknowledges too early."
    where = words.devices(accounts[-1].devices)
    per_sync = f"{ratio(accounts[-1].per_sync)} per sync{' by all processes' if accounts[-1].others_wrote else ''}"
    return (
        f"Each sync reached {where} as a flush ({per_sync}), so {where} or a device behind it has a "
        "non-volatile cache, or acknowledges too early."
    )
