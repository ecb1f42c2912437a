"""Build the report of a fleet, with what matters most first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fstui.fleet.boxes import Box, Rate
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import folded
from fstui.fleet.oddities import Group, Oddity, groups, odd_rates, ratio_to_equals, worse_verdicts
from fstui.model.judgement import TOO_SLOW, VERDICTS
from fstui.model.quantities import counted, duration_ns, rate, seconds
from fstui.report.sections import Cell, Report, Section, Value, glyph, number, records, speed, verdict
from fstui.report.text import SPEEDS

MOST_ROWS = 40
MOST_GROUPS = 12
_SENTENCE = 300
_CSV = (
    "box", "target", "run", "verdict", "confidence", "speed", "step", "per_s", "p99_ns", "times_its_equals", "layers",
    "model", "cache", "kernel", "cloud", "flag", "next", "trouble",
)  # fmt: skip


def report_of(fleet: Fleet) -> Report:
    """Return what every format shows of a fleet."""
    return Report(headline(fleet), tuple(_sections(fleet)), _document(fleet), records(_CSV, _records(fleet)))


def headline(fleet: Fleet) -> str:
    """``8 boxes asked, 6 answered in 14.2 s: 4 consistent, 2 not-durable``"""
    asked, silent = len(fleet.about.nodes), len(fleet.about.troubles)
    verdicts = Counter(box.verdict for box in fleet.boxes if box.verdict)
    said = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
    slow = sum(box.speed in TOO_SLOW for box in fleet.boxes)
    words = ", ".join(filter(None, [said, f"{slow} slow" if slow else ""]))
    answered = f"{counted(asked, 'box')} asked, {asked - silent} answered"
    return f"{answered} in {seconds(fleet.about.elapsed_s)}{f': {words}' if words else ''}"


def _sections(fleet: Fleet) -> Iterator[Section]:
    boxes = fleet.boxes
    if fleet.about.command in ("watch", "list"):
        yield _spoken(boxes)
    else:
        yield _table(boxes)
        yield Section("Worse than their equals", lines=_sentences(worse_verdicts(boxes)))
        yield Section("Slower or faster than their equals", lines=_sentences(odd_rates(boxes)))
        yield from _groups(boxes)
    yield Section("Did not answer", lines=by_reason(fleet.about.troubles))
    yield Section("Answered, and ended otherwise", lines=by_reason(fleet.about.remarks))


def _table(boxes: Sequence[Box]) -> Section:
    ratios = ratio_to_equals(boxes)
    ranked = sorted(boxes, key=_severity)
    shown = ranked[:MOST_ROWS]
    header = ("", "BOX", "TARGET", "VERDICT", "SURE", "COMMITS/S", "P99", "× EQUALS", "SLOW?", "FLAG")
    more = len(ranked) - len(shown)
    lines = (f"and {more} more, no worse than the last: --format csv has all of them",) if more else ()
    rows = tuple(_row(box, ratios.get((box.node, box.place))) for box in shown)
    return Section("", header, rows, lines)


def _severity(box: Box) -> tuple[int, int, str]:
    slow = list(SPEEDS).index(box.speed) if box.speed else len(SPEEDS)
    return box.rank, slow, box.node


def _row(box: Box, ratio: float | None) -> tuple[Cell | str, ...]:
    first = box.commits
    remarks = [*([box.stopped] if box.stopped else []), *(["altered"] if box.altered else [])]
    return (
        glyph(box.verdict),
        box.node,
        box.place,
        verdict(box.verdict, *remarks),
        box.confidence,
        number(first.per_s if first else None, rate),
        number(first.p99_ns if first else None, duration_ns),
        number(ratio, "{:.2f}".format),
        speed(box.speed),
        box.flag,
    )


def _spoken(boxes: Sequence[Box]) -> Section:
    rows = tuple(
        (glyph(box.verdict), box.node, box.sentence, box.speed_title if box.speed in TOO_SLOW else "")
        for box in sorted(boxes, key=_severity)
    )
    return Section("", ("", "BOX", "SAYS", "SLOW?"), rows)


def _sentences(found: Sequence[Oddity]) -> tuple[str, ...]:
    return tuple(
        f"{odd.box.node} {odd.box.place}".strip() + f": {odd.sentence}"[:_SENTENCE] for odd in found[:MOST_ROWS]
    )


def _groups(boxes: Sequence[Box]) -> Iterator[Section]:
    found = groups(boxes)
    for group in found[:MOST_GROUPS]:
        yield _group(group)
    if left := found[MOST_GROUPS:]:
        boxes_left = sum(len(group.boxes) for group in left)
        yield Section("", lines=(f"{len(left)} smaller groups with {boxes_left} boxes: --format json has them",))


def _group(group: Group) -> Section:
    names = dict.fromkeys(box.node for box in group.boxes)
    title = f"{len(names)} × {group.words}: {folded(names)}"
    header = ("STEP", "BOXES", "LEAST/S", "MEDIAN/S", "MAD", "MOST/S")
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (
            one.step,
            number(one.boxes, str),
            *(number(each, rate) for each in (one.least, one.median, one.mad, one.most)),
        )
        for one in group.spreads
    )
    return Section(title, header, rows)


def by_reason(troubles: dict[str, str]) -> tuple[str, ...]:
    """Return each reason once, with all the hosts that have it."""
    nodes: dict[str, list[str]] = {}
    for node, reason in troubles.items():
        nodes.setdefault(reason, []).append(node)
    return tuple(f"{folded(names)}: {reason}" for reason, names in nodes.items())


def _records(fleet: Fleet) -> Iterator[tuple[Value, ...]]:
    """One for each step; one without figures where there is none."""
    ratios = ratio_to_equals(fleet.boxes)
    for box in fleet.boxes:
        ratio = ratios.get((box.node, box.place))
        for one in box.rates or (None,):
            yield _record(box, one, ratio)
    for node, trouble in fleet.about.troubles.items():
        yield node, *("",) * (len(_CSV) - 2), trouble


def _record(box: Box, one: Rate | None, ratio: float | None) -> tuple[Value, ...]:
    return (
        *(box.node, box.place, box.run, box.verdict, box.confidence, box.speed),
        *((one.step, round(one.per_s, 1), one.p99_ns) if one else ("", None, None)),
        None if ratio is None or one is None else round(ratio, 3),
        *(box.layers, box.model, box.cache, box.kernel, box.cloud, box.flag or box.sentence, box.next, ""),
    )


def _document(fleet: Fleet) -> dict[str, object]:
    boxes = fleet.boxes
    return {
        "about": fleet.about,
        "boxes": boxes,
        "worse": [
            {"box": odd.box.node, "target": odd.box.place, "sentence": odd.sentence} for odd in worse_verdicts(boxes)
        ],
        "odd": [
            {"box": odd.box.node, "target": odd.box.place, "ratio": odd.ratio, "sentence": odd.sentence}
            for odd in odd_rates(boxes)
        ],
        "groups": [
            {
                "layers": one.layers,
                "model": one.model,
                "cache": one.cache,
                "kernel": one.kernel,
                "cloud": one.cloud,
                "boxes": list(dict.fromkeys(box.node for box in one.boxes)),
                "steps": [spread._asdict() for spread in one.spreads],
            }
            for one in groups(boxes)
        ],
    }
