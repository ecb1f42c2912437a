"""* suspicious, low confidence
* a note: another device has a copy of the data (a mirror)

## What it means
Published reports say that drives of this model, with this firmware, lost data that they had acknowledged. The write
cache of this drive is on.

## How it was measured
fstui read the model and firmware from `/sys/block/X/device`, and found them in its table of published faults. It
measured nothing.

## What it proves, and what it does not
The reports are about other drives of the same model, which lost data after power cuts, host crashes or bad sectors.
This drive may work for years. The rate of syncs does not show such a fault.

## What to do next
Turn the drive's write cache off (`hdparm -W 0 DEVICE`), and run again. Most drives turn the cache on again at a power
cycle, so let udev or a service repeat the command. Alternatively, replace the drive.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.model.storage import Node, Reading
from fstui.storage.layers.devices import models
from fstui.storage.layers.devices.caches import is_cache_on


@rule(order=95)
def known_fault(case: Case) -> Iterator[Conclusion]:
    faults = [(node, *fault) for node in case.stack.lowest if is_cache_on(node) and (fault := _fault(node))]
    if not faults:
        return
    nodes = tuple(node for node, _, _ in faults)
    first, _, published = faults[0]
    yield Conclusion(
        verdict="suspicious" if case.stack.layers_without_copy(nodes) else None,
        confidence="low",
        title=f"{words.devices(nodes)}: reported to lose flushed data",
        sentence=f"Published reports say of {first.model} with this firmware that {published.description}. "
        f"The cache of {first.id} is on. Nothing was measured here: the reports are about other drives of this model.",
        evidence=(
            *(f"{node.model}: {words.reading(node, firmware)}" for node, firmware, _ in faults),
            *dict.fromkeys(f"published: {fault.source}" for _, _, fault in faults),
        ),
        next=(
            f"Turn its write cache off, now and after each power cycle: 'hdparm -W 0 /dev/{first.id}'. Then run again.",
        ),
    )


def _fault(node: Node) -> tuple[Reading, models.Fault] | None:
    firmware = node.reading("firmware")
    if firmware is None:
        return None
    fault = models.find_fault(node.model, firmware.value)
    return (firmware, fault) if fault is not None else None
