"""Judge saved runs again, judge the configuration of filesystems, and explain rules."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.judge import explain, has_page, judge, rule_names
from fstui.model.documents import sealed
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence, Run

__all__ = ["explain", "has_page", "rule_names"]


def judged_again(run: Run, *, altered: bool = False) -> Run:
    """Judge the run with today's rules. An altered run keeps its digest, which still does not match."""
    again = run.judged(judge(run))
    return sealed(again) if run.digest and again != run and not altered else again


class Flags:
    """Judgements of all filesystems, which are kept while a filesystem does not change: there may be thousands."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Evidence, Judgement]] = {}

    def of(self, inventory: Inventory) -> dict[str, Judgement]:
        """Return the judgement of each configuration by mount point, without pseudo filesystems."""
        self._known = {
            target.mount_point: self._judged(
                # free space, and whether it answers, do not change the judgement
                Evidence(
                    host=inventory.host, process=inventory.process, target=replace(target, space=None, silent_s=None)
                ),
                target.mount_point,
            )
            for target in inventory.filesystems
            if not target.pseudo
        }
        return {mount_point: judgement for mount_point, (_, judgement) in self._known.items()}

    def _judged(self, evidence: Evidence, mount_point: str) -> tuple[Evidence, Judgement]:
        known = self._known.get(mount_point)
        return known if known and known[0] == evidence else (evidence, judge(evidence))
