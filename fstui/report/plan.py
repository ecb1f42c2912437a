"""What a run will do, as plain text, before it does it."""

from __future__ import annotations

from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.plan import Plan, PlannedStep
from fstui.model.quantities import seconds, short_size
from fstui.model.rate_limit import RateLimit
from fstui.model.storage import Target
from fstui.report import figures
from fstui.report.characters import page
from fstui.report.text import WIDTH, hanging, wrap

_HEEDED = "the class counts where a disk's scheduler heeds it: BFQ, mq-deadline since Linux 5.14 (queue/scheduler)"


def render(planned: Plan, target: Target) -> str:
    """The question, then each step."""
    listed = hanging([(f"{at:>2}", *_planned(step)) for at, step in enumerate(planned.steps, 1)])
    return page([*head(planned, target), "", *listed, *_options(planned)])


def head(planned: Plan, target: Target) -> list[str]:
    """The question, where it writes, how long, how much, and the command that does it again."""
    lasts = "until it is stopped" if planned.seconds is None else f"about {seconds(planned.seconds)}"
    declared = {node.medium.because for node in target.lowest if node.medium and node.medium.declared}
    place = "beside" if planned.server else "into"
    return [
        f"{planned.scenario.name}: {planned.question}",
        *_server(planned),
        f"  {place:<8}  {target.path} ({figures.stack_line(target)})",
        *(f"  which is  {words}" for words in sorted(declared)),
        f"  takes     {lasts}",
        f"  writes    {figures.writes_at_most(planned)}, at most {short_size(planned.room_bytes)} of it there at a "
        "time; all is removed at the end",
        *(f"  {line}" for line in _rate_limit(planned.rate_limit)),
        f"  again     {planned.command}",
    ]


def _rate_limit(rate_limit: RateLimit) -> list[str]:
    """How it holds itself back, and what that is worth."""
    held = []
    if rate_limit.bytes_per_s:
        held.append(f"at most {short_size(rate_limit.bytes_per_s)}/s of its own; what the filesystem adds comes on top")
    if rate_limit.idle:
        held.append(f"idle I/O class and nice 19; {_HEEDED}")
    if held:
        held.append("how fast the storage is will not be judged")
    return hanging([("gently" if at == 0 else "", words) for at, words in enumerate(held)], WIDTH - 2, gap=4)


def _server(planned: Plan) -> list[str]:
    """What an existing one is asked for."""
    if planned.server is None:
        return []
    asked = [step.settings for step in planned.steps if isinstance(step.settings, Sysbench) and not step.skip]
    return [
        f"  server    {planned.server}",
        *(f"            {line}" for words in planned.server_says for line in wrap(words, WIDTH - 12)),
        f"            a database of its own there, ≤ {short_size(planned.server_bytes)} written, at most "
        f"{short_size(planned.server_room_bytes)} at a time; dropped at the end",
        f"            {', then '.join(dict.fromkeys(settings.tables_in_words for settings in asked))}; "
        "its replicas, where it has any, get all of it",
    ]


def _options(planned: Plan) -> list[str]:
    """What throwaway servers are started with: a scenario file is as good as a program."""
    lines: dict[str, list[int]] = {}
    for at, step in enumerate(planned.steps, 1):
        if not step.skip and step.settings.server_options:
            lines.setdefault(", ".join(step.settings.server_options), []).append(at)
    told = [(f"step {', '.join(map(str, steps))}", options) for options, steps in lines.items()]
    return ["", "servers of its own are started with", *(f"  {line}" for line in hanging(told))] if told else []


def _planned(step: PlannedStep) -> tuple[str, str]:
    return step.name, f"skipped: {step.skip}" if step.skip else step.settings.probe
