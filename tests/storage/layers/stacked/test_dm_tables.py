import pytest

from fstui.storage.layers.stacked import dm_tables
from fstui.storage.layers.stacked.dm_tables import DmTable
from fstui.storage.tool_output import NO_OUTPUTS, ToolOutput


def tables(output: str) -> dict[str, DmTable]:
    return dict(dm_tables.read_tables({dm_tables.PATH: ToolOutput(output=output)}))


def test_no_answer_gives_no_tables() -> None:
    assert dm_tables.read_tables(NO_OUTPUTS) == {}
    assert dm_tables.read_tables({dm_tables.PATH: ToolOutput(error="no answer for 4 s")}) == {}
    assert tables("No devices found") == {}


def test_name_may_have_blanks_and_colons() -> None:
    assert list(tables("a b: 0 8 linear 8:1 0\nc:d: 0 8 zero")) == ["a b", "c:d"]


@pytest.mark.parametrize(("words", "reading"), [
    ("cache 8:1 8:2 8:3 512 0 smq 0", ("cache_mode", "writeback")),
    ("writecache s 8:1 8:2 4096 3 high_watermark 60 cleaner", ("writes_past", "cleaner")),
    ("raid raid6_zr 1 128 2 - 8:1 - 8:2", ("level", "raid6")),
    ("raid raid5_ls 1 128 3 - 8:1 - - 8:2 8:3", ("missing_members", "1")),
])  # fmt: skip
def test_table_settings(words: str, reading: tuple[str, str]) -> None:
    (table,) = tables(f"x: 0 8 {words}").values()
    assert reading in [(each.what, each.value) for each in table.readings]
    assert {each.path for each in table.readings} == {"dmsetup table"}
