"""What a probe's frames must say: a frame that says anything else ends its step with a sentence."""

from typing import Any

import pytest

from fstui.measure.wire.frames import BadFrame, Frame
from fstui.runs.recorder import Reported
from fstui.runs.stepping import checked_fields


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("facts", {"pipe_fsync_fails": "x"}),
        ("preparing", {"done": -1, "total": 2}),
        ("preparing", {"done": 1, "total": 2, "more": 3}),
        ("inflight", {}),
        ("inflight", {"writer": 0, "since_ns": "long", "call": "fsync"}),
        ("figures", {"histogram": [[1]]}),
        ("figures", {"intervals": 3}),
        ("error", {"call": "open"}),
        ("done", {"start_ns": 0, "end_ns": 1, "held_ns": -1}),
        ("done", {"start_ns": 0, "end_ns": 1, "held_ns": 0, "surprise": 1}),
    ],
)
def test_a_frame_that_makes_no_sense_is_said_so(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(BadFrame, match=f"the probe's '{kind}' frame is not valid: "):
        checked_fields(Frame(kind, fields))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("ready", {}),
        ("facts", {"pipe_fsync_fails": True}),
        ("error", {"call": "pwrite", "errno": None, "message": "m", "writer": 0}),
        ("done", {"start_ns": 0, "end_ns": 1, "held_ns": 0, "cpu_wait_ns": None}),
    ],
)
def test_what_our_probes_say_is_checked_fields(kind: str, fields: dict[str, Any]) -> None:
    assert checked_fields(Frame(kind, fields)) == fields


def test_figures_of_another_kind_are_said_so() -> None:
    with pytest.raises(BadFrame, match="the probe's figures are not valid: "):
        Reported("sysbench").note({"transactions": "many"})
