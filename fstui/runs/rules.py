"""Judge saved runs again, judge the configuration of filesystems, and list the rules."""

import re

from msgspec.structs import replace

from fstui.judge import has_page, judge, questions, rule_names
from fstui.model.documents import encode, with_digest
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence, Run
from fstui.model.storage import Target

__all__ = ["has_page", "questions", "rule_names"]  # re-exported for the interfaces

_PLAIN_NAME = re.compile(r"[\w./-]{2,}", re.ASCII)
"""A name that needs no escapes in JSON."""


def judge_again(run: Run, *, altered: bool = False) -> Run:
    """Judge the run with the current rules. The digest of an altered run stays as it is, so it still does not match."""
    judged_run = run.with_judgement(judge(run))
    return with_digest(judged_run) if run.digest and judged_run != run and not altered else judged_run


class JudgementCache:
    """Judges configurations. Only a filesystem that changed is judged again, because a host may have thousands."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[Evidence, Judgement]] = {}

    def judge(self, inventory: Inventory) -> dict[str, Judgement]:
        """Return the judgements by mount point. Pseudo filesystems have none."""
        shared_judgements: dict[bytes, Judgement] = {}
        self._cache = {
            target.mount_point: self._judge(
                # the judgement does not depend on free space, or on whether the filesystem answers
                Evidence(
                    host=inventory.host, process=inventory.process, target=replace(target, space=None, silent_s=None)
                ),
                shared_judgements,
            )
            for target in inventory.filesystems
            if not target.pseudo
        }
        return {mount_point: judgement for mount_point, (_, judgement) in self._cache.items()}

    def _judge(self, evidence: Evidence, shared_judgements: dict[bytes, Judgement]) -> tuple[Evidence, Judgement]:
        """``shared_judgements``: judgements of this survey, by the description that filesystems share."""
        target = evidence.target
        assert target is not None
        cached = self._cache.get(target.mount_point)
        if cached and cached[0] == evidence:
            return cached
        description, names = _without_names(target)
        judgement = shared_judgements.get(description)
        if judgement is None:
            judgement = judge(evidence)
            text = encode(judgement).decode()
            # share the judgement only if no sentence names this filesystem
            if all(_PLAIN_NAME.fullmatch(name) and name not in text for name in names):
                shared_judgements[description] = judgement
        return evidence, judgement


def _without_names(target: Target) -> tuple[bytes, set[str]]:
    """Return the filesystem's description without its names, and the names. No rule reads the source of a mount."""
    top = tuple(replace(node, id="", name="") for node in target.stack[:1])
    description = replace(target, path="", mount_point="", source="", identity="", stack=(*top, *target.stack[1:]))
    names = {target.path, target.mount_point, target.identity, *(node.name for node in target.stack[:1])}
    return encode(description), names - {""}
