"""What a unit of money buys."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.report import compare, price
from tests.factories.samples import RUN, SYNCED, UNSYNCED
from tests.printing import printed
from tests.report.test_oltp import database

DEAR = replace(
    RUN, id="dear", verdict="consistent", steps=(SYNCED, UNSYNCED, database("oltp_insert", 220.0, 9, durable=True))
)
CHEAP = replace(DEAR, id="cheap", verdict="not-durable")


def bought(per_hour: dict[str, float]) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in price.rows([DEAR, CHEAP], per_hour)}


def test_operations_for_one_unit_of_money() -> None:
    rows = bought({"dear": 0.84, "cheap": 0.42})
    assert rows["for 1.00 of the price"] == ("dear", "cheap")
    assert rows["price an hour"] == ("0.84", "0.42")
    assert rows["fdatasync: writes"] == ("3 600 000", "7 200 000")
    assert rows["oltp_insert high: transactions"] == ("942 857", "1 885 714")


def test_what_is_known_to_lose_its_syncs_buys_nothing_durable_and_what_was_not_synced_neither() -> None:
    rows = list(price.rows([DEAR, CHEAP], {"dear": 0.84, "cheap": 0.42}))
    durable = [row for row in rows if "durable" in row[0]]
    assert durable[0] == ("  of these durable", "3 600 000", "–")
    assert rows[rows.index(durable[0]) + 1][0] == "write, no sync: writes"
    assert not rows[rows.index(durable[0]) + 2][0].startswith("  of these")


def test_a_run_without_a_price_has_none() -> None:
    assert bought({"dear": 0.84})["fdatasync: writes"] == ("3 600 000", "–")
    assert "for 1.00" not in printed(compare.of_runs([DEAR, CHEAP])) and "for 1.00" in printed(
        compare.of_runs([DEAR, CHEAP], per_hour={"dear": 1})
    )
