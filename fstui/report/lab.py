"""The laboratory for its class: names that tell nothing, and envelopes."""

from __future__ import annotations

from fstui.report.characters import page
from fstui.report.text import WIDTH, hanging, table
from fstui.simulate.lab.record import Lab, Storage

_HEADER = ("NAME", "DIRECTORY", "ENVELOPE")


def render(lab: Lab, width: int | None = None) -> str:
    """Its storages; the truth of those alone whose envelope is open."""
    rows = [(each.name, lab.place(each), _envelope(each)) for each in lab.storages]
    return page(table([_HEADER, *rows], "<<<", width))


def envelope(storage: Storage, width: int | None = None) -> str:
    """The truth."""
    kind = storage.truth
    pairs = [("in truth", kind.truth), ("fstui says", f"{kind.verdict}, by {kind.rule}"), ("seen", kind.seen)]
    return page([f"{storage.name}: {kind.title}", "", *hanging(pairs, width or WIDTH)])


def _envelope(storage: Storage) -> str:
    if storage.opened:
        return storage.truth.title
    return "sealed" if storage.served else "sealed; its disk has no power: fstui clean"
