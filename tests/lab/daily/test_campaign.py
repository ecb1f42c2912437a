"""Two short power-cut campaigns, unattended: on an honest disk, and on one that ignores every flush."""

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.fleet.hosts import FSTUI
from tests.lab import uml
from tests.lab.image import build
from tests.lab.recipe import CHECKOUT
from tests.lab.uml import UmlHost

CUTS = 2


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> UmlHost:
    if lacking := uml.missing():
        pytest.skip(f"THE LABORATORY DID NOT RUN: missing: {', '.join(lacking)}")
    made = UmlHost(home=str(tmp_path_factory.mktemp("uml")), image=build(uml.RECIPE), ignored=0)
    made.make(shared)
    return made


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize(
    ("ignored", "verdict", "words"),
    [
        (0, "kept", "2 cuts, 0 losses; with 95\xa0% confidence fewer than 78\xa0% of cuts lose data (Clopper-Pearson)"),
        (1, "lost", "2 cuts, 2 losses; with 95\xa0% confidence more than 22\xa0% of cuts lose data (Clopper-Pearson)"),
    ],
)
def test_campaign_agrees_with_the_truth(ignored: int, verdict: str, words: str, host: UmlHost, tmp_path: Path) -> None:
    host = msgspec.structs.replace(host, ignored=ignored)
    host.make_disk()
    with host.running() as within:
        options = ("--wait", "0.5s..2s", "--stay-off", "0", "--into", tmp_path / "campaign", "--format", "json")
        done = subprocess.run(
            [*within, FSTUI, *host.campaign(CUTS, *options)],
            capture_output=True, check=True, cwd=CHECKOUT, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )  # fmt: skip
    found = json.loads(done.stdout)
    assert (found["verdict"], found["sentence"], found["totals"]["no_cut"]) == (verdict, words, 0), done.stderr
