"""What is kept in the user's home. A child reads and writes it: that disk may be the one that hangs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from fstui.measure.children import in_a_child
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.powercut import power_cuts
from fstui.simulate.lab import record
from fstui.state import declarations, keys, paths, theme
from fstui.state.ledger import Entry

Result = TypeVar("Result")
__all__ = ["Before", "Entry", "ask", "from_before", "keep_theme", "left_behind"]


QUIET_S = 2.0
"""So long a child that looks there may do nothing at all."""


class Silent(Refused):
    """A home, or a place that the user named, gives no answer."""


class Before(NamedTuple):
    """What other days have left for this one."""

    declared: dict[str, Declaration]
    """By target identity."""
    left_behind: list[Entry]
    """By killed runs: to be removed without a question."""
    keys: dict[str, str]
    """Command → key, where the user has changed it."""
    theme: str = ""
    """The one that the user has chosen; empty: none."""
    trouble: str = ""
    """Why the keys could not be understood."""


async def ask(
    function: Callable[..., Result], *arguments: object, where: str = "", patience_s: float = QUIET_S
) -> Result:
    """What the function returns. Raises what it raises, and Silent where the home, or ``where``, gives no answer."""
    try:
        return await in_a_child(function, *arguments, timeout_s=patience_s)
    except TimeoutError:
        place = where or paths.state_dir()
        raise Silent(f"{place}: no answer for {patience_s:.0f} s; its disk or server hangs") from None


async def keep_theme(name: str) -> None:
    """From now on the app starts with it. Raises OSError, Refused."""
    await ask(theme.keep, name)


def from_before() -> Before:
    """All that the app wants when it starts."""
    changed: dict[str, str] = {}
    trouble = ""
    try:
        changed = keys.load()
    except Refused as refusal:
        trouble = str(refusal)
    return Before(declarations.recall(), left_behind(), changed, theme.recall(), trouble)


def left_behind() -> list[Entry]:
    """By killed runs; a laboratory that stands is no such thing."""
    return [entry for entry in power_cuts.left_behind() if not record.stands(entry)]
