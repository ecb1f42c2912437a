"""A directory as a run holds it."""

from pathlib import Path

from fstui.state.workspace import HeldDirectory


def held(path: Path) -> HeldDirectory:
    status = path.stat()
    return HeldDirectory(str(path), status.st_dev, status.st_ino)
