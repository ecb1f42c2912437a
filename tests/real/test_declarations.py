from pathlib import Path

import pytest

from tests.real import disks, headless


def test_fast_o_direct_without_a_cache_is_suspicious(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure("odirect-truth", storage, "--medium", "hdd-7200", "--write-cache", "none")
    assert run.verdict == "suspicious", run.sentence
    assert headless.rules_against(run) == {"same-block-rotation", "odirect-no-cache"}
    assert "not-durable" not in {finding.verdict for finding in run.findings if finding.scope != "step"}
    assert "7200 rpm" in run.sentence and "declared by you" in str(run.findings)
    assert headless.judge_again(run) == run


def test_fast_o_direct_on_declared_medium_precedes_the_platter(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        for _ in range(5):  # on a busy host, the loop device may be as slow as a platter
            run = headless.measure("odirect-truth", storage, "--medium", "hdd-7200")
            rates = {step.name: step.rate_per_s for step in run.steps}
            if rates["O_DIRECT"] > 400 and rates["same block, fdatasync"] > 200:
                break
        else:
            pytest.fail(f"too slow for this test in each of five runs: {rates}")
    (found,) = (finding for finding in run.findings if finding.rule == "odirect-before-platter")
    assert (found.scope, found.verdict, found.steps) == ("step", "not-durable", ("O_DIRECT",))
    assert "odirect-no-cache" not in {finding.rule for finding in run.findings}
    assert headless.rules_against(run) == {"same-block-rotation"}
    assert headless.judge_again(run) == run


def test_speed_proves_nothing_without_a_declaration(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure("odirect-truth", storage)
        assert storage.device
        alone = headless.step_named(run, "O_DIRECT")
        counted = alone.device(storage.device)
        assert counted and counted.flushes is not None and counted.flushes < 0.05 * alone.ops
    assert headless.rules_against(run) == set()
    assert "flushes-arrive" in headless.rules(run, "consistent")
    assert run.verdict == "consistent", run.sentence
    assert "odirect-alone" in {finding.rule for finding in run.findings}


def test_loop_without_direct_io_is_reported_as_not_direct(workshop: Path) -> None:
    with disks.on_loop(workshop, direct_io=False) as storage:
        run = headless.measure("odirect-truth", storage)
    assert headless.rules_against(run) == set()
    (found,) = (finding for finding in run.findings if finding.rule == "bytes-missing")
    assert (found.scope, found.verdict, found.steps) == ("step", None, ("O_DIRECT",))
