"""*a note: it does not change the verdict*

## What it means
A step wrote with O_DIRECT alone, which bypasses the page cache but sends no flush. If the device has a volatile write
cache, a power cut can lose these writes.

## How it was measured
At least one step wrote with O_DIRECT and did not sync.

## What it proves, and what it does not
The note is no sign of a fault. With its write cache on, a disk is expected to complete O_DIRECT writes quickly.

## What to do next
To make the writes durable, also open the file with O_DSYNC, or call fdatasync after each write.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.model.quantities import count, rate


@rule(order=40)
def odirect_alone(case: Case) -> Iterator[Conclusion]:
    direct = [write_step.step for write_step in case.steps.write_steps if write_step.is_unsynced_direct]
    steps = [step for step in direct if step.ops]
    has_device = any(node.layer == "block" for node in case.stack.nodes)
    if steps and has_device and not case.stack.unknown_layers:
        rates = words.join_words(f"{rate(step.rate_per_s)}/s" for step in steps)
        yield Conclusion(
            title="O_DIRECT alone is not durable",
            sentence=f"O_DIRECT without a sync ({rates}) sends no flush. If the disk has a volatile write cache, these "
            "writes are not durable.",
            scope="step",
            steps=steps,
            evidence=(f"{step.name}: {count(step.ops)} writes without a sync" for step in steps),
            next=("To make the writes durable, also open the file with O_DSYNC, or call fdatasync after each write.",),
        )
