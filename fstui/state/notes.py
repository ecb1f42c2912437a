"""What the user noted of saved runs. Beside their documents: a run is sealed as it was measured."""

from __future__ import annotations

from collections.abc import Iterable

from fstui.state.remembered import Remembered

_KEPT = Remembered("notes.json", dict[str, str], {})


def recall() -> dict[str, str]:
    """By the run's id."""
    return _KEPT.read()


def note(run: str, words: str) -> None:
    """Keep it, in the place of an earlier one; no words, no note. Raises OSError, Refused."""
    others = {other: noted for other, noted in recall().items() if other != run}
    _KEPT.write({**others, run: words} if words else others)


def forget(gone: Iterable[str]) -> None:
    """Those of runs that are deleted. Raises OSError, Refused."""
    before, ids = recall(), set(gone)
    if ids & before.keys():
        _KEPT.write({run: words for run, words in before.items() if run not in ids})
