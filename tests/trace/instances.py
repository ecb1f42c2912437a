"""Instances of tracefs, also on hosts that have not mounted it."""

from pathlib import Path

from fstui.trace.reader import tracefs


def is_there(path: str) -> bool:
    """Return whether the instance with this usual path exists."""
    return (Path(tracefs.find_tracefs()) / "instances" / Path(path).name).exists()
