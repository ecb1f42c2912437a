"""``--fail-on``: what a script asks of a run, by its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from fstui.model.judgement import TOO_SLOW, VERDICTS
from fstui.model.run import Run

SLOW = "slow"
CODE = 3


def fail_on_option() -> Callable[[Any], Any]:
    """Verdicts, and the second answer; given twice, either of them."""
    return click.option(
        "--fail-on",
        type=click.Choice([*VERDICTS, SLOW]),
        multiple=True,
        help="Exit 3 when the verdict is this one or worse; 'slow': when it is slow or stalls. Both may be given.",
    )


def fails(run: Run, asked: Iterable[str]) -> bool:
    """The run came to one of these, or to something worse."""
    return any(_is_met(run, what) for what in asked)


def _is_met(run: Run, what: str) -> bool:
    if what == SLOW:
        return run.speed.answer in TOO_SLOW
    return VERDICTS.index(run.verdict) <= [str(each) for each in VERDICTS].index(what)
