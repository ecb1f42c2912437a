"""``--fail-on``: what a script asks of a run, by its exit code."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import click

from fstui.model.judgement import TOO_SLOW, VERDICTS, Answer, Verdict

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


def fails(verdict: Verdict | None, speed: Answer | None, asked: Collection[str]) -> bool:
    """It came to one of these, or to something worse."""
    if SLOW in asked and speed in TOO_SLOW:
        return True
    return verdict is not None and any(each in asked for each in VERDICTS[VERDICTS.index(verdict) :])
