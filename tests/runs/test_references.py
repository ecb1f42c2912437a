from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.model.documents import encode, with_digest
from fstui.model.errors import Refused
from fstui.runs import references
from fstui.state import user_data
from tests.judge.test_references import on

HONEST, LIAR = on("ssd", "EVO"), replace(on("ssd", "EVO"), id="liar", verdict="not-durable")


def gathered(place: Path, **documents: bytes) -> str:
    for name, document in {"fleet": b"{}", **documents}.items():
        (place / f"{name}.json").write_bytes(document)
    return str(place)


async def test_checks_of_a_fleet_are_combined_without_unfit_runs(tmp_path: Path) -> None:
    honest, liar = encode(with_digest(HONEST)), encode(with_digest(LIAR))
    place = gathered(tmp_path, db1=b"[" + honest + b"," + liar + b"]", db2=b"[" + honest + b"]", db3=b"[]")
    added = await references.add("our db hosts", [place])
    assert [(one.models, one.runs) for one in added.references] == [(("EVO",), 2)]
    (left_out,) = added.skipped
    assert left_out.startswith("run liar of ") and left_out.endswith(": its verdict is not-durable")
    assert user_data.own_references() == added.references


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"[" + encode(with_digest(LIAR)) + b"]", "run liar cannot be a reference: its verdict is not-durable"),
        (b"[]", "contains no run"),
        (b"[{", "is not a run document"),
        (b"[" + encode(with_digest(HONEST)).replace(b'"EVO"', b'"XXX"') + b"]", "altered after it was written"),
    ],
)
async def test_files_without_a_usable_run_are_refused(tmp_path: Path, document: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        await references.add("x", [gathered(tmp_path, db1=document)])
