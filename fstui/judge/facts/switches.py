"""What somebody switched while the run went on, and whether it was switched back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from fstui.model.steps import Step


class Switched(NamedTuple):
    """To what loses data."""

    step: Step
    """In which it was switched first."""
    back: bool
    """It was switched back since."""

    @property
    def when(self) -> str:
        return f"for a time in {self.step.name}" if self.back else f"since {self.step.name}"


class Switches:
    """By layer and the name of what was switched, as the steps tell of it."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    def stayed(self, layer: str, what: str) -> bool:
        """It was read before the run; whoever set it right meanwhile is not accused for what it was."""
        return not any(step.values(layer, what) for step in self._steps)

    def to(self, layer: str, what: str, losing: Collection[str]) -> Switched | None:
        """It was switched to one of those. To set it right is not enough: then it was never switched to them."""
        told = [(step, values) for step in self._steps if (values := step.values(layer, what))]
        first = next((step for step, values in told if any(_falls(*pair, losing) for pair in pairwise(values))), None)
        return Switched(first, back=self._at_the_end(layer, what) not in losing) if first else None

    def taken_back(self, layer: str, what: str, losing: Collection[str]) -> int:
        """How many times it was switched to one of those and back again within one step."""
        every = (step.values(layer, what) for step in self._steps)
        return sum(
            _falls(first, second, losing) and third not in losing
            for values in every
            for first, second, third in zip(values, values[1:], values[2:], strict=False)
        )

    def _at_the_end(self, layer: str, what: str) -> str | None:
        """None: what it was before the run."""
        values = self._steps[-1].values(layer, what)
        return values[-1] if values else None


def _falls(before: str, after: str, losing: Collection[str]) -> bool:
    return before not in losing and after in losing
