"""Options that several commands have, and functions that parse their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fstui.cli.output import is_terminal
from fstui.model.errors import Refused
from fstui.model.judgement import TOO_SLOW, VERDICTS, Answer, Verdict
from fstui.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from fstui.model.run import Round
    from fstui.runs.session import Session

SLOW = "slow"


_SPECIAL_FORMATS = {
    "brief": "the result in a few lines",
    "prometheus": "metrics for the textfile collector of the node exporter",
    "seconds": "one CSV row for each second of a database step",
    "events": "JSON lines, while the command runs",
}
"""The formats whose names do not say enough, and what each prints."""


class Duration(click.FloatRange):
    """Seconds, as a number or as ``3s``, ``10m`` or ``2h``."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fstui.model.forms import seconds_of  # noqa: PLC0415  only for these options

        with suppress(ValueError):
            value = seconds_of(value) if isinstance(value, str) else value
        return super().convert(value, param, ctx)


def combine(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine several option decorators into one decorator."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def settings_option(help_: str, **more: Any) -> Callable[[Any], Any]:
    return click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help=help_, **more)


def format_option(*formats: str) -> Callable[[Any], Any]:
    """Return ``--format``; the first format is the default."""
    described = [f"{name}: {_SPECIAL_FORMATS[name]}." for name in formats if name in _SPECIAL_FORMATS]
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help=" ".join(["Output format.", *described]),
    )


def output_option() -> Callable[[Any], Any]:
    """Return ``--output``. The file is checked when the arguments are parsed, before any work is done."""
    return click.option(
        "--output",
        type=Path,
        metavar="FILE",
        callback=_check_output,
        help="Write the result to FILE instead of stdout, and replace FILE if it exists.",
    )


def _check_output(context: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and not context.resilient_parsing:
        import asyncio  # noqa: PLC0415  deferred, because --help needs neither asyncio nor fstui.runs

        from fstui.runs import files  # noqa: PLC0415

        asyncio.run(files.check_output(path))
    return path


def report_options(*more: str) -> Callable[[Any], Any]:
    """Return ``--format`` with the formats of every report and ``more``, and ``--output``."""
    from fstui.report import formats  # noqa: PLC0415  deferred: the app does not need them to start

    return combine(format_option(*formats.report_names(), *more), output_option())


def fail_on_option(*, with_speed: bool = True) -> Callable[[Any], Any]:
    slow = " With 'slow': if the storage is slow or stalls." if with_speed else ""
    return click.option(
        "--fail-on",
        type=click.Choice([*VERDICTS, SLOW] if with_speed else VERDICTS),
        multiple=True,
        help=f"Exit with status 3 if the verdict is this one or worse.{slow} May be repeated.",
    )


def is_failure(verdict: Verdict | None, speed: Answer | None, fail_on: Collection[str]) -> bool:
    """Return whether the verdict is in ``fail_on`` or worse than one in it, or ``slow`` is in it and the storage is."""
    if SLOW in fail_on and speed in TOO_SLOW:
        return True
    return verdict is not None and any(worse in fail_on for worse in VERDICTS[VERDICTS.index(verdict) :])


rate_limit_options = combine(
    click.option("--max-rate", metavar="BYTES/S", help="Write at most this many bytes per second, for example 1M."),
    click.option("--idle", is_flag=True, help="Write in the idle I/O class and at the lowest CPU priority."),
)


def rate_limit_of(max_rate: str | None, idle: bool) -> RateLimit:
    """Return the limit of --max-rate and --idle. Raises Refused if the rate is not a positive number of bytes."""
    return RateLimit(bytes_per_s=None if max_rate is None else _bytes_per_s(max_rate), idle=idle)


def _bytes_per_s(text: str) -> int:
    from fstui.model.forms import size_of  # noqa: PLC0415  only for this option

    amount = text.strip().removesuffix("/s")
    try:
        size = size_of(amount)
        rate = int(amount) if size is None else size
    except (ValueError, OverflowError):
        rate = 0
    if not 0 < rate < 1 << 50:
        raise Refused(f"--max-rate {text} is not a number of bytes per second. Example: --max-rate 1M")
    return rate


def parse_settings(settings: Sequence[str]) -> dict[str, str]:
    """Return the values by key. Raises Refused if a setting is not KEY=VALUE."""
    values = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Refused(f"--set {setting} is not KEY=VALUE. Example: --set seconds=2")
        values[key] = value
    return values


def _own_or_global_value(context: click.Context, param: click.Parameter, value: object) -> object:
    # not "value or": an empty DISK from an unset shell variable must be refused, not measure the real storage
    return context.find_root().params.get(str(param.name), value) if value in (None, False) else value


trust_option: Callable[[Any], Any] = click.option(
    "--trust-dir",
    is_flag=True,
    callback=_own_or_global_value,
    help="As root, write even to a directory that another user owns or could rename. By default, fstui refuses, "
    "because that user could replace what root writes there.",
)
simulate_option: Callable[[Any], Any] = click.option(
    "--simulate",
    metavar="DISK",
    callback=_own_or_global_value,
    help="Use a simulated disk: a name from 'fstui lessons --disks', or a TOML file that describes a disk. "
    "Append ,KEY=VALUE to change a parameter, for example hdd-7200,disk.platter.rpm=15000.",
)
trace_option = click.option(
    "--trace",
    type=click.Choice(("auto", "off")),
    default="auto",
    help="auto: as root, trace the kernel's block layer, to separate fstui's flushes from those of other processes. "
    "off: do not trace.",
)
ssh_option = click.option(
    "--ssh", default="ssh", show_default=True, help="The ssh command. You can add options of ssh."
)
yes_option = click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation if a device is busy, or if space or memory is low."
)


def open_session(simulate: str | None, round_: Round | None = None, **options: Any) -> Session:
    """Return a session on a simulated disk, which has another seed in each round; without one, a session on this host
    with the options of ``Session.local``. Raises Refused."""
    if simulate is None:
        from fstui.runs.session import Session  # noqa: PLC0415

        return Session.local(**options)
    from fstui.runs import simulation  # noqa: PLC0415

    disk = simulation.find(simulate)
    return simulation.session(simulation.seeded_for_round(disk, round_) if round_ else disk)


def confirm(what: str, question: str, *, yes: bool) -> bool:
    """Return whether the user agrees: by ``--yes``, or by an answer on the terminal."""
    if yes:
        return True
    terminal = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    return terminal and click.confirm(f"{what}. {question}", err=True)
