"""``python -m tests.lab build | list | today [--build] | run [NAME…] [--cuts N] [--only measure|cut] | judge | table |
campaign [--ignored N] [--cuts N] uml|qemu [OPTION…]``

Applies to both kernels, or to that of ``--kernel``.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import msgspec

from tests.lab import LabUnavailable, table, uml
from tests.lab.image import build, missing_tools
from tests.lab.laboratory import Laboratory, judge_again, laboratory
from tests.lab.machine import BadMachine, LabMachine, load, names, proven
from tests.lab.powercut import FSTUI, cut_power
from tests.lab.qemu import QemuHost, free_port
from tests.lab.recipe import KERNELS, KINDS, RECIPES, Kernel
from tests.lab.selection import selection
from tests.lab.uml import UmlHost
from tests.lab.vm import GuestError

CUTS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 if all results agree with the truth, 1 if one does not, 2 if it cannot run here."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # The machines must end with this process.
    try:
        return int(options.action(options))
    except (LabUnavailable, BadMachine) as error:
        print(f"tests.lab: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    actions = parser.add_subparsers(required=True)
    building = _action(actions, _build, "build", "make guest images (base: some minutes; zfs compiles a module)")
    building.add_argument("images", nargs="*", metavar="IMAGE", help=f"of {', '.join(KINDS)}; base if none is named")
    _action(actions, _list, "list", "the machines and their truth")
    today = actions.add_parser("today", help="the part that tests/run uses today")
    today.add_argument("--build", action="store_true", help="make its image first")
    today.set_defaults(action=_today)
    running = _action(actions, _run, "run", "measure, then cut the power (all machines if none is named)")
    running.add_argument("names", nargs="*", metavar="NAME")
    running.add_argument("--cuts", type=int, default=CUTS, help=f"power cuts per machine ({CUTS})")
    running.add_argument("--only", choices=("measure", "cut"), help="one of the two tables")
    running.add_argument(
        "--patience", type=_patience, default=1.0, metavar="TIMES", help="multiply every time limit by this (1)"
    )
    running.add_argument("--image", choices=KINDS, help="only machines of this image")
    campaign = actions.add_parser("campaign", help="a power-cut campaign on a host of its own")
    campaign.set_defaults(action=_campaign)
    campaign.add_argument("host", choices=("uml", "qemu"))
    campaign.add_argument("--ignored", type=int, default=0, help="the disk ignores every n-th flush; 1: all (0: none)")
    campaign.add_argument("--cuts", type=int, default=100, help="number of cuts (100)")
    campaign.add_argument("more", nargs=argparse.REMAINDER, help="options of fstui powercut campaign")
    _action(actions, _judge, "judge", "judge the documents of the last runs again with today's rules")
    showing = _action(actions, _table, "table", "compare the results of the last runs with the truth")
    showing.add_argument("--markdown", action="store_true")
    return parser


def _action(actions: Any, action: Callable[[argparse.Namespace], int], name: str, said: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=said)
    parser.add_argument("--kernel", choices=KERNELS, action="append", dest="kernels", help="only this kernel")
    parser.set_defaults(action=action)
    return parser


def _patience(word: str) -> float:
    try:
        times = float(word)
    except ValueError:
        times = 0.0
    if not times >= 1:
        raise argparse.ArgumentTypeError(f"{word} is not a number from 1 up")
    return times


def _kernels(options: argparse.Namespace, machine: LabMachine | None = None) -> list[Kernel]:
    """Return the requested kernels for which the machine is defined."""
    possible = KERNELS if machine is None else machine.kernels
    return [kernel for kernel in possible if kernel in (options.kernels or KERNELS)]


def _build(options: argparse.Namespace) -> int:
    for kind in options.images or ["base"]:
        if kind not in KINDS:
            raise BadMachine(f"no image {kind}: {', '.join(KINDS)}")
        for kernel in _kernels(options):
            print(build(RECIPES[kernel][kind]).root)
    return 0


def _list(options: argparse.Namespace) -> int:
    for name in names():
        machine = load(name)
        if kernels := _kernels(options, machine):
            print(f"{name:36} {' '.join(kernels):9} {machine.truth:7} {machine.title}")
    return 0


def _today(options: argparse.Namespace) -> int:
    chosen = selection(date.today(), {name: load(name) for name in names()}, proven())
    if options.build:
        build(RECIPES[chosen.kernel]["base"])
    print(chosen)
    return 0


def _run(options: argparse.Namespace) -> int:
    if missing := missing_tools():
        raise LabUnavailable(
            f"not installed: {', '.join(missing)} (apt-get install qemu-system-x86 nbdkit debootstrap)"
        )
    machines = {name: load(name) for name in options.names or names()}
    if options.image:
        machines = {name: machine for name, machine in machines.items() if machine.image == options.image}
    for kernel in _kernels(options):
        with laboratory(kernel, say, options.patience) as lab:
            for name, machine in machines.items():
                if kernel in machine.kernels:
                    _run_one(lab, name, machine, options)
    return _show(machines, options)


def _run_one(lab: Laboratory, name: str, machine: LabMachine, options: argparse.Namespace) -> None:
    before = table.saved(name, lab.kernel) or table.Result(date="")
    result = _result(lab, name, machine, options, before)
    table.save(name, lab.kernel, result)
    wrong = table.faults(machine, result)
    say(f"{name}, Linux {lab.kernel}: {'; '.join(wrong) if wrong else 'as expected'}")


def _result(
    lab: Laboratory, name: str, machine: LabMachine, options: argparse.Namespace, before: table.Result
) -> table.Result:
    measured, cuts, failure = before.measured, before.cuts, None
    try:
        if options.only != "cut":
            measured, document = lab.measure(name, machine)
            table.save_document(name, lab.kernel, document)
            say(f"{name}: {measured.verdict}, {measured.confidence}: {measured.sentence}")
        if options.only != "measure" and machine.cut and options.cuts:
            cuts = []
            for cut in cut_power(lab, name, machine, options.cuts):
                cuts.append(cut)
                say(f"{name}: cut {len(cuts)}: {cut.verdict}: {cut.sentence}")
    except (GuestError, subprocess.CalledProcessError) as error:
        failure = str(error)
        say(f"{name}: {failure}")
    return table.Result(date=date.today().isoformat(), measured=measured, cuts=cuts, failure=failure)


def _campaign(options: argparse.Namespace) -> int:
    if lacking := uml.missing():
        raise LabUnavailable(f"missing: {', '.join(lacking)}")
    with tempfile.TemporaryDirectory(prefix="fstui-lab-") as home:
        made: dict[str, Any] = {"home": home, "image": build(uml.RECIPE), "ignored": options.ignored}
        host = QemuHost(**made, port=free_port()) if options.host == "qemu" else UmlHost(**made)
        host.make()
        host.make_disk()
        with host.running() as within:
            words = [*within, sys.executable, "-c", FSTUI, *host.campaign(options.cuts, *options.more)]
            return subprocess.run(words, check=False).returncode


def _judge(options: argparse.Namespace) -> int:
    for name in names():
        for kernel in _kernels(options, load(name)):
            before, document = table.saved(name, kernel), table.saved_document(name, kernel)
            if before is not None and before.measured is not None and document is not None:
                measured = judge_again(document, before.measured.elapsed_s)
                table.save(name, kernel, msgspec.structs.replace(before, measured=measured))
    return _table(options)


def _table(options: argparse.Namespace) -> int:
    return _show({name: load(name) for name in names()}, options)


def _show(machines: dict[str, LabMachine], options: argparse.Namespace) -> int:
    wanted = [(name, kernel) for name, machine in machines.items() for kernel in _kernels(options, machine)]
    results = {key: result for key in wanted if (result := table.saved(*key)) is not None}
    rows = table.rows(machines, results)
    newest = max((result.date for result in results.values()), default="")
    as_markdown = getattr(options, "markdown", False)
    print(table.markdown(rows, machines, newest) if as_markdown else table.plain(rows))
    if left := [f"{name} ({kernel})" for name, kernel in wanted if (name, kernel) not in results]:
        say(f"not run yet: {', '.join(left)}")
    return int(any(row[-1] for row in rows))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
