"""An overlay that leaves syncs out."""

from __future__ import annotations

import pytest

from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, on_disk, target


@pytest.mark.parametrize("value", ["volatile", "fsync=volatile"])
def test_overlay_volatile(value: str) -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile=value, upperdir="/srv/upper")
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    found = finding(judgement, "overlay-volatile")
    assert rules(judgement) == {"overlay-volatile"}
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert any(line.endswith("fstui run fsync-rate /srv/upper") for line in found.next)


def test_an_overlay_that_syncs_is_judged_by_its_upper_filesystem() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), upperdir="/srv/upper")
    judgement = verdict(target(overlay, *on_disk().stack), step())
    assert judgement.verdict == "consistent"
