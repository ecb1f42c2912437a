"""Save a run as fstui does, and read it again."""

from pathlib import Path

from fstui.model.run import Run
from fstui.state import runs
from fstui.state.files import write_private


def save(run: Run) -> Path:
    path = runs.path_of(run)
    write_private(path, runs.document(run))
    return path


def load(reference: str) -> Run:
    return runs.read(runs.find(reference))
