"""``fstui fleet run|check|watch|list|show|compare``"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

from fstui.cli.delivery import deliver
from fstui.cli.execution import FAILED
from fstui.cli.options import FAILED_ON, fail_on_option, fails, format_option, output_option, pairs, trust_option
from fstui.cli.output import put, say, width
from fstui.fleet import comparison, gathered, report
from fstui.fleet.asked import Asked
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import WITHOUT, nodes_of
from fstui.model.errors import Refused
from fstui.report.formats import render_report, report_names

_LEAST_S = 120.0
_PYZ = "fstui.pyz"
_REMOVED = {
    "gateway": "ProxyJump in ~/.ssh/config",
    "topology": "ProxyJump in ~/.ssh/config",
    "at_once": "--fanout, the number of hosts at a time",
}
"""Options that were removed, and what to use instead."""


@click.group("fleet")
def command() -> None:
    """Ask many boxes at once, by ssh, and say which are not as the others."""


_Command = Callable[..., Any]


def _with(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """All of them, in the order of the help."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


_how_to_reach = _with(
    click.option("--nodes", required=True, help="Which boxes: 'db[1-40],@storage', as clush has them."),
    click.option("--into", type=Path, metavar="DIR", help="Where the documents go; a new directory by default."),
    click.option("--pyz", type=Path, metavar="FILE", help=f"What is carried there; else {_PYZ} here, or in dist."),
    click.option("--installed", metavar="COMMAND", help="fstui is there already, by this command."),
    click.option("--place", metavar="DIR", help="Where the file goes there."),
    click.option("--remove", is_flag=True, help="Remove it there when all is done."),
    click.option("--become", type=click.Choice(("sudo", "doas")), help="As root, by that, without a password."),
    click.option("--ssh", default="ssh", show_default=True, help="The program, with options of your own."),
    *(click.option(f"--{name.replace('_', '-')}", hidden=True) for name in _REMOVED),
    click.option("--fanout", type=click.IntRange(1, 1024), default=64, show_default=True, help="Boxes at a time."),
    click.option("--timeout", type=click.FloatRange(1), help="Seconds that one box may take."),
    format_option(*report_names()),
    output_option(),
)
_what_is_written = _with(
    click.option("--force", is_flag=True, help="Write where a device is busy, too."),
    trust_option,
    fail_on_option(),
)


@command.command("run")
@click.argument("scenario")
@click.argument("directory", metavar="DIR")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the scenario.")
@_what_is_written
@_how_to_reach
def run(scenario: str, directory: str, settings: Sequence[str], **how: Any) -> int:
    """Run SCENARIO in DIR on each of them, and judge the storage under it."""
    if not directory:
        raise Refused("DIR is empty: name a directory that is on every box")
    pairs(settings)
    words = [scenario, directory, *(word for one in settings for word in ("--set", one)), "--format", "json"]
    return _ask("run", [*words, *_allowed(how)], how)


@command.command("check")
@click.argument("directories", metavar="[DIR]…", nargs=-1)
@_what_is_written
@_how_to_reach
def check(directories: Sequence[str], **how: Any) -> int:
    """Check every writable filesystem of each of them, or those that hold the DIRs."""
    words = [*directories, "--format", "json", *_allowed(how)]
    return _ask("check", words, how)


@command.command("watch")
@click.option("--mount", metavar="DIR", help="The filesystem of that directory alone.")
@click.option("--seconds", type=click.FloatRange(min=1, max=3600), default=10.0, show_default=True, help="So long.")
@_how_to_reach
def watch(mount: str | None, seconds: float, **how: Any) -> int:
    """Say of each of them who waits for which file. Writes nothing."""
    words = ["--seconds", f"{seconds:g}", *(["--mount", mount] if mount else []), "--format", "json"]
    return _ask("watch", words, {**how, "timeout": how["timeout"] or seconds + _LEAST_S})


@command.command("list")
@_how_to_reach
def list_(**how: Any) -> int:
    """List what stands on each of them, and what is wrong already. Writes nothing."""
    return _ask("list", ["--format", "json"], how)


@command.command("show")
@click.argument("directory", metavar="DIR", type=Path)
@format_option(*report_names())
@fail_on_option()
def show(directory: Path, format_: str, fail_on: Sequence[str]) -> int:
    """Print a gathered directory again."""
    fleet = gathered.read(directory)
    put(render_report(format_, report.report_of(fleet), width()))
    return _exit_code(fleet, fail_on)


@command.command("compare")
@click.argument("before", metavar="DIR1", type=Path)
@click.argument("after", metavar="DIR2", type=Path)
@format_option(*report_names())
def compare(before: Path, after: Path, format_: str) -> int:
    """Hold the same boxes against themselves, before and after a change. Exit 3 where a verdict became worse."""
    one, other = gathered.read(before), gathered.read(after)
    put(render_report(format_, comparison.report_of(one, other), width()))
    return FAILED_ON if any(change.worse for change in comparison.changes(one, other)) else 0


@command.command("export", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
def export(words: Sequence[str]) -> int:
    """Point to what replaced it."""
    raise Refused("fstui fleet export was removed: use fstui fleet show DIR --format json or csv instead")


def _allowed(how: dict[str, Any]) -> list[str]:
    return [*(["--yes"] if how["force"] else []), *(["--trust-dir"] if how["trust_dir"] else [])]


def _ask(command_: str, arguments: Sequence[str], how: dict[str, Any]) -> int:
    for name, instead in _REMOVED.items():
        if how[name] is not None:
            raise Refused(f"--{name.replace('_', '-')} was removed: use {instead}")
    try:
        from fstui.fleet.campaign import Campaign  # noqa: PLC0415  only where hosts are reached
    except ImportError:
        raise Refused(WITHOUT) from None
    nodes = nodes_of(how["nodes"])
    asked = Asked(
        command=command_,
        arguments=tuple(arguments),
        become=how["become"] or "",
        installed=how["installed"] or "",
        place=how["place"] or "",
        ssh=how["ssh"],
        remove=how["remove"],
        fanout=how["fanout"],
        timeout_s=how["timeout"] or _LEAST_S,
    )
    file = None if asked.installed else _carried(how["pyz"])
    place = gathered.make(how["into"])
    campaign = Campaign(asked, nodes, place, file, lambda node, words: say(f"{node}: {words}"))
    told = _Told(campaign)
    fleet = campaign.go()
    shown = width() if how["output"] is None else None
    document = render_report(how["format_"], report.report_of(fleet), shown)
    asyncio.run(deliver(how["output"], document))
    say(f"documents in {place}: fstui fleet show {place}")
    return told.exit_code or _exit_code(fleet, how.get("fail_on", ()))


def _carried(named: Path | None) -> Path:
    """The file named, or the one that lies here, or was made here. Raises Refused."""
    made = Path("dist") / _PYZ
    found = named or (made if made.is_file() and not Path(_PYZ).is_file() else Path(_PYZ))
    if not found.is_file():
        raise Refused(
            f"{found} is not there: it is the file that is carried to each box ('python -m tests.release' makes it "
            "in a checkout). --pyz FILE names it; --installed fstui where fstui is on every box already"
        )
    return found


class _Told:
    """The first signal ends all in an orderly way; the same again, at once."""

    def __init__(self, campaign: Any) -> None:
        self.exit_code = 0
        self._campaign = campaign
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._arrived)

    def _arrived(self, number: int, _: object) -> None:
        if self.exit_code:
            sys.exit(128 + number)  # ssh ends with us, and each box notices that
        self.exit_code = 128 + number
        self._campaign.fanout.stop()
        say("fstui: ending: every box is told to stop and to clean up; a second signal does not wait for them")


def _exit_code(fleet: Fleet, fail_on: Sequence[str]) -> int:
    if any(fails(box.verdict, box.speed, fail_on) for box in fleet.boxes):
        return FAILED_ON
    return FAILED if fleet.about.troubles or fleet.about.remarks else 0
