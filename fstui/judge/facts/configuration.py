"""Faults that the configuration alone shows, before anything is counted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.defects import Defect, Hit, defects
from fstui.judge.facts.conditions import CONDITIONS
from fstui.judge.facts.process import stub_signs
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.model.run import Evidence


class Found(NamedTuple):
    """A defect of this stack."""

    defect: Defect
    hit: Hit


class Configuration:
    """The defects of a stack, and the signs that syncs of this process are stubbed out."""

    def __init__(self, evidence: Evidence, stack: Stack, steps: Steps) -> None:
        self._evidence, self._stack, self._steps = evidence, stack, steps

    @cached_property
    def breaks_sync(self) -> bool:
        """Whether it already explains why flushes are missing, so that counting them adds nothing."""
        outcomes = (defect.outcomes[hit.outcome] for defect, hit in self.defects)
        return bool(self.stub_signs) or any(outcome.verdict == "not-durable" for outcome in outcomes)

    @cached_property
    def stub_signs(self) -> tuple[str, ...]:
        """A line for each sign that this process cannot sync, so that its steps say nothing about the disk."""
        return tuple(stub_signs(self._evidence.process))

    @cached_property
    def defects(self) -> tuple[Found, ...]:
        """The defects of ``defects.toml`` that this stack has."""
        return tuple(Found(defect, hit) for defect in defects().values() for hit in self._hits(defect))

    def _hits(self, defect: Defect) -> Iterator[Hit]:
        if defect.reading is not None:
            yield from self._by_reading(defect, defect.reading)
        if defect.condition is not None:
            yield from CONDITIONS[defect.condition](self._evidence, self._stack, self._steps)

    def _by_reading(self, defect: Defect, what: str) -> Iterator[Hit]:
        for layer in self._stack.nodes:
            reading = layer.reading(what) if not defect.kinds or layer.kind in defect.kinds else None
            if reading is None or self._evidence.changed(layer.id, what):
                continue
            for name, outcome in defect.outcomes.items():
                if reading.value in outcome.values:
                    yield Hit(name, layer, (words.reading(layer, reading),))
