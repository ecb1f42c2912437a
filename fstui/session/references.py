"""What storage is held against: what was published of other people's, and what the user measured on their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fstui.judge.references import library, of_runs, published
from fstui.model.errors import Refused
from fstui.model.own_references import OwnReference
from fstui.model.run import Run
from fstui.model.seal import ALTERED
from fstui.session import kept
from fstui.state import own_references, runs

__all__ = ["OwnReference", "add", "library", "own", "published", "remove"]

MOST_NAME = 40
ABOUT_A_FLEET = "fleet.json"
"""Beside the documents of its boxes: it is none of them."""
READING_S = 60.0
"""For a directory of a thousand documents."""


async def own() -> tuple[OwnReference, ...]:
    """Those that the user named. Raises Refused where the home gives no answer."""
    return await kept.ask(own_references.recall)


async def add(name: str, references: Iterable[str]) -> tuple[OwnReference, ...]:
    """Runs, or directories of their documents, as references of that name. Raises Refused, OSError."""
    if not name.strip() or len(name) > MOST_NAME or not name.isprintable():
        raise Refused(f"a name of 1 to {MOST_NAME} printable characters is wanted, as in --name 'our db hosts'")
    found = of_runs(name, await kept.ask(_read, tuple(references), patience_s=READING_S))
    await kept.ask(own_references.add, found)
    return found


async def remove(name: str) -> None:
    """Forget those of that name. Raises Refused where there are none, OSError."""
    await kept.ask(own_references.remove, name)


def _read(references: tuple[str, ...]) -> list[Run]:
    return [_sound(path) for reference in references for path in _documents(reference)]


def _documents(reference: str) -> list[Path]:
    place = Path(reference)
    if not place.is_dir():
        return [runs.find(reference)]
    found = sorted(path for path in place.glob("*.json") if path.name != ABOUT_A_FLEET)
    if not found:
        raise Refused(f"{reference}: there is no run's document (*.json) in it")
    return found


def _sound(path: Path) -> Run:
    run, altered = runs.read_sealed(path)
    if altered:
        raise Refused(f"{path}: {ALTERED}")
    return run
