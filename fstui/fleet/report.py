"""The reports of a fleet: the answers of all hosts, and a comparison of two results, host by host."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from statistics import median

import msgspec

from fstui.fleet.outliers import HostGroup, Outlier, Ratios, groups, outlying_rates, ratio_to_peers, worse_verdicts
from fstui.fleet.remote import fold
from fstui.fleet.results import About, Fleet, HostResult, Rate
from fstui.model.base import Base
from fstui.model.judgement import SPEEDS, TOO_SLOW, VERDICTS, Verdict
from fstui.model.quantities import counted, duration_ns, rate, seconds
from fstui.report.comparison import Ratio
from fstui.report.documents import JsonDocument
from fstui.report.sections import (
    Report,
    Row,
    Section,
    Value,
    glyph_cell,
    number_cell,
    right_cell,
    speed_cell,
    verdict_cell,
)
from fstui.report.text import NONE

MAX_ROWS, MAX_GROUPS, MAX_SETTINGS = 40, 12, 3
MIN_RATIO, MIN_RATIO_NO_INTERVAL = 1.25, 2.0
"""Rates with an interval, and rates without one, must change by these factors to count as changed."""
MIN_PARTS = 3
"""The ratio of a step gets an interval if the step was measured in at least this many parts."""
_MAX_SENTENCE = 300
_CSV_HEADER = (
    "host", "target", "run", "verdict", "confidence", "speed", "step", "per_s", "p99_ns", "ratio_to_peers", "layers",
    "model", "cache", "kernel", "cloud", "flag", "next", "trouble",
)  # fmt: skip
_CHANGES_CSV = ("host", "target", "before", "after", "rate", "changed settings")


class FleetDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.fleet-report/1"):
    about: About
    hosts: tuple[HostResult, ...]
    worse: tuple[Outlier, ...]
    outliers: tuple[Outlier, ...]
    groups: tuple[HostGroup, ...]


class ChangedHost(Base, frozen=True, kw_only=True):
    """One target of one host, before and after."""

    host: str
    target: str
    before: Verdict | None
    after: Verdict | None
    ratio: Ratio | None
    """Rate after / rate before, the median over the steps that both have. Its interval covers those of all steps. The
    lower end of a step's interval is its slowest part after / its fastest part before; the upper end is its fastest
    part after / its slowest part before."""
    settings: tuple[str, ...]
    changed: bool
    worse: bool


class FleetComparisonDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.fleet-comparison/1"):
    targets: tuple[ChangedHost, ...]


DOCUMENTS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "fleet": (FleetDocument, "The results of all hosts: fstui fleet run, check, watch, list and show"),
    "fleet-comparison": (FleetComparisonDocument, "Two results of a fleet, host by host: fstui fleet compare"),
}


def report_of(fleet: Fleet) -> Report:
    hosts = fleet.results
    document = FleetDocument(
        about=fleet.about,
        hosts=hosts,
        worse=tuple(worse_verdicts(hosts)),
        outliers=tuple(outlying_rates(hosts)),
        groups=tuple(group for group, _ in groups(hosts)),
    )
    ratios = ratio_to_peers(hosts)
    values = (_CSV_HEADER, *_records(fleet, ratios))
    return Report(headline(fleet), tuple(_sections(document, ratios)), document, values)


def headline(fleet: Fleet) -> str:
    """Return a line such as ``6 of 8 hosts answered in 14.2 s: 4 consistent, 2 not-durable``."""
    requested, failed = len(fleet.about.nodes), len(fleet.about.troubles)
    verdicts = Counter(host.verdict for host in fleet.results if host.verdict)
    tally = ", ".join(f"{verdicts[word]} {word}" for word in VERDICTS if verdicts[word])
    slow_hosts = sum(host.speed in TOO_SLOW for host in fleet.results)
    outcome = ", ".join(filter(None, [tally, f"{slow_hosts} slow" if slow_hosts else ""]))
    answered = f"{requested - failed} of {counted(requested, 'host')} answered"
    return f"{answered} in {seconds(fleet.about.elapsed_s)}{f': {outcome}' if outcome else ''}"


def _sections(document: FleetDocument, ratios: Ratios) -> Iterator[Section]:
    about, hosts = document.about, document.hosts
    if about.command in ("watch", "list"):
        yield _sentence_table(hosts)
    else:
        yield _run_table(hosts, ratios)
        yield Section("Worse than their peers", lines=_outlier_lines(document.worse))
        yield Section("Slower or faster than their peers", lines=_outlier_lines(document.outliers))
        yield from _groups([group for group in document.groups if len(group.hosts) > 1])
    if about.fanout > 1:
        warnings = tuple(_shared_storage_warnings(hosts))
        yield Section("Measured at the same time on shared storage", lines=warnings)
    yield Section("Did not answer", lines=reason_lines(about.troubles))
    yield Section("Answered, but did not succeed", lines=reason_lines(about.remarks))


def _run_table(hosts: Sequence[HostResult], ratios: Ratios) -> Section:
    ranked = sorted(hosts, key=_severity)
    worst = ranked[:MAX_ROWS]
    header = ("", "HOST", "TARGET", "VERDICT", "CONFIDENCE", "COMMITS/S", "P99", "× PEERS", "SPEED", "FINDING")
    more = len(ranked) - len(worst)
    note = (f"and {more} more, none worse than these; --format csv lists them all",) if more else ()
    rows = tuple(_row(host, ratios) for host in worst)
    return Section("", header, rows, note)


def _severity(host: HostResult) -> tuple[int, int, str]:
    """Return a sort key that puts the worst host first."""
    speed_rank = SPEEDS.index(host.speed) if host.speed else len(SPEEDS)
    return host.rank, speed_rank, host.node


def _row(host: HostResult, ratios: Ratios) -> Row:
    commits = next((one for one in host.rates if one.synced), None)  # the rate of durable commits
    ratio = ratios.get((host.node, host.place, commits.step)) if commits else None
    remarks = [*([host.stopped] if host.stopped else []), *(["altered"] if host.altered else [])]
    return (
        glyph_cell(host.verdict),
        host.node,
        host.place,
        verdict_cell(host.verdict, *remarks),
        host.confidence,
        number_cell(commits.per_s if commits else None, rate),
        number_cell(commits.p99_ns if commits else None, duration_ns),
        number_cell(ratio, "{:.2f}".format),
        speed_cell(host.speed),
        host.flag,
    )


def _sentence_table(hosts: Sequence[HostResult]) -> Section:
    rows = tuple(
        (glyph_cell(host.verdict), host.node, host.sentence, host.speed_title if host.speed in TOO_SLOW else "")
        for host in sorted(hosts, key=_severity)
    )
    return Section("", ("", "HOST", "RESULT", "SPEED"), rows)


def _outlier_lines(hosts: Sequence[Outlier]) -> tuple[str, ...]:
    return tuple(f"{row.host} {row.target}".strip() + f": {row.sentence}"[:_MAX_SENTENCE] for row in hosts[:MAX_ROWS])


def _groups(all_groups: Sequence[HostGroup]) -> Iterator[Section]:
    yield from map(_group, all_groups[:MAX_GROUPS])
    if hidden := all_groups[MAX_GROUPS:]:
        nodes = counted(len({node for group in hidden for node in group.hosts}), "host")
        yield Section(lines=(f"{counted(len(hidden), 'smaller group')} with {nodes}: --format json lists them",))


def _group(group: HostGroup) -> Section:
    title = f"{len(group.hosts)} × {group.description}: {fold(group.hosts)}"
    header = ("STEP", "HOSTS", "LOWEST/S", "MEDIAN/S", "MAD", "HIGHEST/S")
    rows: tuple[Row, ...] = tuple(
        (
            step.step,
            number_cell(step.hosts, str),
            *(number_cell(value, rate) for value in (step.least, step.median, step.mad, step.most)),
        )
        for step in group.steps
    )
    return Section(title, header, rows)


def reason_lines(troubles: dict[str, str]) -> tuple[str, ...]:
    nodes: dict[str, list[str]] = {}
    for node, reason in troubles.items():
        nodes.setdefault(reason, []).append(node)
    return tuple(f"{fold(names)}: {reason}" for reason, names in nodes.items())


def _records(fleet: Fleet, ratios: Ratios) -> Iterator[tuple[Value, ...]]:
    """Yield a record for each step of each host. A host without steps has one record without figures."""
    for host in fleet.results:
        for each in host.rates or (None,):
            yield _record(host, each, ratios.get((host.node, host.place, each.step)) if each else None)
    for node, trouble in fleet.about.troubles.items():
        yield node, *("",) * (len(_CSV_HEADER) - 2), trouble


def _record(host: HostResult, measured: Rate | None, ratio: float | None) -> tuple[Value, ...]:
    return (
        *(host.node, host.place, host.run, host.verdict, host.confidence, host.speed),
        *((measured.step, round(measured.per_s, 1), measured.p99_ns) if measured else ("", None, None)),
        None if ratio is None else round(ratio, 3),
        *(host.layers, host.model, host.cache, host.kernel, host.cloud, host.flag or host.sentence, host.next, ""),
    )


def _shared_storage_warnings(hosts: Sequence[HostResult]) -> Iterator[str]:
    """Yield warnings about hosts that used the same network storage and slowed each other down."""
    by_storage: dict[str, dict[str, None]] = {}
    for host in hosts:
        if host.shared:
            by_storage.setdefault(host.shared, {})[host.node] = None
    for shared, names in by_storage.items():
        if len(names) > 1:
            yield f"{fold(names)}: {shared}. Their rates are not comparable. Run them one after another: --fanout 1"


def changes(before: Fleet, after: Fleet) -> list[ChangedHost]:
    """Return the targets that are in both results, the worst change first."""
    earlier = {(host.node, host.place): host for host in before.results}
    pairs = ((earlier.get((host.node, host.place)), host) for host in after.results)
    hosts = [_change(host_before, host) for host_before, host in pairs if host_before is not None]
    return sorted(hosts, key=lambda host: (not host.worse, host.ratio.factor if host.ratio else 1.0, host.host))


def comparison_report(before: Fleet, after: Fleet) -> Report:
    all_changes = changes(before, after)
    changed = [change for change in all_changes if change.changed]
    header = ("", "HOST", "TARGET", "BEFORE", "AFTER", "RATE", "CHANGED SETTINGS")
    more = (f"and {len(changed) - MAX_ROWS} more",) if len(changed) > MAX_ROWS else ()
    ratios = [change.ratio.factor for change in all_changes if change.ratio]
    ratio_lines = []
    if ratios:
        ratio_range = f", {min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else ""
        ratio_lines = [f"rate after / rate before: median {median(ratios):.2f} ×{ratio_range}"]
    sections = (
        Section("", header, tuple(map(_change_row, changed[:MAX_ROWS])), more),
        Section(lines=tuple(ratio_lines)),
        *_only_in("before", before, after),
        *_only_in("after", after, before),
    )
    return Report(
        f"{counted(len(all_changes), 'target')} in both results, {len(changed)} changed",
        sections,
        FleetComparisonDocument(targets=tuple(all_changes)),
        (_CHANGES_CSV, *map(_change_record, changed)),
    )


def _change(before: HostResult, after: HostResult) -> ChangedHost:
    earlier = {each.step: each for each in before.rates if each.per_s > 0}
    pairs = [(earlier[each.step], each) for each in after.rates if each.step in earlier and each.per_s > 0]
    changed_settings = tuple(
        f"{name} {before.facts.get(name, NONE)} → {after.facts.get(name, NONE)}"
        for name in sorted({*before.facts, *after.facts})
        if before.facts.get(name) != after.facts.get(name)
    )
    ratio = _ratio(pairs)
    verdict_changed = before.verdict != after.verdict and not _is_due_to_other_writers(before, after)
    return ChangedHost(
        host=after.node,
        target=after.place,
        before=before.verdict,
        after=after.verdict,
        ratio=ratio,
        settings=changed_settings,
        changed=_has_changed(ratio) or verdict_changed or bool(changed_settings),
        worse=verdict_changed and after.rank < before.rank,
    )


def _is_due_to_other_writers(before: HostResult, after: HostResult) -> bool:
    """Return whether one result has no verdict because other processes wrote, and the other shows no defect."""
    is_noisy = any(
        host.verdict == "cannot-tell" and host.confidence == "low" and "other-writers" in host.notes
        for host in (before, after)
    )
    return is_noisy and before.comparable and after.comparable


def _has_changed(ratio: Ratio | None) -> bool:
    """Return whether the rates changed by more than they vary."""
    if ratio is None or ratio.undecided:
        return False
    return abs(log(ratio.factor)) > log(MIN_RATIO if ratio.low is not None else MIN_RATIO_NO_INTERVAL)


def _ratio(pairs: Sequence[tuple[Rate, Rate]]) -> Ratio | None:
    if not pairs:
        return None
    factor = median(after.per_s / before.per_s for before, after in pairs)
    fewest_parts = min(len(each.parts) for pair in pairs for each in pair)
    if fewest_parts < MIN_PARTS:
        return Ratio(factor)
    low = min(min(after.parts) / max(before.parts) for before, after in pairs)
    high = max(max(after.parts) / min(before.parts) for before, after in pairs)
    return Ratio(factor, low, high, fewest_parts)


def _change_row(change: ChangedHost) -> Row:
    more = len(change.settings) - MAX_SETTINGS
    settings_text = "; ".join(change.settings[:MAX_SETTINGS]) + (f" and {more} more" if more > 0 else "")
    return (
        glyph_cell(change.after),
        change.host,
        change.target,
        verdict_cell(change.before),
        verdict_cell(change.after),
        right_cell(str(change.ratio or NONE)),
        settings_text,
    )


def _change_record(change: ChangedHost) -> tuple[Value, ...]:
    factor = change.ratio.factor if change.ratio else None
    return change.host, change.target, change.before, change.after, factor, "; ".join(change.settings)


def _only_in(period: str, fleet: Fleet, other: Fleet) -> Iterator[Section]:
    in_other = {host.node for host in other.results}
    if only_here := list(dict.fromkeys(host.node for host in fleet.results if host.node not in in_other)):
        yield Section(lines=(f"only {period}: {fold(only_here)}",))
    yield Section(f"{period}, no answer", lines=reason_lines(fleet.about.troubles)[:MAX_ROWS])
