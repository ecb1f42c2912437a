"""The page about speed. The answer itself is tested in tests/judge/test_speed.py."""

from fstui.judge import explain
from fstui.judge.speed.answer import speed
from fstui.judge.verdict import judge
from fstui.measure.latency import STALL_NS
from fstui.model.run import Evidence


def test_page_names_every_answer_and_the_stall_limit() -> None:
    page = explain("is-it-slow")
    assert all(f"**{answer}**" in page for answer in ("stalls", "slow", "not slow", "unknown"))
    assert f"{STALL_NS // 1_000_000} ms" in page


def test_speed_is_not_answered_before_a_run() -> None:
    assert judge(Evidence()).speed.title == ""
    assert speed.__doc__
