"""The effect of the kernel's trace: verdicts with and without it, and the flushes requested at each layer.

Each saved run document is judged twice: as it is, and without its traces.
"""

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
"""The steps whose flushes are shown layer by layer."""
VERDICT_HEADINGS = ("machine", "Linux", "truth", "with the counters alone", "with the trace", "against the truth")
LAYER_HEADINGS = ("machine", "Linux", "step", "syncs", "requested at each layer")


def documents(kernels: Sequence[Kernel] = KERNELS) -> Iterator[tuple[str, Kernel, bytes]]:
    """Yield machine, kernel and document: of the last run, or the one in the checkout."""
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
    """Return the run without its trace."""
    steps = tuple(msgspec.structs.replace(step, trace=None) for step in run.steps)
    return msgspec.structs.replace(run, steps=steps)


def verdict_rows(name: str, kernel: Kernel, document: bytes) -> list[tuple[str, ...]]:
    """Return one row, or none if the run was not traced."""
    run = decode_run(document)
    if not is_traced(run):
        return []
    machine, alone = load(name), judge(untraced(run))
    wrong = "; ".join(table.measurement_faults(machine, judged_again(document, elapsed_s=0.0)))
    verdicts = [f"{each.verdict}, {each.confidence}" for each in (alone, judge(run))]
    return [(name, kernel, machine.truth, *verdicts, wrong)]


def layer_rows(name: str, kernel: Kernel, document: bytes) -> list[tuple[str, ...]]:
    """Return the requests at each layer, topmost first, for the steps shown."""
    steps = [step for step in decode_run(document).steps if step.name in SHOWN and step.trace]
    return [(name, kernel, step.name, str(step.syncs or step.ops), _layers(step)) for step in steps]


def _layers(step: Step) -> str:
    return " › ".join(f"{each.device} {_requested(each)}" for each in step.trace or ())


def _requested(trace: DeviceTrace) -> str:
    """Return the flushes by their origin, then the FUA writes, or "0"."""
    if trace.lost:
        return f"{trace.lost} events lost"
    parts = (
        (trace.asked_by_us, "by fstui"), (trace.asked_by_kernel_threads, "by the kernel"),
        (trace.asked_by_others, "by others"), (trace.fua_writes, "FUA"),
    )  # fmt: skip
    return " + ".join(f"{number} {who}" for number, who in parts if number) or "0"
