"""A run in six to nine lines, for a chat: verdict, speed, reason, next step, and the command that shows all."""

from collections.abc import Iterator

from fstui.model.quantities import seconds
from fstui.model.run import Run
from fstui.report import figures, replicas
from fstui.report.characters import join_lines
from fstui.report.findings import deciding_step, leading_finding, next_steps
from fstui.report.run import verdict_title
from fstui.report.sections import Report
from fstui.report.stack import stack_line
from fstui.report.text import moment, speed_line

EXTENSION = ""


def render(report: Report, width: int | None = None) -> str:
    return "\n".join(join_lines(_lines(run)) for run in report.runs)


def _lines(run: Run) -> Iterator[str]:
    simulated = f" · SIMULATED: {run.simulated}" if run.simulated else ""
    if replica_answer := replicas.headline(run):
        yield f"{replica_answer.title}: {replica_answer.lines[0]}"
    yield f"{verdict_title(run)} · {run.scenario_name or 'no scenario'} on {run.target_path}{simulated}"
    if speed := speed_line(run.speed):
        yield speed
    if run.sentence:
        yield run.sentence
    finding = leading_finding(run)
    if finding and finding.evidence:
        yield f"because  {finding.evidence[0]}"
    if steps := next_steps(run):
        yield f"next     {steps[0]}"
    if step := deciding_step(run):
        yield figures.step_line(step, figures.Counts(run))
    stack = stack_line(run.target)
    host = f"{run.host.hostname}, Linux {run.host.kernel}" if run.host.hostname else ""
    yield " · ".join(filter(None, [host, stack]))
    more = "not saved" if run.simulated else f"fstui show {run.id}"
    yield " · ".join(filter(None, [moment(run.started_at), seconds(run.elapsed_s), run.status_text, more]))
