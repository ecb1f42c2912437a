"""The configurations that drop syncs or lose what was synced, as data: ``defects.toml``."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from fstui.model import shipped
from fstui.model.judgement import Confidence, Verdict
from fstui.model.steps import Step
from fstui.model.storage import Node


class DefectOutcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    values: tuple[str, ...] = ()
    """The values of the reading that select this outcome."""
    verdict: Verdict | None = None
    confidence: Confidence
    low_unless_verified: bool = False
    """Confidence is low unless each of the lowest devices was seen to act on flushes or is known to be safe."""
    title: str
    sentence: str
    fallbacks: Mapping[str, str] = {}
    """Texts for readings that the layer lacks, by placeholder."""
    next: tuple[str, ...]


class Defect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    kinds: tuple[str, ...] = ()
    reading: str | None = None
    """The name of the reading whose value selects the outcome."""
    condition: str | None = None
    """A key of ``facts.configuration.CONDITIONS``, if more than one reading decides."""
    page: str
    outcomes: dict[str, DefectOutcome]


class Hit(NamedTuple):
    """A layer that has a defect."""

    outcome: str
    """A key of ``Defect.outcomes``."""
    layer: Node
    evidence: tuple[str, ...]
    replacements: Mapping[str, str] = {}
    """Further texts, by placeholder."""
    steps: tuple[Step, ...] = ()


@cache
def defects() -> dict[str, Defect]:
    rows = shipped.packaged_table(__package__, "defects.toml", dict[str, tuple[Defect, ...]])["defect"]
    return {row.name: row for row in rows}
