"""The page of the second answer; the answer itself is tested under tests/judge/speed."""

from fstui.judge import explain
from fstui.judge.speed.answer import speed
from fstui.judge.speed.stalls import STALL_NS
from fstui.judge.verdict import judge
from fstui.model.run import Evidence


def test_its_page_tells_every_answer_and_the_limit_that_is_used() -> None:
    page = explain("is-it-slow")
    assert all(f"**{answer}**" in page for answer in ("stalls", "slow", "normal", "unknown"))
    assert f"{STALL_NS // 1_000_000} ms" in page


def test_before_anything_was_measured_the_question_is_not_answered() -> None:
    assert judge(Evidence()).speed.title == ""
    assert speed.__doc__
