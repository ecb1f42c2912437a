"""Where a run stands among what others, and the user, have measured."""

from __future__ import annotations

from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.references.own import beside, rates
from fstui.judge.references.published import Operation, Reference, expand, published
from fstui.model.judgement import NOT_DURABLE
from fstui.model.run import Run
from fstui.model.storage import MediumClass


class Placement(NamedTuple):
    """One step's rate among the published ones of its operation."""

    operation: Operation
    per_s: float
    block_bytes: int
    media: frozenset[MediumClass]
    """The classes it is placed among; empty where the medium is not known: all of them."""
    published: tuple[Reference, ...]
    """Slowest first."""
    own: tuple[Reference, ...] = ()
    """The user's own of that operation, slowest first."""

    @property
    def slower(self) -> int:
        """How many of the published ones it beats."""
        return sum(reference.per_s < self.per_s for reference in self.published)


def placed(run: Run) -> tuple[Placement, ...]:
    """The run's rates among the user's own and the published ones: those with the most first, O_DIRECT alone last.

    Nothing where the syncs are known not to be durable, as every such rate beats a disk's, nor where fstui held itself
    back.
    """
    case = Case(run)
    if run.target is None or run.rate_limit or case.configuration.stub_signs or run.verdict in NOT_DURABLE:
        return ()
    media = expand(case.commit_media)
    found = (
        Placement(operation, per_s, block_bytes, media, published(operation, media), beside(case, operation))
        for operation, (block_bytes, per_s) in rates(case).items()
    )
    return tuple(sorted((one for one in found if one.own or one.published), key=_order))


def _order(placement: Placement) -> tuple[bool, int, int]:
    return placement.operation == "O_DIRECT", -len(placement.own), -len(placement.published)
