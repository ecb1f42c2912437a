"""The flags before a run: what the configuration alone decides, filesystem by filesystem."""

from __future__ import annotations

from fstui.judge import judge
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence


def flags(inventory: Inventory) -> dict[str, Judgement]:
    """What ``judge`` says of each filesystem without a step, by mount point; the pseudo ones are left out."""
    return {
        target.mount_point: judge(Evidence(host=inventory.host, process=inventory.process, target=target))
        for target in inventory.filesystems
        if not target.pseudo
    }
