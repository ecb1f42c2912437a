"""The laboratory for its class: names that tell nothing, and envelopes."""

from __future__ import annotations

from fstui.report.characters import page
from fstui.report.text import WIDTH, hanging, table
from fstui.simulate.lab.laboratory import Lab, Storage

_HEADER = ("NAME", "DIRECTORY", "ENVELOPE")


def render(lab: Lab, width: int | None = None) -> str:
    """List its storages, and the truth of those whose envelope is open."""
    rows = [(each.name, lab.place(each), each.truth.title if each.opened else "sealed") for each in lab.storages]
    return page(table([_HEADER, *rows], "<<<", width))


def envelope(storage: Storage, width: int | None = None) -> str:
    """Render the content of an envelope."""
    kind = storage.truth
    pairs = [("in truth", kind.truth), ("fstui says", f"{kind.verdict}, by {kind.rule}"), ("seen", kind.seen)]
    return page([f"{storage.name}: {kind.title}", "", *hanging(pairs, width or WIDTH)])
