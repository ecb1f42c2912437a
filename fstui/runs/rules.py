"""What the judge says, and why: of a saved run again, and of each rule by its name."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.judge import explain, has_page, judge, rule_names
from fstui.model.documents import sealed
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence, Run

__all__ = ["explain", "has_page", "judged_again", "rule_names"]


def judged_again(run: Run, *, altered: bool = False) -> Run:
    """The same evidence with today's rules; of an altered run the digest stays that of another document."""
    again = run.judged(judge(run))
    return sealed(again) if run.digest and again != run and not altered else again


class Flags:
    """Of a box that is looked at again and again: what is as it was is not judged anew, and few of thousands change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Evidence, Judgement]] = {}

    def of(self, inventory: Inventory) -> dict[str, Judgement]:
        """What ``judge`` says of each filesystem without a step, by mount point; the pseudo ones are left out."""
        self._known = {
            target.mount_point: self._judged(
                # how full it is, and whether it answers, decides nothing
                Evidence(
                    host=inventory.host, process=inventory.process, target=replace(target, space=None, silent_s=None)
                )
            )
            for target in inventory.filesystems
            if not target.pseudo
        }
        return {mount_point: judgement for mount_point, (_, judgement) in self._known.items()}

    def _judged(self, evidence: Evidence) -> tuple[Evidence, Judgement]:
        assert evidence.target is not None
        known = self._known.get(evidence.target.mount_point)
        return known if known and known[0] == evidence else (evidence, judge(evidence))


def flags(inventory: Inventory) -> dict[str, Judgement]:
    """The same of a box that is looked at once."""
    return Flags().of(inventory)
