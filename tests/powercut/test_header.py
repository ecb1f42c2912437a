"""The header is untrusted: it comes from another host, in a file that any program may have changed."""

import asyncio
from typing import Any

import pytest

from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.powercut.header import PowerCutHeader, decode_header
from fstui.powercut.log import parse_header
from fstui.runs import power_cut
from fstui.runs.machine.local import LocalMachine
from fstui.runs.session import Session


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> PowerCutHeader:
    return asyncio.run(
        power_cut.prepare_cut(Session(LocalMachine()), str(tmp_path_factory.mktemp("target")), {})
    ).header


def fields(header: PowerCutHeader, **changed: Any) -> dict[str, Any]:
    return {**parse_header(encode(header)), **changed}


REQUIRED = sorted(set(PowerCutHeader.__struct_fields__) - {"fstui"})


@pytest.mark.parametrize("missing", REQUIRED)
def test_header_with_a_missing_field_is_refused(written: PowerCutHeader, missing: str) -> None:
    less = fields(written)
    del less[missing]
    with pytest.raises(Refused, match="not the header"):
        decode_header(less)


STREAM = [0, "fsync", "append", 4096, 8, 2]


@pytest.mark.parametrize(
    "changed",
    [
        {"run": "../../../../etc"},
        {"run": "00112233445566FF"},
        {"streams": [STREAM, STREAM]},
        {"streams": [[1, *STREAM[1:]]]},
        {"streams": [[-1, *STREAM[1:]]]},
        {"streams": [STREAM[:5]]},
        {"streams": [[0, "none", *STREAM[2:]]]},
        {"streams": [[0, "fsync", "append", 0, 8, 2]]},
        {"streams": [[0, "fsync", "append", 4097, 8, 2]]},
        {"streams": [[0, "fsync", "append", 4096, 0, 2]]},
        {"streams": [[0, "fsync", "append", 4096, 8, -2]]},
        {"streams": [[0, "fsync", "append", 4096, 1 << 40, 2]]},
        {"streams": [[0, "fsync", "append", 4096, 1e3, 2]]},
        {"host": {"hostname": "\ud800"}},
        {"fsid": "0"},
    ],
    ids=str,
)
def test_impossible_header_is_refused(written: PowerCutHeader, changed: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="not the header"):
        decode_header(fields(written, **changed))
