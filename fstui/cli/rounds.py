"""``fstui run SCENARIO DIR DIR --rounds 5``: the same by turns, so that what drifts meanwhile drifts for all alike."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fstui.cli.execution import BROKEN_PIPE
from fstui.cli.headless import Asked, Headless
from fstui.cli.options import FAILED_ON
from fstui.cli.output import ReaderGone, put, say, width
from fstui.cli.output_file import deliver
from fstui.model.errors import Refused
from fstui.model.run import Round, Run
from fstui.report import compare
from fstui.report.formats import render_report


async def interleaved(asked: Asked, directories: Sequence[str | None], rounds: int) -> int:
    """Run them all, each a saved run of its own, and print the comparison. Returns the exit code.

    Raises Refused before a byte is written; what is refused later ends the rounds, and what was measured is compared.
    """
    for directory in directories:  # all of them are looked at before the first is written to
        plan = replace(asked, directory=directory, plan_only=True, output=asked.output if asked.plan_only else None)
        looked_at = Headless(plan, quiet=not asked.plan_only)
        if (code := await looked_at.go()) or looked_at.interrupted:
            return code
    if asked.plan_only:
        say(f"fstui: each of these {rounds} times, by turns")
        return 0
    done: list[Run] = []
    codes = {0}
    for round_ in _turns(len(directories), rounds):
        say(f"round {round_.number} of {round_.of}: {directories[round_.side] or asked.simulate}")
        # what speaks against a run was asked before the first one of each directory
        one = Headless(replace(asked, directory=directories[round_.side], yes=asked.yes or round_.number > 1), round_)
        try:
            codes.add(await one.go())
        except Refused as refusal:
            if not done:
                raise
            say(f"fstui: {refusal}")
            codes.add(1)
            break
        done += [one.run] if one.run else []
        if one.interrupted:
            break
    return await _compared(asked, sorted(done, key=_place), codes, one.patience_s)


def _turns(sides: int, rounds: int) -> Iterator[Round]:
    """Every second round the other way round, so that what only grows favours nobody."""
    series = secrets.token_hex(3)
    for number in range(1, rounds + 1):
        for side in range(sides) if number % 2 else reversed(range(sides)):
            yield Round(series=series, side=side, number=number, of=rounds)


def _place(run: Run) -> tuple[int, int]:
    return (run.round.side, run.round.number) if run.round else (0, 0)


async def _compared(asked: Asked, done: Sequence[Run], codes: set[int], patience_s: float | None) -> int:
    """The worst of the exit codes: a signal before --fail-on before a failure."""
    worst = max(codes, key=lambda code: (code > FAILED_ON, code == FAILED_ON, code))
    if not done:
        return worst
    try:
        if asked.output is None:
            put(render_report(asked.format, compare.of_runs(done, width()), width()), patience_s)
        else:
            await deliver(asked.output, render_report(asked.format, compare.of_runs(done)), patience_s)
    except ReaderGone:
        return worst or BROKEN_PIPE
    return worst
