"""One page that holds all it needs, and nothing that runs."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from tests.factories import screens
from tests.hostile import everywhere
from tests.printing import printed_run

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """Every element with its attributes, and what each data block holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.data.append(data)


def test_the_page_contains_the_answers_charts_and_document() -> None:
    page = printed_run(screens.RUN, "html")
    assert "! SUSPICIOUS  high confidence" in page
    assert "I/O path of same block, fdatasync" in page and "✓ all arrived" in page
    assert page.count("<svg ") == len(screens.STEPS)
    renamed = tuple(replace(step, name=step.name.upper()) for step in screens.STEPS)
    findings = tuple(replace(f, steps=tuple(map(str.upper, f.steps))) for f in screens.RUN.findings)
    assert "I/O path of SAME BLOCK, FDATASYNC" in printed_run(
        replace(screens.RUN, steps=renamed, findings=findings), "html"
    )
    elements = Elements(page)
    assert decode_run("".join(elements.data).encode()) == screens.RUN


def test_the_page_fetches_and_runs_nothing() -> None:
    elements = Elements(printed_run(everywhere(screens.RUN), "html"))
    assert [attributes for tag, attributes in elements.found if tag == "script"] == [
        {"type": "application/json", "id": "run-0"}
    ]
    for tag, attributes in elements.found:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "a"}
        assert not {"src", "href", "style"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)


def test_names_are_text_everywhere() -> None:
    steps = tuple(replace(step, name=HOSTILE + step.name) for step in screens.STEPS)
    run = replace(
        screens.RUN, steps=steps, sentence=HOSTILE, simulated=HOSTILE, host=replace(screens.HOST, hostname=HOSTILE)
    )
    page = printed_run(run, "html")
    elements = Elements(page)
    assert sum(tag == "script" for tag, _ in elements.found) == 1 and not any(tag == "img" for tag, _ in elements.found)
    assert json.loads("".join(elements.data))["sentence"] == HOSTILE


def test_a_run_without_steps_is_a_valid_page() -> None:
    page = printed_run(replace(screens.RUN, steps=(), target=None, scenario=None, findings=()), "html")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert not re.search(r"<table><thead>.*</thead><tbody></tbody>", page)
