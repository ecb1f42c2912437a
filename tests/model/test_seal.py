"""A run document tells by its digest whether it is as it was written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode, is_altered, with_digest
from fstui.model.run import Run
from fstui.report.formats.json import indented
from tests.factories import screens
from tests.hostile import everywhere


@pytest.mark.parametrize("run", [screens.RUN, everywhere(screens.RUN)], ids=["prepared", "hostile names"])
def test_digest_ignores_indentation(run: Run) -> None:
    written = encode(with_digest(run))
    for document in (written, written + b"\n", indented(with_digest(run)), json.dumps(json.loads(written)).encode()):
        assert not is_altered(document)
    assert decode_run(written).digest


@given(st.data())
def test_any_changed_value_is_detected(data: st.DataObject) -> None:
    written = encode(with_digest(screens.RUN))
    at = data.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + data.draw(st.binary(min_size=1, max_size=1)) + written[at + 1 :]
    try:
        same = json.loads(changed) == json.loads(written)
    except ValueError:
        return
    assert is_altered(changed) != same or not json.loads(changed).get("digest")


def test_edited_verdict_is_detected() -> None:
    lied = replace(with_digest(screens.RUN), verdict="kept")
    assert is_altered(encode(lied)) and is_altered(indented(lied))
    assert not is_altered(encode(with_digest(lied)))


@pytest.mark.parametrize("document", [encode(screens.RUN), b"", b"[]", b"no json", b'{"digest": ""}', b"[" * 100_000])
def test_document_without_digest_is_not_altered(document: bytes) -> None:
    assert not is_altered(document)
