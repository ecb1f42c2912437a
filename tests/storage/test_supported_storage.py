import re
from pathlib import Path

from fstui.report.explanation import documentation

TESTS = Path(__file__).resolve().parents[1]
TABLES = documentation()["supported-storage"].split("\n## ")
TESTED_BY, FAULTS = (next(table for table in TABLES if table.startswith(title)) for title in ("Tested by", "Faults"))
KINDS = TABLES[1:-2]


def rows(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_each_row_is_known_by_a_test_or_a_machine() -> None:
    assert [row[0] for row in rows(TESTED_BY)] == [row[0] for table in KINDS for row in rows(table)]
    known = {path.name for path in TESTS.rglob("test_*.py")} | {path.stem for path in TESTS.glob("lab/machines/*.toml")}
    for name, *_, by in rows(TESTED_BY) + rows(FAULTS):
        named = re.findall("`(.+?)`", by)
        assert named and known.issuperset(named), name
