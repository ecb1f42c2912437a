"""Random writes to a file by the program ``sysbench fileio``."""

from collections.abc import Iterator
from typing import ClassVar

from fstui.measure.kinds import MAX_BYTES, MAX_SECONDS, StepFigures, StepSettings
from fstui.measure.kinds.sysbench import ReportedLatency
from fstui.model.base import Amount, Count
from fstui.model.settings import Amounts

_BYTES_PER_S = 256 << 20


class SysbenchFileio(StepSettings, frozen=True, kw_only=True, tag="sysbench_fileio"):
    seconds: float = 10.0
    block_bytes: int = 16384
    file_bytes: int = 1048576
    fsync_every: int = 1
    direct: bool = False

    program: ClassVar[str | None] = "sysbench"

    def amounts(self) -> Amounts:
        """Return estimates, because sysbench can limit the time but not the bytes."""
        return Amounts(self.file_bytes + int(self.seconds * _BYTES_PER_S), self.file_bytes)

    def mistakes(self) -> Iterator[str]:
        if not 1 <= self.seconds <= MAX_SECONDS:  # sysbench accepts whole seconds
            yield f"seconds must be between 1 and {MAX_SECONDS}, not {self.seconds}"
        if self.block_bytes < 512 or self.fsync_every < 1:
            yield "block_bytes must be at least 512, fsync_every at least 1"
        if not self.block_bytes <= self.file_bytes <= MAX_BYTES:
            yield f"file_bytes must be between block_bytes and {MAX_BYTES}, not {self.file_bytes}"


class SysbenchFileioFigures(StepFigures, frozen=True, kw_only=True, tag="sysbench_fileio"):
    transactions: Count = 0
    written_bytes: Count = 0
    writes_per_s: Amount = 0.0
    fsyncs_per_s: Amount = 0.0
    total_time_s: Amount = 0.0
    events: Count = 0
    latency_ms: ReportedLatency = ReportedLatency()
    times: str = ""
    """A note on what the latencies mean."""

    @property
    def ops(self) -> int:
        return self.transactions
