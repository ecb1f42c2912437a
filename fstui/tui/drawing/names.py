"""Names of steps in a column that is too narrow for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile, zip_longest

from fstui.tui.drawing.cells import fit_middle


def distinct(names: Sequence[str], width: int) -> list[str]:
    """Each in that many cells, cut in the middle; of those that would read alike then, only what tells them apart.

    Where that is too long, too, the number of its step goes before it.
    """
    cut = _cut(names, width)
    alike = [at for at, text in enumerate(cut) if cut.count(text) > 1 and names.count(names[at]) == 1]
    for at, text in zip(alike, _cut(_differences([names[at] for at in alike]), width), strict=True):
        cut[at] = text
    seen = Counter(cut)
    return [
        fit_middle(f"{at} {name}", width) if seen[text] > 1 else text
        for at, (name, text) in enumerate(zip(names, cut, strict=True), 1)
    ]


def _cut(names: Sequence[str], width: int) -> list[str]:
    return [fit_middle(name, width) for name in names]


def _differences(names: Sequence[str]) -> list[str]:
    """Word by word, without what all of them have: whole words, and beginnings that end in ``_``."""
    columns = list(zip_longest(*(name.split() for name in names), fillvalue=""))
    told = [_without_beginning(column) for column in columns if len(set(column)) > 1]
    return [" ".join(filter(None, words)) for words in zip(*told, strict=True)] if told else list(names)


def _without_beginning(words: Sequence[str]) -> list[str]:
    parts = [word.split("_") for word in words if word]
    alike = sum(1 for _ in takewhile(lambda found: len(set(found)) == 1, zip(*parts, strict=False)))
    shared = min(alike, *(len(part) - 1 for part in parts))
    return ["…" + "_".join(word.split("_")[shared:]) if word and shared else word for word in words]
