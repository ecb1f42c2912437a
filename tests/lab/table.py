"""Compare what fstui reported with the truth, as a table with faults."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fstui.model.judgement import Verdict
from tests.lab.image import cache_directory
from tests.lab.laboratory import Measured
from tests.lab.machine import LabMachine
from tests.lab.powercut import Cut
from tests.lab.recipe import KERNELS, Kernel

NEGATIVE: tuple[Verdict, ...] = ("lost", "not-durable", "suspicious")
POSITIVE: tuple[Verdict, ...] = ("plausible", "consistent", "kept")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one machine."""

    date: str
    measured: Measured | None = None
    cuts: list[Cut] = []
    failure: str | None = None
    """Why there is nothing to judge: the machine did not start, or a command in it failed."""


Results = Mapping[tuple[str, Kernel], Result]


def results_directory(kernel: Kernel) -> Path:
    return cache_directory() / "results" / kernel


def save(name: str, kernel: Kernel, result: Result) -> None:
    results_directory(kernel).mkdir(parents=True, exist_ok=True)
    (results_directory(kernel) / f"{name}.json").write_bytes(msgspec.json.encode(result))


def save_document(name: str, kernel: Kernel, document: bytes) -> None:
    """Save the run document as fstui printed it, so that it can be judged again."""
    directory = results_directory(kernel) / "documents"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_bytes(document)


def saved_document(name: str, kernel: Kernel) -> bytes | None:
    try:
        return (results_directory(kernel) / "documents" / f"{name}.json").read_bytes()
    except FileNotFoundError:
        return None


def saved(name: str, kernel: Kernel) -> Result | None:
    try:
        return msgspec.json.decode((results_directory(kernel) / f"{name}.json").read_bytes(), type=Result)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def faults(machine: LabMachine, result: Result) -> list[str]:
    """Return sentences about where fstui's report and the truth differ."""
    if result.failure is not None:
        return [f"failed: {result.failure.splitlines()[0]}"]
    found = [] if result.measured is None else measurement_faults(machine, result.measured)
    return found + cut_faults(machine, result.cuts)


def measurement_faults(machine: LabMachine, measured: Measured) -> list[str]:
    """An honest disk must not be reported. A visible lie must be found. No lie may pass above low confidence."""
    verdict, above_low = measured.verdict, measured.confidence != "low"
    if machine.truth == "honest" and verdict in NEGATIVE:
        return [f"honest, but reported as {verdict}"]
    if machine.truth == "lying" and verdict in POSITIVE and above_low:
        return [f"lying, but reported as {verdict} with {measured.confidence} confidence"]
    if machine.truth == "lying" and machine.tell != "none" and verdict not in NEGATIVE:
        return [f"lying, which shows ({machine.tell}), but reported as {verdict}"]
    if verdict not in machine.expected:
        return [f"reported as {verdict}; its file expects {' or '.join(machine.expected)}"]
    return []


def cut_faults(machine: LabMachine, cuts: list[Cut]) -> list[str]:
    """Every cut of a lying machine must be lost, every cut of an honest one kept."""
    truth = "kept" if machine.truth == "honest" else "lost"
    wrong = [cut for cut in cuts if cut.verdict != truth]
    return [f"{machine.truth}, but {len(wrong)} of {len(cuts)} cuts not {truth}"] if wrong else []


def rows(machines: Mapping[str, LabMachine], results: Results) -> list[tuple[str, ...]]:
    """Return the rows of machines with a result, honest ones first.

    Columns: name, truth, the measurement and the cuts with each kernel, faults.
    """
    ordered = sorted(machines.items(), key=lambda item: (item[1].truth, item[0]))
    return [row for name, machine in ordered if (row := _row(name, machine, results))]


def _row(name: str, machine: LabMachine, results: Results) -> tuple[str, ...] | None:
    found = {kernel: results.get((name, kernel)) for kernel in KERNELS}
    if not any(found.values()):
        return None
    cells = (cell for kernel in KERNELS for cell in _cells(machine, kernel, found[kernel]))
    wrong = (f"{kernel}: {fault}" for kernel, result in found.items() if result for fault in faults(machine, result))
    return name, _truth(machine), *cells, "; ".join(wrong)


def _cells(machine: LabMachine, kernel: Kernel, result: Result | None) -> tuple[str, str]:
    """Return "–" for a result that is missing, and nothing for a kernel that the machine is not for."""
    if kernel not in machine.kernels:
        return "", ""
    return ("–", "–") if result is None else (_said(result), _cut(result))


def _truth(machine: LabMachine) -> str:
    return machine.truth if machine.truth == "honest" else f"lying; tell: {machine.tell}"


def _said(result: Result) -> str:
    return "–" if result.measured is None else f"{result.measured.verdict}, {result.measured.confidence}"


def _cut(result: Result) -> str:
    if not result.cuts:
        return "–"
    words = [cut.verdict for cut in result.cuts]
    return ", ".join(f"{word} {words.count(word)}/{len(words)}" for word in dict.fromkeys(words))


SAID = tuple(f"{kernel}: {said}" for kernel in KERNELS for said in ("measured", "cut"))
HEADINGS = ("machine", "truth", *SAID, "against the truth")


def plain(table: list[tuple[str, ...]]) -> str:
    lines = [HEADINGS, *((*row[:-1], f"✗ {row[-1]}" if row[-1] else "✓") for row in table)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines
    )


def markdown(table: list[tuple[str, ...]], machines: Mapping[str, LabMachine], date: str) -> str:
    rows = [(name, machines[name].title, *cells, wrong or "✓") for name, *cells, wrong in table]
    summary = f"Measured until {date}, {len({row[0] for row in table})} machines."
    return f"{summary}\n\n{grid(('machine', 'what it is', *HEADINGS[1:]), rows)}"


def grid(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
