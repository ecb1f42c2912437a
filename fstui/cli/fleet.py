"""``fstui fleet run``, ``check``, ``watch``, ``list``, ``show`` and ``compare``: many hosts at once."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click

from fstui.cli.delivery import print_report
from fstui.cli.execution import FAILED
from fstui.cli.options import FAILED_ON, Duration, fail_on_option, fails, pairs, report_options, trust_option
from fstui.cli.output import say
from fstui.fleet import report, results
from fstui.fleet.remote import WITHOUT, Request, nodes_of
from fstui.fleet.results import Fleet
from fstui.model.errors import Refused

_LEAST_S = 120.0
_PYZ = "fstui.pyz"
_REMOVED = {
    "gateway": "ProxyJump in ~/.ssh/config",
    "topology": "ProxyJump in ~/.ssh/config",
    "at_once": "--fanout, the number of hosts at a time",
}
"""Options that were removed, and what to use instead."""


@click.group("fleet")
def fleet() -> None:
    """Run fstui on many hosts through ssh, and report the hosts that differ from the others.

    \b
    Examples:
      fstui fleet check --nodes 'db[1-40]'
      fstui fleet run fsync-rate /srv --nodes '@storage' --fanout 8
      fstui fleet show fstui-fleet-20261120-031244
    """


_Command = Callable[..., Any]


def _with(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options in the order of the help."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


_connection_options = _with(
    click.option("--nodes", required=True, help="Hosts as a ClusterShell node set: 'db[1-40],@storage'."),
    click.option(
        "--into", type=Path, metavar="DIR", help="New directory for the documents. Default: named by the time."
    ),
    click.option(
        "--pyz", type=Path, metavar="FILE", help=f"fstui as one file, for the hosts. Default: {_PYZ}, or dist/{_PYZ}."
    ),
    click.option("--installed", metavar="COMMAND", help="Copy no file: COMMAND starts fstui on the hosts."),
    click.option("--place", metavar="DIR", help="Directory on the hosts for that file. Default: ~/.cache/fstui-fleet."),
    click.option("--remove", is_flag=True, help="At the end, remove that file from the hosts."),
    click.option(
        "--become", type=click.Choice(("sudo", "doas")), help="Become root with this command, without a password."
    ),
    click.option("--ssh", default="ssh", show_default=True, help="The ssh command, with options of your own."),
    *(click.option(f"--{name.replace('_', '-')}", hidden=True) for name in _REMOVED),
    click.option("--fanout", type=click.IntRange(1, 1024), default=64, show_default=True, help="Hosts at a time."),
    click.option("--timeout", type=Duration(1), help="Time for each host, as in 90 or 5m. Default: 2m."),
    report_options(),
)
_write_options = _with(
    click.option("--force", is_flag=True, help="Also write to devices that are busy."), trust_option, fail_on_option()
)


@fleet.command("run")
@click.argument("scenario")
@click.argument("directory", metavar="DIR")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the scenario.")
@_write_options
@_connection_options
def run(scenario: str, directory: str, settings: Sequence[str], **how: Any) -> int:
    """Run SCENARIO in DIR on every host.

    The storage below DIR is judged on each host, and compared with that of the other hosts.

    Example: fstui fleet run fsync-rate /srv --nodes 'db[1-40]'
    """
    if not directory:
        raise Refused("DIR is empty. Name a directory that exists on every host")
    pairs(settings)
    words = [scenario, directory, *(word for one in settings for word in ("--set", one)), "--format", "json"]
    return _request("run", [*words, *_allowed(how)], how)


@fleet.command("check")
@click.argument("directories", metavar="[DIR]…", nargs=-1)
@_write_options
@_connection_options
def check(directories: Sequence[str], **how: Any) -> int:
    """Check every writable filesystem of every host.

    With DIRs, check only the filesystems that contain them.

    Example: fstui fleet check --nodes 'db[1-40]' --fail-on suspicious
    """
    return _request("check", [*directories, "--format", "json", *_allowed(how)], how)


@fleet.command("watch")
@click.option("--mount", metavar="DIR", help="Watch only the filesystem of this directory.")
@click.option("--seconds", type=Duration(1, 3600), default=10.0, show_default=True, help="Watch for this long.")
@_connection_options
def watch(mount: str | None, seconds: float, **how: Any) -> int:
    """Show on every host which programs wait. Writes nothing.

    Example: fstui fleet watch --nodes 'db[1-40]' --mount /var/lib/mysql
    """
    words = ["--seconds", f"{seconds:g}", *(["--mount", mount] if mount else []), "--format", "json"]
    return _request("watch", words, {**how, "timeout": how["timeout"] or seconds + _LEAST_S})


@fleet.command("list")
@_connection_options
def list_(**how: Any) -> int:
    """List the defects of every host. Writes nothing.

    Example: fstui fleet list --nodes 'db[1-40]'
    """
    return _request("list", ["--format", "json"], how)


@fleet.command("show")
@click.argument("directory", metavar="DIR", type=Path)
@report_options()
@fail_on_option()
def show(directory: Path, format_: str, output: Path | None, fail_on: Sequence[str]) -> int:
    """Print the documents in DIR again.

    \b
    Example:
      fstui fleet show fstui-fleet-20261120-031244 --format html --output fleet.html
    """
    found = results.read(directory)
    asyncio.run(print_report(report.report_of(found), format_, output))
    return _exit_code(found, fail_on)


@fleet.command("compare")
@click.argument("before", metavar="DIR1", type=Path)
@click.argument("after", metavar="DIR2", type=Path)
@report_options()
def compare(before: Path, after: Path, format_: str, output: Path | None) -> int:
    """Compare each host before and after a change.

    Exit status 3: a verdict became worse.

    Example: fstui fleet compare before-the-update after-the-update
    """
    one, other = results.read(before), results.read(after)
    asyncio.run(print_report(report.compared(one, other), format_, output))
    return FAILED_ON if any(change.worse for change in report.changes(one, other)) else 0


@fleet.command("export", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
def export(words: Sequence[str]) -> int:
    """Say what replaced this command."""
    raise Refused("fstui fleet export was removed: use fstui fleet show DIR --format json or csv instead")


def _allowed(how: dict[str, Any]) -> list[str]:
    return [*(["--yes"] if how["force"] else []), *(["--trust-dir"] if how["trust_dir"] else [])]


def _request(command: str, arguments: Sequence[str], how: dict[str, Any]) -> int:
    for name, instead in _REMOVED.items():
        if how[name] is not None:
            raise Refused(f"--{name.replace('_', '-')} was removed: use {instead}")
    try:
        from fstui.fleet.campaign import Campaign  # noqa: PLC0415  only where hosts are reached
    except ImportError:
        raise Refused(WITHOUT) from None
    nodes = nodes_of(how["nodes"])
    request = Request(
        command=command,
        arguments=tuple(arguments),
        become=how["become"] or "",
        installed=how["installed"] or "",
        place=how["place"] or "",
        ssh=how["ssh"],
        remove=how["remove"],
        fanout=how["fanout"],
        timeout_s=how["timeout"] or _LEAST_S,
    )
    file = None if request.installed else _carried(how["pyz"])
    directory = results.make(how["into"])
    campaign = Campaign(request, nodes, directory, file, lambda node, words: say(f"{node}: {words}"))
    signals = _Signals(campaign)
    found = campaign.go()
    asyncio.run(print_report(report.report_of(found), how["format_"], how["output"]))
    say(f"documents in {directory}: fstui fleet show {directory}")
    return signals.exit_code or _exit_code(found, how.get("fail_on", ()))


def _carried(named: Path | None) -> Path:
    """Return the file to carry to the hosts. Raises Refused."""
    made = Path("dist") / _PYZ
    found = named or (made if made.is_file() and not Path(_PYZ).is_file() else Path(_PYZ))
    if not found.is_file():
        raise Refused(
            f"{found} does not exist. This file is carried to each host: make it in a checkout with 'python -m "
            "tests.release', or name it with --pyz FILE. If every host has fstui, use --installed fstui"
        )
    return found


class _Signals:
    """The first signal ends all runs in order; a second one ends fstui at once."""

    def __init__(self, campaign: Any) -> None:
        self.exit_code = 0
        self._campaign = campaign
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._arrived)

    def _arrived(self, number: int, _: object) -> None:
        if self.exit_code:
            sys.exit(128 + number)  # every ssh ends with this process, and each host notices that
        self.exit_code = 128 + number
        self._campaign.fanout.stop()
        say("fstui: stopping: every host ends its run and cleans up. A second signal does not wait for that")


def _exit_code(found: Fleet, fail_on: Sequence[str]) -> int:
    if any(fails(result.verdict, result.speed, fail_on) for result in found.boxes):
        return FAILED_ON
    return FAILED if found.about.troubles or found.about.remarks else 0
