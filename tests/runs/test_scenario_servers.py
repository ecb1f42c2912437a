from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.runs import scenarios

FILE = """
name = "mine"
title = "Mine"
question = "How fast?"

[settings.seconds]
value = 1
[settings.kind]
value = ["mariadb"]
choices = ["mariadb", "postgresql"]
[settings.durability]
value = ["high", "low"]
[settings.durability.choices]
high = { sync_binlog = 1, innodb_flush_log_at_trx_commit = 1 }
low = { sync_binlog = 0, innodb_flush_log_at_trx_commit = 2 }
[settings.data]
value = "small"
[settings.data.choices]
small = { rows = 100, pool_bytes = 16777216 }
[settings.rows]
value = 0
absent = 0
[settings.log]
value = [true]
[settings.sync]
value = -1
absent = -1
[settings.threads]
value = [1]

[server]
kind = "{kind}"
options = { innodb_flush_method = "O_DIRECT" }

[[steps]]
for_each = ["kind", "durability", "log", "threads"]
only = { kind = ["mariadb"] }
name = "oltp {*}"
probe = "sysbench"
threads = "{threads}"
rows = "{rows}"
"*" = "{data}"
options = { log_bin = "{log}", sync_binlog = "{sync}", "*" = "{durability}" }
"""


def planned(tmp_path: Path, text: str = FILE, **settings: str) -> list[PlannedStep]:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return list(scenarios.expand(scenarios.load(str(file)), settings)[1])


def test_a_word_means_several_options(tmp_path: Path) -> None:
    high, low = planned(tmp_path)
    assert high.settings.as_dict()["server"] == "mariadb"
    assert high.settings.as_dict()["options"] == {
        "innodb_flush_method": "O_DIRECT",
        "sync_binlog": 1,
        "innodb_flush_log_at_trx_commit": 1,
        "log_bin": True,
    }
    assert low.settings.as_dict()["options"]["sync_binlog"] == 0


def test_a_step_is_named_after_the_settings_that_vary(tmp_path: Path) -> None:
    assert [step.name for step in planned(tmp_path)] == ["oltp high", "oltp low"]
    assert [step.name for step in planned(tmp_path, durability="low")] == ["oltp"]
    assert [step.name for step in planned(tmp_path, durability="low", threads="1,8")] == [
        "oltp threads 1",
        "oltp threads 8",
    ]


def test_a_key_takes_precedence_over_a_word_unless_absent(tmp_path: Path) -> None:
    assert planned(tmp_path)[0].settings.as_dict()["rows"] == 100
    assert planned(tmp_path, rows="7")[0].settings.as_dict()["rows"] == 7


def test_false_and_0_are_not_absent_values(tmp_path: Path) -> None:
    high, _ = planned(tmp_path, log="false", sync="0")
    assert high.settings.as_dict()["options"] == {
        "innodb_flush_method": "O_DIRECT",
        "log_bin": False,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 1,
    }
    assert high.name == "oltp high"


def test_a_switch_within_a_text_is_written_in_lower_case(tmp_path: Path) -> None:
    text = FILE.replace('name = "oltp {*}"', 'name = "log {log} {durability}"')
    assert [step.name for step in planned(tmp_path, text)] == ["log true high", "log true low"]


def test_a_table_may_apply_to_some_values_only(tmp_path: Path) -> None:
    assert len(planned(tmp_path, kind="mariadb,postgresql")) == 2
    with pytest.raises(Refused, match="no step is left"):
        planned(tmp_path, kind="postgresql")


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ('"*" = "{data}"', '"*" = "{rows}"', "needs a setting whose choices each select"),
        ('"*" = "{data}"', '"*" = "small"', "needs a setting whose choices each select"),
        ('kind = "{kind}"', 'kind = "oracle"', "server"),
        ("rows = 100,", "rows = 100, colour = 1,", "colour"),
        ("sync_binlog = 1", '"sync binlog" = 1', "'sync binlog' is not a valid option name"),
    ],
)
def test_a_mistake_is_reported_with_its_step(tmp_path: Path, wrong: str, right: str, sentence: str) -> None:
    assert wrong in FILE
    with pytest.raises(Refused) as refusal:
        planned(tmp_path, FILE.replace(wrong, right))
    assert sentence in str(refusal.value) and "mine.toml" in str(refusal.value)


def test_a_run_lists_only_settings_that_its_server_has() -> None:
    """PostgreSQL has no flush_method, so setting it is a mistake, and its run does not list it."""
    shipped = scenarios.load("sysbench-oltp")
    postgresql, _ = scenarios.expand(shipped, {"server": "postgresql", "full_page_writes": "false"})
    mariadb, _ = scenarios.expand(shipped, {"server": "mariadb", "flush_method": "fsync"})
    every, _ = scenarios.expand(shipped, {})
    all_settings = set(every.settings)
    assert all_settings - set(postgresql.settings) == {"flush_method", "doublewrite", "durability"}
    assert all_settings - set(mariadb.settings) == {"wal_sync_method", "full_page_writes", "synchronous_commit"}
    with pytest.raises(Refused, match="--set flush_method=fsync has no effect"):
        scenarios.expand(shipped, {"server": "postgresql", "flush_method": "fsync"})
