"""The kernel's trace as witness: what the rules say of a machine with it and without it, and who was asked for flushes.

Each saved run document is judged twice, as it is and with its traces taken out.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.counters import DeviceTrace
from fstui.model.run import Run
from fstui.model.steps import Step
from tests.lab import table
from tests.lab.laboratory import judged_again
from tests.lab.machine import load, names
from tests.lab.recipe import KERNELS, Kernel

KEPT = Path(__file__).with_name("documents")
SHOWN = ("O_DIRECT+O_DSYNC", "O_DIRECT+fdatasync", "fsync")
"""The steps whose flushes are told of layer by layer."""
VERDICT_HEADINGS = ("machine", "Linux", "truth", "by the counters alone", "with the trace", "against the truth")
LAYER_HEADINGS = ("machine", "Linux", "step", "syncs", "asked at each layer")


def documents(kernels: Sequence[Kernel] = KERNELS) -> Iterator[tuple[str, Kernel, bytes]]:
    """Machine, kernel and document: of the last run, else the one that is kept in the checkout."""
    for name in names():
        for kernel in kernels:
            if (document := table.saved_document(name, kernel) or _kept(name, kernel)) is not None:
                yield name, kernel, document


def _kept(name: str, kernel: Kernel) -> bytes | None:
    path = KEPT / kernel / f"{name}.json.gz"
    return gzip.decompress(path.read_bytes()) if path.exists() else None


def is_traced(run: Run) -> bool:
    return any(step.trace for step in run.steps)


def untraced(run: Run) -> Run:
    """The same run as if nobody had been there to trace it."""
    steps = tuple(msgspec.structs.replace(step, trace=None) for step in run.steps)
    return msgspec.structs.replace(run, steps=steps)


def verdict_rows(name: str, kernel: Kernel, document: bytes) -> list[tuple[str, ...]]:
    """One row; none of a run that was not traced."""
    run = decode_run(document)
    if not is_traced(run):
        return []
    machine, alone = load(name), judge(untraced(run))
    wrong = "; ".join(table.measurement_faults(machine, judged_again(document, elapsed_s=0.0)))
    said = [f"{each.verdict}, {each.confidence}" for each in (alone, judge(run))]
    return [(name, kernel, machine.truth, *said, wrong)]


def layer_rows(name: str, kernel: Kernel, document: bytes) -> list[tuple[str, ...]]:
    """What each layer was asked for, topmost first, in the steps shown."""
    steps = [step for step in decode_run(document).steps if step.name in SHOWN and step.trace]
    return [(name, kernel, step.name, str(step.syncs or step.ops), _layers(step)) for step in steps]


def _layers(step: Step) -> str:
    return " › ".join(f"{each.device} {_asked(each)}" for each in step.trace or ())


def _asked(told: DeviceTrace) -> str:
    """Flushes by whom, then FUA writes; "0" where there was neither."""
    if told.lost:
        return f"{told.lost} events lost"
    parts = (
        (told.asked_by_us, "by us"), (told.asked_by_kernel_threads, "by the kernel"),
        (told.asked_by_others, "by others"), (told.fua_writes, "FUA"),
    )  # fmt: skip
    return " + ".join(f"{number} {who}" for number, who in parts if number) or "0"
