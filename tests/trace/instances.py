"""Instances of tracefs, also on hosts that have not mounted it."""

from pathlib import Path

from fstui.trace.reader import tracefs


def is_there(path: str) -> bool:
    """Return whether the instance exists. ``path``: its path if tracefs is mounted at the usual place."""
    return (Path(tracefs.find_tracefs()) / "instances" / Path(path).name).exists()
