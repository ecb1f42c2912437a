"""Tables of published rates and of the user's own references: those near the rate of a run, or all."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from fstui.judge.references import Placement, Reference, find_placements, media_names
from fstui.model.quantities import counted, rate, size
from fstui.model.run import OwnReference, Run
from fstui.report.documents import ReferencesDocument
from fstui.report.sections import Report, Row, Section, number_cell

THIS_RUN, USER_REFERENCE = "▸", "▲"  # signs of the run's own rate, and of the user's references
_MAX_ROWS, _NEIGHBOURS = 8, 3
"""A longer table shows only the nearest rates on either side, the slowest and the fastest."""
_HEADER = ("", "RATE/S", "DEVICE")
_RECORDS = ("operation", "device", "setup", "per_s", "medium", "source")


def run_references(run: Run) -> Section:
    """Return a table for the operation with the most references; empty if there are none."""
    placements = find_placements(run)
    return comparison_table(placements[0]) if placements else Section()


def comparison_table(placement: Placement) -> Section:
    nearest = _nearest(placement)
    sources = _numbers((*nearest, *placement.own))
    run_row = (THIS_RUN, number_cell(placement.per_s, rate), f"here, {size(placement.block_bytes)}")
    rows: list[tuple[float, Row]] = [
        *((reference.per_s, _row(reference, sources)) for reference in nearest),
        *((reference.per_s, _row(reference, sources, USER_REFERENCE)) for reference in placement.own),
        (placement.per_s, run_row),
    ]
    positions = {reference: index for index, reference in enumerate(placement.published)}
    for slower, faster in pairwise(nearest):
        if (left_out := positions[faster] - positions[slower] - 1) > 0:
            rows.append((slower.per_s, ("", "…", f"{left_out} more: fstui references")))
    lines = (*_notes(nearest), *(f"{label} {source}" for source, label in sources.items()))
    ordered = sorted(rows, key=lambda row: row[0])
    title = f"{placement.operation}: {', '.join(_headings(placement))}"
    return Section(title, _HEADER, tuple(row for _, row in ordered), lines)


def _headings(placement: Placement) -> Iterator[str]:
    """Yield comparisons with the user's own references, then with the published ones."""
    for reference in placement.own:
        yield f"{placement.per_s / reference.per_s:.2f} × your own {reference.device}"
    if placement.published:
        classes = media_names({reference.medium for reference in placement.published})
        total = len(placement.published)
        faster = f"faster than {placement.slower_count} of {total} published rates"
        if total == 1:
            faster = f"{'faster' if placement.slower_count else 'slower'} than the only published rate"
        elif placement.per_s < placement.published[0].per_s:
            faster = f"{placement.per_s / placement.published[0].per_s:.2f} × the slowest of {total} published rates"
        unknown = "compared with all media, because the kind of this device is not known"
        yield f"{faster} for {classes}" if placement.media else f"{unknown}: {faster}"


def references_report(references: Sequence[Reference], own: Sequence[OwnReference]) -> Report:
    by_operation = sorted(references, key=lambda reference: (reference.operation.lower(), reference.per_s))
    sources, sections = _numbers(by_operation), [*own_references_report(own).sections]
    for operation, group in groupby(by_operation, key=lambda reference: reference.operation):
        rows = list(group)
        sections.append(Section(operation, _HEADER, tuple(_row(row, sources) for row in rows), tuple(_notes(rows))))
    sections.append(Section("Sources", lines=tuple(f"{label} {source}" for source, label in sources.items())))
    values = [(row.operation, row.device, row.setup, row.per_s, row.medium, row.source) for row in by_operation]
    document = ReferencesDocument(own=tuple(own), published=tuple(by_operation))
    return Report("", tuple(sections), document, (_RECORDS, *values))


def own_references_report(references: Sequence[OwnReference]) -> Report:
    table = Section("", ("NAME", "OPERATION", "RATE/S", "SOURCE"), tuple(map(_own_row, references)))
    return Report("", (table,), None)


def _own_row(reference: OwnReference) -> Row:
    media = ", ".join(reference.models or reference.media) or "any medium"
    source = f"{size(reference.block_bytes)}, {counted(reference.runs, 'run')}, {media}"
    return f"{USER_REFERENCE} {reference.name}", reference.operation, number_cell(reference.per_s, rate), source


def _numbers(references: Iterable[Reference]) -> dict[str, str]:
    """Return the number of each source, such as ``[1]``, in the order of first use."""
    distinct = dict.fromkeys(reference.source for reference in references)
    return {source: f"[{index}]" for index, source in enumerate(distinct, 1)}


def _row(reference: Reference, sources: dict[str, str], mark: str = "") -> Row:
    name = ", ".join(filter(None, [reference.device + ("*" if reference.note else ""), reference.setup]))
    return mark, number_cell(reference.per_s, rate), f"{name} {sources[reference.source]}"


def _notes(references: Iterable[Reference]) -> Iterable[str]:
    return dict.fromkeys(f"* {reference.device}: {reference.note}" for reference in references if reference.note)


def _nearest(placement: Placement) -> tuple[Reference, ...]:
    """Return the published rates to show: all, or the slowest, the fastest, and the nearest on either side."""
    published = placement.published
    if len(published) <= _MAX_ROWS:
        return published
    index = placement.slower_count
    neighbours = published[max(index - _NEIGHBOURS, 0) : index + _NEIGHBOURS]
    return tuple(reference for reference in published if reference in (published[0], *neighbours, published[-1]))
