"""What a server was started with, against what it says is in force."""

from __future__ import annotations

import pytest

from fstui.databases.in_force import differences


@pytest.mark.parametrize(
    ("asked", "has"),
    [
        (True, "ON"),
        (0, "OFF"),
        ("O_DIRECT", "o_direct"),
        ("64M", "67108864"),
        ("64MB", "65536kB"),
        ("5min", "300s"),
        (8192, "64MB"),
        (-1, "4MB"),
        (0.5, "0.500000"),
    ],
)
def test_one_value_in_other_words_is_no_difference(asked: object, has: str) -> None:
    assert list(differences({"name": asked}, {"name": has})) == []


@pytest.mark.parametrize(("asked", "has"), [(False, "ON"), (9, "3"), ("O_DSYNC", "fsync"), ("64M", "67108865")])
def test_another_value_is_named_with_both(asked: object, has: str) -> None:
    assert list(differences({"name": asked}, {"name": has})) == [f"name = {asked} was asked for, {has} is in force"]


def test_a_name_that_is_no_variable_is_not_compared() -> None:
    assert list(differences({"loose_option": 1}, {"version": "15"})) == []
