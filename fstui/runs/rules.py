"""Judge saved runs again, judge the configuration of filesystems, and explain rules."""

from __future__ import annotations

import re

from msgspec.structs import replace

from fstui.judge import explain, has_page, judge, questions, rule_names
from fstui.model.documents import encode, with_digest
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence, Run
from fstui.model.storage import Target

__all__ = ["explain", "has_page", "questions", "rule_names"]

_PLAIN = re.compile(r"[\w./-]{2,}", re.ASCII)
"""A name that JSON spells as it is."""


def judged_again(run: Run, *, altered: bool = False) -> Run:
    """Judge the run with today's rules. An altered run keeps its digest, which still does not match."""
    again = run.with_judgement(judge(run))
    return with_digest(again) if run.digest and again != run and not altered else again


class JudgementCache:
    """Judgements of configurations. Only a filesystem that changed is judged again: a host may have thousands."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Evidence, Judgement]] = {}

    def of(self, inventory: Inventory) -> dict[str, Judgement]:
        """Return the judgement of each configuration by mount point, without pseudo filesystems."""
        alike: dict[bytes, Judgement] = {}
        self._known = {
            target.mount_point: self._judged(
                # free space, and whether it answers, do not change the judgement
                Evidence(
                    host=inventory.host, process=inventory.process, target=replace(target, space=None, silent_s=None)
                ),
                alike,
            )
            for target in inventory.filesystems
            if not target.pseudo
        }
        return {mount_point: judgement for mount_point, (_, judgement) in self._known.items()}

    def _judged(self, evidence: Evidence, alike: dict[bytes, Judgement]) -> tuple[Evidence, Judgement]:
        """``alike``: judgements of this host that hold for every filesystem with the same content."""
        target = evidence.target
        assert target is not None
        known = self._known.get(target.mount_point)
        if known and known[0] == evidence:
            return known
        content, names = _without_names(target)
        judgement = alike.get(content)
        if judgement is None:
            judgement = judge(evidence)
            text = encode(judgement).decode()
            # share it only if no sentence names this filesystem
            if all(_PLAIN.fullmatch(name) and name not in text for name in names):
                alike[content] = judgement
        return evidence, judgement


def _without_names(target: Target) -> tuple[bytes, set[str]]:
    """Return what is left of a filesystem without its names, and these names. No rule reads the source of a mount."""
    top = tuple(replace(node, id="", name="") for node in target.stack[:1])
    content = replace(target, path="", mount_point="", source="", identity="", stack=(*top, *target.stack[1:]))
    names = {target.path, target.mount_point, target.identity, *(node.name for node in target.stack[:1])}
    return encode(content), names - {""}
