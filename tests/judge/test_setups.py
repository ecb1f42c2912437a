"""What fstui says of common production setups, with three scenarios."""

import pytest

from fstui.model.judgement import NOT_TRUSTED
from tests.judge.setups import DOCS, PAGES, Setup, groups, judged

SETUPS = [setup for group in groups() for setup in group.rows]
GOOD = {"consistent", "plausible", "kept"}


def test_at_least_60_setups_with_distinct_names() -> None:
    assert len({setup.name for setup in SETUPS}) == len(SETUPS) >= 60


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_setup_is_judged_as_expected(setup: Setup) -> None:
    found = judged(setup, "odirect-truth")
    assert (found.verdict, found.confidence) == (setup.verdict, setup.confidence), found.sentence
    assert found.speed.answer == setup.speed, found.speed


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_scenarios_agree(setup: Setup) -> None:
    """A scenario with less evidence may be less certain; it does not contradict."""
    verdicts = {judged(setup, scenario).verdict for scenario in ("check", "fsync-rate", "odirect-truth")}
    assert len(verdicts) == 1 or verdicts <= GOOD, verdicts


@pytest.mark.parametrize("setup", [one for one in SETUPS if one.expects_flushes], ids=lambda setup: setup.name)
def test_dropped_flushes_are_missed(setup: Setup) -> None:
    assert judged(setup, "no flushes").verdict == "not-durable"


def test_cannot_tell_and_unknown_are_rare() -> None:
    found = [judged(setup, "odirect-truth") for setup in SETUPS]
    assert sum(each.verdict == "cannot-tell" for each in found) <= 0.15 * len(found)
    trusted = [each for each in found if each.verdict not in NOT_TRUSTED]
    assert sum(each.speed.answer == "unknown" for each in trusted) <= 0.05 * len(found)


@pytest.mark.parametrize("setup", [one for one in SETUPS if one.verdict == "cannot-tell"], ids=lambda setup: setup.name)
def test_doubt_says_who_can_answer_and_what_to_do_until_then(setup: Setup) -> None:
    found = judged(setup, "odirect-truth")
    next_steps = next(each.next for each in found.findings if each.verdict == "cannot-tell" or each.rule == "undecided")
    assert len(next_steps) >= 2 and next_steps[-1].startswith("Until then")


@pytest.mark.parametrize("name", PAGES)
def test_page_shows_these_results(name: str) -> None:
    assert (DOCS / f"{name}.md").read_text() == PAGES[name](), "run python -m tests.judge.setups"
