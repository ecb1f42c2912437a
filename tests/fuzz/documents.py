"""Run documents with changed values: fstui must refuse them, or read, judge and print them without markup."""

import csv
import html.parser
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.report import compare, formats
from tests.factories.databases import OLTP
from tests.factories.runs import saved
from tests.factories.samples import FAILED_RUN
from tests.fuzz.inputs import Choices
from tests.hostile import is_safe
from tests.printing import as_text

MAX_CHANGES = 3
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_CODE = re.compile(r"```text\n.*?\n```|`[\w.-]+`|\\.", re.DOTALL)


@cache
def documents() -> list[tuple[bytes, list[tuple[Any, ...]]]]:
    """Return valid documents, and the paths of all values in each."""
    found = [encode(run) for run in (FAILED_RUN, saved(), OLTP)]
    return [(document, list(_places(json.loads(document)))) for document in found]


def changed(data: bytes) -> None:
    """Read a valid document with other values in some places."""
    choices = Choices(data)
    text, places = choices.one_of(documents())
    document = json.loads(text)
    for _ in range(1 + choices.number() % MAX_CHANGES):
        *path, last = choices.one_of(places)
        with suppress(KeyError, IndexError, TypeError):  # an earlier change removed it
            place = document
            for name in path:
                place = place[name]
            place[last] = choices.value()
    check_bytes(json.dumps(document))


def seeds() -> list[bytes]:
    """Return inputs that change values of every kind."""
    return [bytes([number, 0, place, 0, kind, 7, 8]) for number in range(3) for place in range(0, 256, 16)
            for kind in range(8)]  # fmt: skip


def check_bytes(data: bytes | str) -> None:
    """Read the data as a saved run, which must be refused, or be judged and printed without markup."""
    try:
        run = decode_run(data)
    except Refused as refusal:
        assert str(refusal)
        return
    judge(run)
    for name in formats.names():
        rendered = formats.render(name, run, "/saved")
        text = rendered if isinstance(rendered, str) else rendered.decode()
        assert is_safe(text), name
        text.encode()
    assert is_safe(as_text(compare.comparison_report([run, run])))
    is_only_cells(run)
    is_only_markdown(run)


def is_only_cells(run: Run) -> None:
    """Check that no cell of the table is a formula for a spreadsheet."""
    text = formats.render("csv", run)
    assert isinstance(text, str)
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 1 + len(run.steps)
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(_FORMULA) or _NUMBER.fullmatch(cell), cell


def is_only_markdown(run: Run) -> None:
    """Check that no name adds a tag, a link or other markup."""
    text = formats.render("markdown", run)
    assert isinstance(text, str)
    rest = _CODE.sub("", text)
    tags = _Tags()
    tags.feed(rest)
    assert not tags.found, tags.found
    assert not set(rest) & set("<>[]"), rest


class _Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield (*path, name)
        yield from _places(item, (*path, name))
