"""Which products the storage is fast enough for: the table of a run, and the report of ``fstui fit``."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fstui.judge.facts import Case
from fstui.judge.fitness import FOR_THE_VERDICT, SHORT_OF_CPU, products
from fstui.judge.speed.stalls import MEASURE_WITH_CPU
from fstui.model.errors import Refused, hint_for
from fstui.model.judgement import NOT_TRUSTED, Fit, Fitness
from fstui.model.quantities import counted, seconds
from fstui.model.run import Run
from fstui.report.check import Check, CheckRow, limit_sentence, next_step
from fstui.report.documents import FitDocument, FitOfDirectory
from fstui.report.findings import FREE_OF_DEFECTS
from fstui.report.sections import Cell, Report, Section, Value
from fstui.report.text import GLYPHS, verdict_line

ANSWERS: dict[Fitness, str] = {
    "fits": "✓ fits", "light-load": "~ light load", "within-limit": "✓ within limit", "does-not-fit": "✗ too slow",
    "not-known": "? not known",
}  # fmt: skip
_TOO_SLOW_NOW = "✗ too slow now"
"""The answer if there are reasons other than the disk, and they can go away."""
_HEADER = ("PRODUCT", "", "MEASURED", "REQUIRED")
_FAST_ENOUGH: tuple[Fitness, ...] = ("fits", "light-load")
"""The answers of a storage that is fast enough, best first."""
_NOT_TOO_SLOW: tuple[Fitness, ...] = (*_FAST_ENOUGH, "within-limit")
"""The answers that do not rule the product out."""
_MAX_NAMES = 2
_IF_REAL = ", only if the syncs are real"
_WITHIN_LIMIT = "within limit: the product only limits the time of one sync; it requires no rate."
_RECORDS = (
    "directory", "run", "verdict", "confidence", "product", "answer", "rate_per_s", "p99_ns", "longest_ns", "measured",
    "required", "reasons", "step", "source", "trouble",
)  # fmt: skip
_ONE_CLIENT = "Commits per second of one client, without group commit (these products publish no threshold)"


def find_products(names: Iterable[str]) -> tuple[str, ...]:
    """Return the products whose names start with a name of ``names``. Raises Refused if none publishes a threshold."""
    product_names = []
    for name in names:
        matches = [product for product in products() if product.name.lower().startswith(name.lower())]
        with_threshold = [product.name for product in matches if product.has_threshold]
        if not with_threshold:
            choices = [product.name for product in products() if product.has_threshold]
            problem = f"no product is called '{name}'.{hint_for(name, choices)}"
            if matches:
                problem = f"{matches[0].name} publishes no threshold, so 'fstui fit DIR' shows only the measured rate."
            raise Refused(f"{problem} Choose one of: {'; '.join(choices)}.")
        product_names += with_threshold
    return tuple(dict.fromkeys(product_names))


def settings(product_names: Sequence[str]) -> dict[str, str]:
    """Return the settings of the scenario for these products, by default for all of them."""
    if not product_names:
        return {}
    needed = [product.operation for product in products() if product.name in product_names]
    return {"operation": ",".join(dict.fromkeys([*needed, *FOR_THE_VERDICT]))}


def sections(run: Run, product_names: Sequence[str] = ()) -> tuple[Section, Section]:
    """Return a table of these products (by default all), and a list of those that publish no threshold."""
    fits = _fits(run, product_names)
    trusted = run.verdict not in NOT_TRUSTED
    answered = (fit for fit in fits if fit.answer in ANSWERS)
    rows = tuple((fit.product, _answer(fit, trusted=trusted), fit.measured, fit.required) for fit in answered)
    without_threshold: dict[str, list[str]] = {}
    for fit in fits:
        if fit.answer == "no-threshold":
            without_threshold.setdefault(fit.measured, []).append(fit.product)
    points = tuple((measured, ("; ".join(names),)) for measured, names in without_threshold.items())
    is_starved = any(fit.measured.endswith(SHORT_OF_CPU) for fit in fits)
    lines = [_WITHIN_LIMIT] if any(fit.answer == "within-limit" for fit in fits) else []
    lines += [MEASURE_WITH_CPU] if is_starved else []
    if reasons := _distinct(fit.reasons for fit in fits):
        lines.append(f"Too slow now: {'; '.join(reasons)}. So the disk may not be the cause.")
    compared = Section("Compared with what products require", _HEADER, rows, tuple(lines))
    return compared, Section(_ONE_CLIENT + _IF_REAL * (not trusted), points=points)


def headline(run: Run) -> str:
    """Return ``too slow for etcd · fits Proxmox VE +3``; empty if no product was measured."""
    too_slow = [fit for fit in run.fit if fit.answer == "does-not-fit"]
    enough = [fit.product for answer in _FAST_ENOUGH for fit in run.fit if fit.answer == answer]
    within = [fit.product for fit in run.fit if fit.answer == "within-limit"]
    now = " now" if all(fit.reasons for fit in too_slow) else ""
    parts = [f"too slow{now} for {', '.join(fit.product for fit in too_slow)}"] if too_slow else []
    parts += [f"fits {_first_names(enough)}"] if enough else []
    parts += [f"within the limits of {_first_names(within)}"] if within else []
    return " · ".join(parts)


def _first_names(names: Sequence[str]) -> str:
    more = f" +{len(names) - _MAX_NAMES}" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _fits(run: Run | None, product_names: Sequence[str]) -> tuple[Fit, ...]:
    return tuple(fit for fit in (run.fit if run else ()) if not product_names or fit.product in product_names)


def fit_report(check: Check, product_names: Sequence[str] = ()) -> Report:
    row_sections = tuple(section for row in check.rows for section in _row_sections(row, product_names))
    document = FitDocument(
        elapsed_s=check.elapsed_s,
        directories=tuple(
            FitOfDirectory(
                directory=row.name,
                run=row.run.id if row.run else None,
                verdict=row.run.verdict if row.run else None,
                trouble=row.trouble,
                fit=_fits(row.run, product_names),
            )
            for row in check.rows
        ),
        left_out=check.unchecked,
    )
    runs = tuple(row.run for row in check.rows if row.run)
    values = (_RECORDS, *(values for row in check.rows for values in _records(row, product_names)))
    head = f"{counted(len(runs), 'filesystem')} measured in {seconds(check.elapsed_s)}"
    return Report(head, (*row_sections, Section("Not measured", lines=check.left_out_lines)), document, values, runs)


def _records(row: CheckRow, product_names: Sequence[str]) -> Iterator[tuple[Value, ...]]:
    """Yield a record for each product. Without an answer, yield one with the verdict and the reason."""
    run = row.run
    if run is None:
        yield row.name, *[None] * (len(_RECORDS) - 2), row.trouble
        return
    subject = (row.name, run.id, run.verdict, run.confidence)
    fits = _fits(run, product_names)
    for fit in fits:
        per_s = None if fit.rate_per_s is None else round(fit.rate_per_s, 1)
        numbers, reasons = (per_s, fit.p99_ns, fit.longest_ns), "; ".join(fit.reasons)
        more = (fit.measured, fit.required, reasons, fit.step, fit.source, limit_sentence(run))
        yield *subject, fit.product, fit.answer, *numbers, *more
    if not fits:
        yield *subject, *[None] * (len(_RECORDS) - len(subject) - 1), _why_unanswered(run)


def _row_sections(row: CheckRow, product_names: Sequence[str]) -> Iterator[Section]:
    if row.run is None:
        yield Section(f"? {row.name}", lines=(f"not measured: {row.trouble}",))
        return
    run = row.run
    limit = filter(None, [limit_sentence(run)])
    simulated = (f"SIMULATED: {run.simulated}.",) if run.simulated else ()
    is_doubtful = run.verdict not in FREE_OF_DEFECTS
    reason = (run.sentence,) if is_doubtful else ()
    advice = (("next", (next_step(run),)),) if is_doubtful else ()
    head = (verdict_line(run.verdict, run.confidence), *reason, *limit, *simulated)
    yield Section(f"{GLYPHS[run.verdict]} {row.name}", lines=head, points=advice)
    table, without_threshold = sections(run, product_names)
    if table.rows:
        fits = _fits(run, product_names)
        points = (("because", _distinct(fit.evidence for fit in fits)), ("next", _distinct(fit.next for fit in fits)))
        yield table._replace(title="", points=points)
    else:
        yield Section(lines=(_why_unanswered(run),))
    yield without_threshold


def _distinct(texts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(texts)))


def _why_unanswered(run: Run) -> str:
    if Case(run).configuration.breaks_sync:
        return "Not answered: the syncs make nothing durable, so their time does not show the disk's speed."
    return "Not answered: no operation of these products was measured at full speed for long enough."


def is_unmet(run: Run, product_names: Sequence[str]) -> bool:
    """Return whether the storage is too slow for one of the products, or its acknowledgements are not trusted."""
    return (bool(product_names) and run.verdict in NOT_TRUSTED) or any(
        fit.product in product_names and fit.answer == "does-not-fit" for fit in run.fit
    )


def is_unanswered(run: Run, product_names: Sequence[str]) -> bool:
    answered = {fit.product for fit in run.fit if fit.answer != "not-known"}
    return not answered.issuperset(product_names)


def _answer(fit: Fit, *, trusted: bool) -> Cell | str:
    if not trusted and fit.answer in _NOT_TOO_SLOW:
        return "? fits only if the syncs are real"
    style = {"fits": "normal", "does-not-fit": "slow"}.get(fit.answer, "")
    return Cell(_TOO_SLOW_NOW if fit.reasons else ANSWERS[fit.answer], style)
