"""The loop that all writers share, with a clock of its own."""

import pytest

from fstui.measure.probes import writers
from fstui.measure.probes.writers import HAND_OVER_NS, MAX_PENDING, Batch, Shared, WriteLoop

BATCH_NS = 10_000_000


class Played(WriteLoop):
    """A writer whose batches take 10 ms each. It notes when it handed its samples over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, frames_per_batch: int) -> None:
        super().__init__({"seconds": 1, "writers": 1}, Shared(1), 0)
        self._frames = [b""] * frames_per_batch
        self._now_ns = 0
        self.handed_over_ns: list[int] = []
        monkeypatch.setattr(writers, "clock", lambda: self._now_ns)

    def batch(self) -> Batch:
        return self._batch

    def _batch(self, until_ns: int, ops_left: int) -> int:
        self._now_ns += BATCH_NS
        self.ops += 1
        self.pending += self._frames
        return self._now_ns

    def hand_over(self) -> None:
        self.pending = []
        self.handed_over_ns.append(self._now_ns)


def test_samples_are_handed_over_four_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, frames_per_batch=1)
    played.run()
    assert played.handed_over_ns[:4] == [HAND_OVER_NS * number for number in (1, 2, 3, 4)]


def test_many_samples_are_handed_over_before_the_pipe_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, frames_per_batch=MAX_PENDING // 4)
    played.run()
    assert played.handed_over_ns[0] < HAND_OVER_NS
    assert len(played.handed_over_ns) == 1_000_000_000 // writers.LOOK_NS + 1  # and once at the end
