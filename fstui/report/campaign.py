"""The report of a power-cut campaign: the verdict with its bound, and every cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil, floor, log10

from fstui.model.host import Host
from fstui.model.judgement import Verdict
from fstui.model.quantities import count, counted, seconds
from fstui.powercut.bounds import CONFIDENCE, METHOD, interval
from fstui.powercut.campaign import CampaignCut, CutKind, Outcome, Store
from fstui.report.documents import Bound, CampaignDocument, CampaignTotals
from fstui.report.sections import Cell, Report, Section, Value, number, records
from fstui.report.stack import stack_line
from fstui.report.text import GLYPHS, verdict_word

_NAMES: dict[CutKind, str] = {"power": "cut", "host-stop": "stop", "reset": "reset"}
_LIMITS: dict[CutKind, str] = {
    "power": "",
    "host-stop": "The host below kept its power and its caches, so a power cut of that host may lose more.",
    "reset": "The disk kept its power, so its write cache was not tested. A power cut may lose more.",
}
_OUTCOMES: dict[Outcome, tuple[str, Verdict | None]] = {
    "": ("not finished", None),
    "kept": ("kept", "kept"),
    "lost": ("LOST", "lost"),
    "no-cut": ("no cut", "cannot-tell"),
    "refused": ("not possible", None),
}
_KINDS = ("acknowledged", "checked", "present", "missing", "stale", "torn", "misplaced", "unreadable", "in_flight")
_CSV = (
    "cut", "started_at", "pattern", "outcome", "wait_s", "silent_after_s", "back_after_s", "rebooted", "mounted",
    *_KINDS, "reason",
)  # fmt: skip
_CUTS = (
    "CUT", "STARTED", "PATTERN", "OUTCOME", "ACKNOWLEDGED", "CHECKED", "MISSING", "STALE", "TORN", "MISPLACED",
    "UNREADABLE", "POWER OFF AFTER", "BACK AFTER", "",
)  # fmt: skip


def document(store: Store, stopped: str) -> CampaignDocument:
    """Return the result. It contains no command of the user, because commands contain passwords."""
    settings, cuts = store.settings, store.cuts
    header = next(filter(None, map(store.header, cuts)), None)
    happened = [cut for cut in cuts if cut.happened]
    outcomes = Counter(cut.outcome for cut in cuts)
    low, high = interval(outcomes["lost"], len(happened))
    return CampaignDocument(
        host=header.host if header else Host(),
        target=header.target if header else None,
        name=settings.host,
        directory=settings.directory,
        cut=settings.kind,
        cuts_wanted=settings.cuts,
        wait_s=settings.wait_s,
        seed=settings.seed,
        started_at=settings.started_at,
        version=settings.version,
        verdict=_verdict(settings.kind, outcomes),
        sentence=sentence(settings.kind, outcomes["lost"], len(happened)),
        stopped=stopped,
        bound=Bound(method=METHOD, confidence=CONFIDENCE, low=low, high=high),
        totals=CampaignTotals(
            cuts=len(happened),
            kept=outcomes["kept"],
            lost=outcomes["lost"],
            not_mounted=sum(cut.figures is not None and cut.figures.unmountable for cut in happened),
            no_cut=outcomes["no-cut"],
            **{kind: sum(getattr(cut.figures, kind) for cut in happened if cut.figures) for kind in _KINDS},
        ),
        cuts=tuple(cuts),
    )


def _verdict(kind: CutKind, outcomes: Counter[Outcome]) -> Verdict:
    if outcomes["lost"]:
        return "lost"
    return "cannot-tell" if not outcomes["kept"] else "kept" if kind == "power" else "plausible"


def sentence(kind: CutKind, lost: int, cuts: int) -> str:
    """Return ``412 cuts, 0 losses; with 95 % confidence fewer than 0.73 % of cuts lose data``."""
    if not cuts:
        return f"no {_NAMES[kind]} happened, so nothing is proven"
    low, high = interval(lost, cuts)
    if not lost:
        share = f"fewer than {percent(high, up=True)}"
    elif lost == cuts:
        share = f"more than {percent(low, up=False)}"
    else:
        share = f"{percent(low, up=False)} to {percent(high, up=True)}"
    name = _NAMES[kind]
    losses = "1 loss" if lost == 1 else f"{count(lost)} losses"
    words = f"{counted(cuts, name)}, {losses}; with {CONFIDENCE:.0%} confidence {share} of {name}s lose data"
    return words.replace("95%", "95 %")


def percent(share: float, *, up: bool) -> str:
    """Return a bound with two digits, rounded away from the estimate: ``0.73 %``."""
    digits = max(0, 1 - floor(log10(share * 100))) if share > 0 else 0
    scale = 10**digits
    return f"{(ceil if up else floor)(share * 100 * scale) / scale:.{digits}f} %"


def report_of(found: CampaignDocument) -> Report:
    return Report(
        f"power-cut campaign on {found.name}",
        (
            Section(
                f"{GLYPHS[found.verdict]} {verdict_word(found.verdict)}  {found.sentence}",
                lines=tuple(filter(None, _lines(found))),
                style=found.verdict,
            ),
            _by_pattern(found),
            _cuts("Cuts that lost data or did not happen", (cut for cut in found.cuts if cut.outcome != "kept")),
            _cuts("Every cut", found.cuts)._replace(in_documents=True),
        ),
        found,
        records(_CSV, map(_record, found.cuts)),
    )


def _lines(found: CampaignDocument) -> Iterable[str]:
    totals, name = found.totals, _NAMES[found.cut]
    yield _LIMITS[found.cut]
    yield f"The campaign stopped: {found.stopped}" if found.stopped else ""
    left = found.cuts_wanted - totals.cuts
    yield f"Not complete: {count(left)} of {counted(found.cuts_wanted, name)} are left." if left > 0 else ""
    yield (
        f"{found.host.hostname}, Linux {found.host.kernel}: {found.directory}, {stack_line(found.target)}"
        if found.target
        else ""
    )
    if totals.cuts:
        yield f"{count(totals.acknowledged)} records were acknowledged."
    if totals.checked:
        yield (
            f"{count(totals.checked)} of them, which no newer one had replaced, were compared: "
            f"{count(totals.present)} present, {count(totals.missing)} missing, {count(totals.stale)} stale, "
            f"{count(totals.torn)} torn, {count(totals.misplaced)} misplaced, {count(totals.unreadable)} unreadable."
        )
    if gone := sum(cut.figures is not None and cut.figures.gone for cut in found.cuts if cut.happened):
        yield f"The directory with all records was gone after {counted(gone, name)}."
    if totals.not_mounted:
        yield f"The filesystem did not mount after {counted(totals.not_mounted, name)}."
    if totals.no_cut:
        yield f"{count(totals.no_cut)} more did not happen, and prove nothing."
    if len({cut.figures.identity for cut in found.cuts if cut.happened and cut.figures}) > 1:
        yield "The layers or the settings of the storage changed during the campaign: its cuts are not all alike."
    low, high = found.wait_s
    yield (
        f"Each {name} came {low:g} to {high:g} s after the first acknowledgement, at random (seed {found.seed}). You "
        f"declared with --cut {found.cut} what the commands do. The interval is that of {found.bound.method}; it holds "
        f"for {name}s like these."
    )


def _by_pattern(found: CampaignDocument) -> Section:
    header = (
        "PATTERN", f"{_NAMES[found.cut].upper()}S", "LOSSES", "LOSE DATA", "ACKNOWLEDGED", "CHECKED",
        "RECORDS LOST", "TORN IN FLIGHT",
    )  # fmt: skip
    rows = []
    for pattern in dict.fromkeys(cut.pattern for cut in found.cuts if cut.happened):
        cuts = [cut for cut in found.cuts if cut.pattern == pattern and cut.happened]
        figures = [cut.figures for cut in cuts if cut.figures]
        lost = sum(cut.outcome == "lost" for cut in cuts)
        low, high = interval(lost, len(cuts))
        rows.append(
            (
                pattern,
                number(len(cuts), count),
                number(lost, count),
                f"{percent(low, up=False)} to {percent(high, up=True)}",
                number(sum(each.acknowledged for each in figures), count),
                number(sum(each.checked for each in figures), count),
                number(sum(each.lost for each in figures), count),
                number(sum(each.in_flight for each in figures), count),
            )
        )
    torn = (
        "Torn in flight: blocks that were being written at the cut and were never acknowledged. They are no loss, but "
        "a program that overwrites such blocks needs a copy or a journal of its own."
    )
    return Section("Patterns", header, tuple(rows), (torn,) if found.totals.in_flight else ())


def _cuts(title: str, cuts: Iterable[CampaignCut]) -> Section:
    return Section(title, _CUTS, tuple(_row(cut) for cut in cuts))


def _row(cut: CampaignCut) -> tuple[Cell | str, ...]:
    words, style = _OUTCOMES[cut.outcome]
    figures = cut.figures
    kinds = ("acknowledged", "checked", "missing", "stale", "torn", "misplaced", "unreadable")
    return (
        number(cut.number, count),
        cut.started_at,
        cut.pattern,
        Cell(words, cut.outcome, style or ""),
        *(number(getattr(figures, kind) if figures else None, count) for kind in kinds),
        number(cut.wait_s, seconds),
        number(cut.back_after_s or None, seconds),
        _remark(cut),
    )


def _remark(cut: CampaignCut) -> str:
    if cut.reason or cut.figures is None:
        return cut.reason
    if cut.figures.unmountable:
        return "the filesystem did not mount"
    return "the directory with all records is gone" if cut.figures.gone else ""


def _record(cut: CampaignCut) -> tuple[Value, ...]:
    figures = cut.figures
    return (
        *(cut.number, cut.started_at, cut.pattern, cut.outcome, cut.wait_s, cut.silent_after_s, cut.back_after_s),
        cut.boot_after != cut.boot_before if cut.boot_after else None,
        not figures.unmountable if figures else None,
        *(getattr(figures, kind) if figures else None for kind in _KINDS),
        _remark(cut),
    )


def line(cut: CampaignCut) -> str:
    """Return one finished cut in one line."""
    words, style = _OUTCOMES[cut.outcome]
    figures = cut.figures
    records = f": {count(figures.checked)} records checked, {count(figures.lost)} lost" if figures else ""
    reason = f": {remark}" if (remark := _remark(cut)) else ""
    sign = GLYPHS[style] if style else "–"
    return f"{sign} cut {cut.number}: {words}, {cut.pattern}{records}{reason}"
