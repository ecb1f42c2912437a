"""Commits of an embedded database. Each transaction of SQLite rewrites one row of a table."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from fstui.measure.kinds import MAX_BYTES, MAX_SECONDS, StepFigures, StepSettings
from fstui.model.base import Amount, Count
from fstui.model.settings import Amounts, CommitSettings, Figures

_LOG_BYTES = 16 << 20


class SqliteCommits(StepSettings, frozen=True, kw_only=True, tag="sqlite_commits"):
    """Settings of a step of SQLite commits. Only ``synchronous`` decides whether a commit is durable."""

    seconds: float = 1.0
    journal_mode: Literal["DELETE", "TRUNCATE", "PERSIST", "WAL"] = "DELETE"
    synchronous: Literal["OFF", "NORMAL", "FULL", "EXTRA"] = "FULL"
    rows: int = 10_000
    row_bytes: int = 100
    max_bytes_per_s: int = 268435456
    """The step ends early when it has written max_bytes_per_s × seconds."""

    operation_name: ClassVar[str | None] = "commits"

    @property
    def durable(self) -> bool:
        """https://sqlite.org/pragma.html#pragma_synchronous"""
        return self.synchronous in {"FULL", "EXTRA"}

    def amounts(self) -> Amounts:
        table_bytes = self.rows * self.row_bytes
        return Amounts(int(self.seconds * self.max_bytes_per_s) + table_bytes, 2 * table_bytes + _LOG_BYTES)

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        return ops if self.durable else 0

    def commit_settings(self, figures: Figures) -> CommitSettings:
        settings = (f"synchronous = {self.synchronous}",)
        return CommitSettings(
            database=f"SQLite {figures.sqlite if isinstance(figures, SqliteCommitsFigures) else ''}".strip(),
            settings=settings,
            lossy=() if self.durable else settings,
            durable=self.durable,
        )

    def mistakes(self) -> Iterator[str]:
        if not 0 < self.seconds <= MAX_SECONDS:
            yield f"seconds must be more than 0 and at most {MAX_SECONDS}, not {self.seconds}"
        if self.rows < 1 or self.row_bytes < 1 or self.rows * self.row_bytes > MAX_BYTES:
            yield f"rows and row_bytes must be at least 1, and rows × row_bytes at most {MAX_BYTES}"


class SqliteCommitsFigures(StepFigures, frozen=True, kw_only=True, tag="sqlite_commits"):
    commits: Count = 0
    commits_per_s: Amount = 0.0
    written_bytes: Count = 0
    """Bytes that the probe passed to write(2) and similar calls."""
    sqlite: str = ""
