"""The report of a power-cut campaign: the verdict with its bound, and every cut."""

from collections import Counter
from collections.abc import Iterable
from math import ceil, floor, log10

from fstui.measure.kinds.powercut import CUT_LIMITS, CUT_NAMES, CutKind
from fstui.model.host import Host
from fstui.model.judgement import Verdict
from fstui.model.quantities import count, counted, percent, seconds
from fstui.powercut.bounds import CONFIDENCE, METHOD, interval
from fstui.powercut.campaign import CampaignCut, CampaignStore, Outcome
from fstui.powercut.records import LOSS_KINDS
from fstui.report.documents import Bound, CampaignDocument, CampaignTotals
from fstui.report.sections import Cell, Report, Row, Section, Value, number_cell
from fstui.report.stack import stack_line
from fstui.report.text import GLYPHS, verdict_label

_OUTCOMES: dict[Outcome, tuple[str, Verdict | None]] = {
    "": ("not finished", None),
    "intact": ("kept", "kept"),
    "lost": ("LOST", "lost"),
    "no-cut": ("no cut", "cannot-tell"),
    "refused": ("not possible", None),
}
_COUNTS = ("acknowledged", "checked", "present", *LOSS_KINDS, "in_flight")
_SHOWN_COUNTS = ("acknowledged", "checked", *LOSS_KINDS)
_CSV = (
    "cut", "started_at", "pattern", "outcome", "wait_s", "silent_after_s", "back_after_s", "rebooted", "mounted",
    *_COUNTS, "reason",
)  # fmt: skip
_CUTS = ("CUT", "STARTED", "PATTERN", "OUTCOME", *map(str.upper, _SHOWN_COUNTS), "CUT AFTER", "BACK AFTER", "")


def document(store: CampaignStore, stop_reason: str) -> CampaignDocument:
    """Return the result, without the commands of the user: they may contain passwords."""
    settings, cuts = store.settings, store.cuts
    header = next(filter(None, map(store.header, cuts)), None)
    conclusive = [cut for cut in cuts if cut.is_conclusive]
    outcomes = Counter(cut.outcome for cut in cuts)
    low, high = interval(outcomes["lost"], len(conclusive))
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
        sentence=sentence(settings.kind, outcomes["lost"], len(conclusive)),
        stopped=stop_reason,
        running=store.is_running,
        bound=Bound(method=METHOD, confidence=CONFIDENCE, low=low, high=high),
        totals=CampaignTotals(
            cuts=len(conclusive),
            intact=outcomes["intact"],
            lost=outcomes["lost"],
            not_mounted=sum(cut.figures is not None and cut.figures.unmountable for cut in conclusive),
            no_cut=outcomes["no-cut"],
            **{kind: sum(getattr(cut.figures, kind) for cut in conclusive if cut.figures) for kind in _COUNTS},
        ),
        cuts=tuple(cuts),
    )


def _verdict(kind: CutKind, outcomes: Counter[Outcome]) -> Verdict:
    if outcomes["lost"]:
        return "lost"
    return "cannot-tell" if not outcomes["intact"] else "kept" if kind == "power" else "plausible"


def sentence(kind: CutKind, losses: int, cuts: int) -> str:
    """Return ``412 cuts, 0 losses; with 95 % confidence fewer than 0.73 % of cuts lose data (Clopper-Pearson)``."""
    name = CUT_NAMES[kind]
    if not cuts:
        return f"no {name} happened, so nothing is proven"
    loss_words = "1 loss" if losses == 1 else f"{count(losses)} losses"
    share = f"with {percent(CONFIDENCE)} confidence {_share(losses, cuts)} of {name}s lose data ({METHOD})"
    return f"{counted(cuts, name)}, {loss_words}; {share}"


def _share(losses: int, cuts: int) -> str:
    low, high = interval(losses, cuts)
    if not losses:
        return f"fewer than {bound(high, up=True)}"
    if losses == cuts:
        return f"more than {bound(low, up=False)}"
    return f"{bound(low, up=False)} to {bound(high, up=True)}"


def verdict_so_far(store: CampaignStore) -> str:
    """Return the verdict so far in a few words: ``✓ 61 of 100 cuts, 0 lost: fewer than 4.8 % lose data``."""
    kind, cuts = store.settings.kind, len(store.conclusive_cuts)
    outcomes = Counter(cut.outcome for cut in store.cuts)
    words = f"{GLYPHS[_verdict(kind, outcomes)]} {count(cuts)} of {counted(store.settings.cuts, CUT_NAMES[kind])}"
    return f"{words}, {count(outcomes['lost'])} lost: {_share(outcomes['lost'], cuts)} lose data" if cuts else words


def bound(share: float, *, up: bool) -> str:
    """Return a bound with two significant digits, rounded away from the estimate: ``0.73 %``."""
    digits = max(0, 1 - floor(log10(share * 100))) if share > 0 else 0
    scale = 10**digits
    return f"{(ceil if up else floor)(share * 100 * scale) / scale:.{digits}f}\xa0%"


def campaign_report(campaign: CampaignDocument) -> Report:
    return Report(
        f"power-cut campaign on {campaign.name}",
        (
            Section(
                f"{GLYPHS[campaign.verdict]} {verdict_label(campaign.verdict)}  {campaign.sentence}",
                lines=tuple(filter(None, _lines(campaign))),
                style=campaign.verdict,
            ),
            _by_pattern(campaign),
            _cuts("Cuts that lost data or did not happen", campaign, hidden="intact"),
            _cuts("Every cut", campaign)._replace(only_in_documents=True),
        ),
        campaign,
        (_CSV, *map(_record, campaign.cuts)),
    )


def _lines(campaign: CampaignDocument) -> Iterable[str]:
    totals, name = campaign.totals, CUT_NAMES[campaign.cut]
    yield CUT_LIMITS[campaign.cut]
    remaining_cuts = campaign.cuts_wanted - totals.cuts
    if remaining_cuts > 0 or campaign.stopped:
        state = "is running" if campaign.running else f"stopped: {campaign.stopped or 'its process was killed'}"
        yield f"{count(remaining_cuts)} of {counted(campaign.cuts_wanted, name)} are left. The campaign {state}"
    yield (
        f"{campaign.host.hostname}, Linux {campaign.host.kernel}: {campaign.directory}, {stack_line(campaign.target)}"
        if campaign.target
        else ""
    )
    if totals.cuts:
        yield f"{count(totals.acknowledged)} records were acknowledged."
    if totals.checked:
        kinds = ", ".join(f"{count(getattr(totals, kind))} {kind}" for kind in ("present", *LOSS_KINDS))
        yield f"{count(totals.checked)} of them had not been replaced by newer records, and were compared: {kinds}."
    if times := sum(cut.figures is not None and cut.figures.gone for cut in campaign.cuts if cut.is_conclusive):
        yield f"The directory with all records was gone after {counted(times, name)}."
    if totals.not_mounted:
        yield f"The filesystem did not mount after {counted(totals.not_mounted, name)}."
    if totals.no_cut:
        yield f"In {counted(totals.no_cut, 'attempt')}, no {name} happened: this proves nothing."
    if len({cut.figures.identity for cut in campaign.cuts if cut.is_conclusive and cut.figures}) > 1:
        yield "The layers or the settings of the storage changed during the campaign, so not all cuts are comparable."
    low, high = campaign.wait_s
    yield (
        f"Each {name} came {low:g} to {high:g} s after the first acknowledgement, at random (seed {campaign.seed}). "
        f"According to you (--cut {campaign.cut}), the commands cause a {name}."
    )
    yield f"The interval is exact ({campaign.bound.method}) and holds for {name}s like these." if totals.cuts else ""
    n = totals.cuts
    if n and not totals.lost:
        yield f"After {counted(n, name)} without a loss, it ends at 1 − 0.05^(1/{n}). The rule of three gives 3/{n}."


def _by_pattern(campaign: CampaignDocument) -> Section:
    header = (
        "PATTERN", f"{CUT_NAMES[campaign.cut].upper()}S", "LOSSES", "LOSE DATA", "ACKNOWLEDGED", "CHECKED",
        "RECORDS LOST", "TORN IN FLIGHT",
    )  # fmt: skip
    rows: list[Row] = []
    for pattern in dict.fromkeys(cut.pattern for cut in campaign.cuts if cut.is_conclusive):
        cuts = [cut for cut in campaign.cuts if cut.pattern == pattern and cut.is_conclusive]
        figures = [cut.figures for cut in cuts if cut.figures]
        losses = sum(cut.outcome == "lost" for cut in cuts)
        low, high = interval(losses, len(cuts))
        share = f"{bound(low, up=False)} to {bound(high, up=True)}"
        count_names = ("acknowledged", "checked", "lost", "in_flight")
        totals = (sum(getattr(cut_figures, kind) for cut_figures in figures) for kind in count_names)
        numbers = (number_cell(total, count) for total in totals)
        rows.append((pattern, number_cell(len(cuts), count), number_cell(losses, count), share, *numbers))
    torn_note = (
        "Torn in flight: blocks being written at the cut that were never acknowledged. They are not a loss, but "
        "a program that overwrites such blocks needs a copy or a journal of its own."
    )
    return Section("Patterns", header, tuple(rows), (torn_note,) if campaign.totals.in_flight else ())


def _cuts(title: str, campaign: CampaignDocument, *, hidden: str | None = None) -> Section:
    """Return a table of the cuts. ``hidden``: an outcome whose cuts are left out."""
    return Section(title, _CUTS, tuple(_row(cut, campaign.cut) for cut in campaign.cuts if cut.outcome != hidden))


def _outcome(cut: CampaignCut, kind: CutKind) -> tuple[str, Verdict | None]:
    """Return the outcome in words and its style. An intact cut is "kept" only if it was a power cut."""
    if cut.outcome == "intact" and kind != "power":
        return "no loss", "plausible"
    return _OUTCOMES[cut.outcome]


def _row(cut: CampaignCut, kind: CutKind) -> Row:
    text, style = _outcome(cut, kind)
    figures = cut.figures
    return (
        number_cell(cut.number, count),
        cut.started_at,
        cut.pattern,
        Cell(text, style or ""),
        *(number_cell(getattr(figures, name) if figures else None, count) for name in _SHOWN_COUNTS),
        number_cell(cut.wait_s, seconds),
        number_cell(cut.back_after_s or None, seconds),
        _remark(cut),
    )


def _remark(cut: CampaignCut) -> str:
    if not cut.outcome:
        return f"in step '{cut.step}'"
    if cut.reason or cut.figures is None:
        return cut.reason
    if cut.figures.not_recovered:
        return f"the database server did not start again: {cut.figures.not_recovered}"
    if cut.figures.unmountable:
        return "the filesystem did not mount"
    return "the directory with all records is gone" if cut.figures.gone else ""


def _record(cut: CampaignCut) -> tuple[Value, ...]:
    figures = cut.figures
    return (
        *(cut.number, cut.started_at, cut.pattern, cut.outcome, cut.wait_s, cut.silent_after_s, cut.back_after_s),
        cut.boot_after != cut.boot_before if cut.boot_after else None,
        not figures.unmountable if figures else None,
        *(getattr(figures, kind) if figures else None for kind in _COUNTS),
        _remark(cut),
    )


def line(cut: CampaignCut, kind: CutKind) -> str:
    words, style = _outcome(cut, kind)
    figures = cut.figures
    records_text = f": {count(figures.checked)} records checked, {count(figures.lost)} lost" if figures else ""
    reason = f": {remark}" if (remark := _remark(cut)) else ""
    sign = GLYPHS[style] if style else "–"
    return f"{sign} cut {cut.number}: {words}, {cut.pattern}{records_text}{reason}"
