"""Options that several commands take, and what their values mean."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fstui.model.errors import Refused
from fstui.model.judgement import TOO_SLOW, VERDICTS, Answer, Verdict
from fstui.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from fstui.model.run import Round
    from fstui.runs.session import Session

SLOW = "slow"
FAILED_ON = 3
"""The exit code where ``--fail-on`` holds."""


def format_option(*formats: str) -> Callable[[Any], Any]:
    """``--format``; the first is the default."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to print it.",
    )


def output_option() -> Callable[[Any], Any]:
    """A file for what is printed."""
    return click.option("--output", type=Path, metavar="FILE", help="Write there instead of to stdout.")


def report_options(*more: str) -> Callable[[Any], Any]:
    """``--format`` of any report, and ``--output``; ``more`` are formats of this command alone."""
    from fstui.report import formats  # noqa: PLC0415  the app starts without them

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        offered: Callable[..., Any] = format_option(*formats.report_names(), *more)(output_option()(command))
        return offered

    return decorated


def fail_on_option() -> Callable[[Any], Any]:
    """Verdicts, and the second answer; given twice, either of them."""
    return click.option(
        "--fail-on",
        type=click.Choice([*VERDICTS, SLOW]),
        multiple=True,
        help="Exit 3 when the verdict is this one or worse; 'slow': when it is slow or stalls. Both may be given.",
    )


def fails(verdict: Verdict | None, speed: Answer | None, asked: Collection[str]) -> bool:
    """It came to one of these, or to something worse."""
    if SLOW in asked and speed in TOO_SLOW:
        return True
    return verdict is not None and any(each in asked for each in VERDICTS[VERDICTS.index(verdict) :])


def rate_limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Both, in the order of the help."""
    idle = click.option("--idle", is_flag=True, help="Write in the idle I/O class and at the lowest CPU priority.")
    rate = click.option("--max-rate", metavar="BYTES/S", help="Write no faster than this, as in --max-rate 1M.")
    return rate(idle(command))


def rate_limit_of(max_rate: str | None, idle: bool) -> RateLimit:
    """Raises Refused where the rate is none."""
    return RateLimit(bytes_per_s=None if max_rate is None else _bytes_per_s(max_rate), idle=idle)


def _bytes_per_s(text: str) -> int:
    from fstui.runs import scenarios  # noqa: PLC0415  only for this option

    words = text.strip().removesuffix("/s")
    try:
        found = scenarios.size_of(words)
        rate = int(words) if found is None else found
    except (ValueError, OverflowError):
        rate = 0
    if not 0 < rate < 1 << 50:
        raise Refused(f"--max-rate {text}: write bytes a second, as in --max-rate 1M")
    return rate


def pairs(settings: Sequence[str]) -> dict[str, str]:
    """By key. Raises Refused."""
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Refused(f"--set {setting}: write KEY=VALUE, as in --set seconds=2")
        found[key] = value
    return found


def _here_or_before_the_command(context: click.Context, param: click.Parameter, value: object) -> object:
    return value or context.find_root().params.get(str(param.name), value)


trust_option: Callable[[Any], Any] = click.option(
    "--trust-dir",
    is_flag=True,
    callback=_here_or_before_the_command,
    help="As root, write also where another user may rename what is written.",
)
simulate_option: Callable[[Any], Any] = click.option(
    "--simulate",
    metavar="DISK",
    callback=_here_or_before_the_command,
    help="On a simulated disk: a name of 'fstui simulate', or a file; DISK,KEY=VALUE changes it.",
)


def session_on(disk: str, round_: Round | None = None) -> tuple[Session, str]:
    """The session on it, and where its filesystem seems to be mounted; with another chance in each round.

    Raises Refused.
    """
    from fstui.runs import simulation  # noqa: PLC0415

    made = simulation.named(disk)
    if round_ is not None:
        made = simulation.of_round(made, round_)
    return simulation.session(made), simulation.mount_point(made)


yes_option = click.option(
    "--yes", is_flag=True, help="Without a question: where a device is busy, or little room or memory left."
)


def agreed(what: str, question: str, *, yes: bool) -> bool:
    """It was said before, by ``--yes``; or it is said now, on a terminal."""
    if yes:
        return True
    asked = sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
    return asked and click.confirm(f"{what}. {question}", err=True)
