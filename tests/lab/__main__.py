"""``python -m tests.lab build | list | run [NAME…] [--cuts N] [--only measure|cut] | table [--markdown]``"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import date

from tests.lab import table
from tests.lab.image import LabUnavailable, build, missing_tools
from tests.lab.laboratory import Laboratory, laboratory
from tests.lab.machine import BadMachine, LabMachine, load, names
from tests.lab.powercut import cut_power
from tests.lab.recipe import RECIPES
from tests.lab.vm import GuestError

CUTS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit: 0 nothing is at odds with the truth, 1 something is, 2 it cannot run here."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the machines end with us
    try:
        return int(options.action(options))
    except (LabUnavailable, BadMachine) as error:
        print(f"tests.lab: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    actions = parser.add_subparsers(required=True)
    building = actions.add_parser("build", help="make the guest images (base: about a minute; zfs compiles a module)")
    building.add_argument("images", nargs="*", metavar="IMAGE", help=f"of {', '.join(RECIPES)}; base if none is named")
    building.set_defaults(action=_build)
    listing = actions.add_parser("list", help="the machines and their truth")
    listing.set_defaults(action=_list)
    running = actions.add_parser("run", help="measure, then cut the power; all machines if none is named")
    running.add_argument("names", nargs="*", metavar="NAME")
    running.add_argument("--cuts", type=int, default=CUTS, help=f"power cuts per machine ({CUTS})")
    running.add_argument("--only", choices=("measure", "cut"), help="one of the two tables")
    running.add_argument("--image", choices=tuple(RECIPES), help="machines of this image only")
    running.set_defaults(action=_run)
    showing = actions.add_parser("table", help="what came out of the last runs, against the truth")
    showing.add_argument("--markdown", action="store_true")
    showing.set_defaults(action=_table)
    return parser


def _build(options: argparse.Namespace) -> int:
    for name in options.images or ["base"]:
        if name not in RECIPES:
            raise BadMachine(f"no image {name}: {', '.join(RECIPES)}")
        print(build(RECIPES[name]).root)
    return 0


def _list(_: argparse.Namespace) -> int:
    for name in names():
        machine = load(name)
        print(f"{name:28} {machine.truth:7} {machine.title}")
    return 0


def _run(options: argparse.Namespace) -> int:
    if missing := missing_tools():
        raise LabUnavailable(
            f"not installed: {', '.join(missing)} (apt-get install qemu-system-x86 nbdkit debootstrap)"
        )
    machines = {name: load(name) for name in options.names or names()}
    if options.image:
        machines = {name: machine for name, machine in machines.items() if machine.image == options.image}
    with laboratory(say) as lab:
        for name, machine in machines.items():
            before = table.saved(name) or table.Result(date="")
            result = _result(lab, name, machine, options, before)
            table.save(name, result)
            wrong = table.faults(machine, result)
            say(f"{name}: {'; '.join(wrong) if wrong else 'as it should be'}")
    return _show(machines, as_markdown=False)


def _result(
    lab: Laboratory, name: str, machine: LabMachine, options: argparse.Namespace, before: table.Result
) -> table.Result:
    measured, cuts, failure = before.measured, before.cuts, None
    try:
        if options.only != "cut":
            measured = lab.measure(name, machine)
            say(f"{name}: {measured.verdict}, {measured.confidence}: {measured.sentence}")
        if options.only != "measure" and options.cuts:
            cuts = []
            for cut in cut_power(lab, name, machine, options.cuts):
                cuts.append(cut)
                say(f"{name}: cut {len(cuts)}: {cut.verdict}: {cut.sentence}")
    except (GuestError, subprocess.CalledProcessError) as error:
        failure = str(error)
        say(f"{name}: {failure}")
    return table.Result(date=date.today().isoformat(), measured=measured, cuts=cuts, failure=failure)


def _table(options: argparse.Namespace) -> int:
    return _show({name: load(name) for name in names()}, as_markdown=options.markdown)


def _show(machines: dict[str, LabMachine], *, as_markdown: bool) -> int:
    results = {name: result for name in machines if (result := table.saved(name)) is not None}
    rows = table.rows(machines, results)
    newest = max((result.date for result in results.values()), default="")
    print(table.markdown(rows, machines, newest) if as_markdown else table.plain(rows))
    if left := [name for name in machines if name not in results]:
        say(f"not run yet: {', '.join(left)}")
    return int(any(row[4] for row in rows))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
