"""``fstui fleet run``, ``check``, ``watch``, ``list``, ``show``, ``compare`` and ``clean``: many hosts at once."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from fstui.cli.delivery import print_last_report
from fstui.cli.execution import FAILED, UNACCEPTABLE
from fstui.cli.interruption import SIGNALS
from fstui.cli.options import (
    Duration,
    combine,
    fail_on_option,
    is_failure,
    parse_settings,
    report_options,
    ssh_option,
    trust_option,
    yes_option,
)
from fstui.cli.output import say
from fstui.fleet import report, results
from fstui.fleet.remote import NO_CLUSTERSHELL, Request, nodes_of
from fstui.fleet.results import Fleet
from fstui.model.errors import Refused
from fstui.model.quantities import size
from fstui.runs import scenarios

_DEFAULT_TIMEOUT_S = 120.0
_PYZ = "fstui.pyz"
_JSON = ("--format", "json")
_MAX_SCENARIO_BYTES = 48_000
"""The scenario is passed as part of one argument, which has at most 128 KiB (execve(2))."""


@click.group("fleet")
def fleet() -> None:
    """Run fstui on many hosts through ssh, and report the hosts that differ from the others.

    \b
    Examples:
      fstui fleet check --nodes 'db[1-40]'
      fstui fleet run fsync-rate /srv --nodes '@storage' --fanout 8
      fstui fleet show fstui-fleet-20261120-031244
    """


_ssh_options = combine(
    click.option("--place", metavar="DIR", help=f"Directory for {_PYZ} on the hosts. Default: ~/.cache/fstui-fleet."),
    click.option(
        "--become",
        type=click.Choice(("sudo", "doas")),
        help="Become root with this command, which must not ask for a password.",
    ),
    ssh_option,
    click.option(
        "--fanout",
        metavar="N",
        type=click.IntRange(1, 1024),
        default=64,
        show_default=True,
        help="Number of hosts that run at the same time.",
    ),
    click.option("--timeout", type=Duration(1), help="Time limit for each host, for example 90 or 5m. Default: 2m."),
)
_connection_options = combine(
    click.option(
        "--nodes",
        required=True,
        help="Hosts as a ClusterShell node set: 'db[1-40],@storage' (@storage is a group of ClusterShell).",
    ),
    click.option(
        "--into", type=Path, metavar="DIR", help="New directory for the results. Default: fstui-fleet-DATE-TIME."
    ),
    click.option(
        "--pyz", type=Path, metavar="FILE", help=f"The {_PYZ} to copy to the hosts. Default: {_PYZ}, or dist/{_PYZ}."
    ),
    click.option(
        "--installed", metavar="COMMAND", help="Do not copy fstui.pyz. Start fstui on the hosts with COMMAND."
    ),
    click.option("--remove", is_flag=True, help=f"At the end, remove {_PYZ} from the hosts."),
    _ssh_options,
    report_options(),
)
_write_options = combine(yes_option, trust_option, fail_on_option())
_more_argument = click.argument("more", nargs=-1, metavar="[-- OPTION…]", type=click.UNPROCESSED)
_OWN_OPTIONS = ("--format", "--output", "--rounds", "--plan")
"""Options that cannot be passed on, because with them a host does not print the document that is read here."""


@fleet.command("run")
@click.argument("scenario")
@click.argument("directory", metavar="DIR")
@_more_argument
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Change a setting of the scenario.")
@_write_options
@_connection_options
def run(scenario: str, directory: str, more: Sequence[str], settings: Sequence[str], **options: Any) -> int:
    """Run SCENARIO in DIR on every host.

    fstui judges the storage below DIR on each host, and compares the hosts with each other. If SCENARIO is a file, or a
    scenario of your own, fstui sends it to the hosts. After --, you can add options of 'fstui run'.

    \b
    Examples:
      fstui fleet run fsync-rate /srv --nodes 'db[1-40]'
      fstui fleet run ./mine.toml /srv --nodes '@db' -- --max-rate 1M --idle
    """
    if not directory:
        raise Refused("DIR is empty. Name a directory that exists on every host")
    parse_settings(settings)
    options["scenario"] = asyncio.run(scenarios.own_text(scenario))
    if (length := len(options["scenario"].encode())) > _MAX_SCENARIO_BYTES:
        raise Refused(f"{scenario} has {length} bytes, and at most {_MAX_SCENARIO_BYTES} can be sent")
    words = [scenario, directory, *(word for setting in settings for word in ("--set", setting)), *_extra_options(more)]
    return _perform("run", [*words, *_permissions(options), *_JSON], options)


@fleet.command("check")
@click.argument("directories", metavar="[DIR]… [-- OPTION…]", nargs=-1)
@_write_options
@_connection_options
def check(directories: Sequence[str], **options: Any) -> int:
    """Check every writable filesystem of every host.

    With DIRs, check only the filesystems that contain them. After --, you can add options of 'fstui check'.

    Example: fstui fleet check --nodes 'db[1-40]' --fail-on suspicious
    """
    # click removes the --
    options_at = next((index for index, word in enumerate(directories) if word.startswith("-")), len(directories))
    words = [*directories[:options_at], *_extra_options(directories[options_at:]), *_permissions(options)]
    return _perform("check", [*words, *_JSON], options)


@fleet.command("watch")
@_more_argument
@click.option("--mount", metavar="DIR", help="Watch only the filesystem of this directory.")
@click.option("--seconds", type=Duration(1, 3600), default=10.0, show_default=True, help="Watch for this long.")
@_connection_options
def watch(mount: str | None, more: Sequence[str], seconds: float, **options: Any) -> int:
    """Show on every host which programs wait.

    After --, you can add options of 'fstui watch'. 'fstui watch --help' explains what fstui reads and writes.

    Example: fstui fleet watch --nodes 'db[1-40]' --mount /var/lib/mysql
    """
    words = ["--seconds", f"{seconds:g}", *(["--mount", mount] if mount else []), *_extra_options(more)]
    options["timeout"] = options["timeout"] or seconds + _DEFAULT_TIMEOUT_S
    return _perform("watch", [*words, *_JSON], options)


@fleet.command("list")
@_more_argument
@_connection_options
def list_(more: Sequence[str], **options: Any) -> int:
    """List the faults in every host's configuration.

    fstui writes no test data, but copies fstui.pyz to the hosts, unless --installed is given. After --, you can add
    options of 'fstui list'.

    Example: fstui fleet list --nodes 'db[1-40]'
    """
    return _perform("list", [*_extra_options(more), *_JSON], options)


@fleet.command("show")
@click.argument("directory", metavar="DIR", type=Path)
@report_options()
@fail_on_option()
def show(directory: Path, format_: str, output: Path | None, fail_on: Sequence[str]) -> int:
    """Print the results of an earlier fleet command again.

    DIR is the directory in which that command saved the results.

    \b
    Example:
      fstui fleet show fstui-fleet-20261120-031244 --format csv
    """
    hosts = results.read_fleet(directory)
    print_last_report(report.report_of(hosts), format_, output)
    return _exit_status(hosts, fail_on)


@fleet.command("compare")
@click.argument("before", metavar="DIR1", type=Path)
@click.argument("after", metavar="DIR2", type=Path)
@report_options()
def compare(before: Path, after: Path, format_: str, output: Path | None) -> int:
    """Compare each host before and after a change.

    Exit status 3: a verdict became worse.

    Example: fstui fleet compare before-the-update after-the-update
    """
    earlier, later = results.read_fleet(before), results.read_fleet(after)
    print_last_report(report.comparison_report(earlier, later), format_, output)
    return UNACCEPTABLE if any(change.worse for change in report.changes(earlier, later)) else 0


@fleet.command("clean")
@click.argument("directory", metavar="DIR", type=Path)
@_ssh_options
def clean(directory: Path, **options: Any) -> int:
    """Remove what a fleet command left on the hosts.

    On the hosts, fstui removes fstui.pyz, the files that fstui.pyz unpacked, and the runs that the fleet command saved.
    DIR is the directory on this host in which that command saved the results. DIR stays.

    Example: fstui fleet clean fstui-fleet-20261120-031244
    """
    hosts = results.read_fleet(directory)
    job = _job_module()
    request = _request_of("clean", options)
    fanout = job.Fanout(request)
    signals = _Signals(fanout)
    troubles = job.clean(request, hosts, fanout, lambda node, message: say(f"{node}: {message}"))
    return signals.exit_code or (FAILED if troubles else 0)


def _permissions(options: dict[str, Any]) -> list[str]:
    return [*(["--yes"] if options["yes"] else []), *(["--trust-dir"] if options["trust_dir"] else [])]


def _extra_options(words: Sequence[str]) -> list[str]:
    """Return the words after ``--``. Raises UsageError if the first is not an option, or one is in _OWN_OPTIONS."""
    if words and not words[0].startswith("-"):
        raise click.UsageError(f"Got unexpected extra argument ({words[0]}). Options of the remote command follow --.")
    if own_options := [word for word in words if word.partition("=")[0] in _OWN_OPTIONS]:
        raise click.UsageError(f"{own_options[0]} cannot be passed on, as each host prints the document of one run.")
    return list(words)


def _perform(command: str, arguments: Sequence[str], options: dict[str, Any]) -> int:
    nodes = nodes_of(options["nodes"])
    request = _request_of(command, options, arguments)
    file = None if request.installed else _file_to_copy(options["pyz"])
    job = _job_module().FleetJob(request, nodes, options["into"], file, lambda node, message: say(f"{node}: {message}"))
    signals = _Signals(job.fanout)
    hosts = job.run()
    print_last_report(report.report_of(hosts), options["format_"], options["output"])
    show_command = f"fstui fleet show {shlex.quote(str(job.directory))}"
    say(f"The results are in {job.directory}. To print them again: {show_command}")
    runs = ["the saved runs"] if any(host.run for host in hosts.results) else []
    file_bytes = job.max_leftover_bytes
    if leftovers := [*([f"the file and what it unpacked ({size(file_bytes)} each)"] if file_bytes else []), *runs]:
        say(f"The hosts keep {' and '.join(leftovers)}. To remove them: {_clean_command(job.directory, request)}")
    return signals.exit_code or _exit_status(hosts, options.get("fail_on", ()))


def _clean_command(directory: Path, request: Request) -> str:
    ssh = request.ssh if request.ssh != "ssh" else ""
    values = {"--place": request.place, "--become": request.become, "--ssh": ssh}
    options = [word for name, value in values.items() if value for word in (name, value)]
    return shlex.join(["fstui", "fleet", "clean", str(directory), *options])


def _job_module() -> ModuleType:
    """Return the module that reaches hosts. Raises Refused without ClusterShell."""
    try:
        from fstui.fleet import job  # noqa: PLC0415  only where hosts are reached
    except ImportError:
        raise Refused(NO_CLUSTERSHELL) from None
    return job


def _request_of(command: str, options: dict[str, Any], arguments: Sequence[str] = ()) -> Request:
    return Request(
        command=command,
        arguments=tuple(arguments),
        become=options["become"] or "",
        installed=options.get("installed") or "",
        place=options["place"] or "",
        remove=options.get("remove", False),
        scenario=options.get("scenario", ""),
        ssh=options["ssh"],
        fanout=options["fanout"],
        timeout_s=options["timeout"] or _DEFAULT_TIMEOUT_S,
    )


def _file_to_copy(pyz_option: Path | None) -> Path:
    built = Path("dist") / _PYZ
    pyz = pyz_option or (built if built.is_file() and not Path(_PYZ).is_file() else Path(_PYZ))
    if not pyz.is_file():
        python = shlex.quote(sys.executable)
        raise Refused(
            f"{pyz} does not exist. This file is copied to each host. Name it with --pyz FILE or, if every host has "
            f"fstui, use --installed fstui. To build it, in a checkout: {python} -m pip install '.[release]' && "
            f"{python} -m tests.release"
        )
    return pyz


class _Signals:
    """Handles signals. After the first, every host ends its run and cleans up. A second one ends fstui at once."""

    def __init__(self, fanout: Any) -> None:
        self.exit_code = 0
        self._fanout = fanout
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle_signal)

    def _handle_signal(self, number: int, _: object) -> None:
        if self.exit_code:
            sys.exit(128 + number)  # every ssh ends with this process, and then the run on its host
        self.exit_code = 128 + number
        self._fanout.stop()
        say("fstui: stopping: every host ends its run and cleans up. A second signal does not wait for that")


def _exit_status(hosts: Fleet, fail_on: Sequence[str]) -> int:
    if any(is_failure(result.verdict, result.speed, fail_on) for result in hosts.results):
        return UNACCEPTABLE
    return FAILED if hosts.about.troubles or hosts.about.remarks else 0
