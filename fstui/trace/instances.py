"""The instances that fstui makes in tracefs, by their names, and the removal of those that a killed run has left."""

from __future__ import annotations

from pathlib import PurePosixPath

from fstui.measure.children import NoAnswer, ask_program
from fstui.state import ledger
from fstui.state.noting import strike_out

INSTANCES = PurePosixPath("/sys/kernel/tracing/instances")
PREFIX = "fstui-"
_REMOVE_S = 10.0


def path_of(run_id: str) -> str:
    """Where a run's instance is, where tracefs is mounted as usual."""
    return str(INSTANCES / (PREFIX + run_id))


async def existing() -> list[str]:
    """The paths of all that are there by their name, of living runs too; none where nobody may look."""
    try:
        answer = await ask_program("trace.reader.record", "list", "", _REMOVE_S, "tracefs")
    except (NoAnswer, OSError):
        return []
    return [str(INSTANCES / name) for name in answer.get("names", ())]


async def remove_left_behind(entry: ledger.Entry) -> str | None:
    """Remove what a killed run left. Returns None, or the sentence that says why it is still there.

    The kernel refuses to remove one that a living process reads.
    """
    try:
        name = PurePosixPath(entry.what).name
        answer = await ask_program("trace.reader.record", "remove", name, _REMOVE_S, entry.what)
    except NoAnswer as silence:
        return f"{entry.what}: not removed: it {silence.reason}"
    if answer.get("removed"):
        await strike_out(entry)
        return None
    return f"{entry.what}: not removed: {answer.get('error')}"
