import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fstui.judge.references import operation_of
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.runs import scenarios
from tests.bench import work

HEAD = """
name = "mine"
title = "Mine"
question = "How long?"
"""
STEP = """
[[steps]]
name = "fdatasync"
probe = "sync_writes"
"""


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "fstui" / "scenarios"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def steps_of(file: Path, text: str, **overrides: str) -> tuple[PlannedStep, ...]:
    file.write_text(text)
    return scenarios.expand(scenarios.load(str(file)), overrides)[1]


def settings_of(file: Path, text: str, **overrides: str) -> list[dict[str, Any]]:
    return [step.settings.as_dict() for step in steps_of(file, text, **overrides)]


def refusal(file: Path, text: str, **overrides: str) -> str:
    with pytest.raises(Refused) as refused:
        steps_of(file, text, **overrides)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", scenarios.names())
def test_every_shipped_scenario_can_be_planned(name: str) -> None:
    loaded = scenarios.load(name)
    assert loaded.name == name and loaded.title and "?" in loaded.question and loaded.help.strip()
    assert all(setting.help for setting in loaded.settings.values())
    _, steps = scenarios.expand(loaded, {})
    assert len({step.name for step in steps}) == len(steps) > 0
    assert all(step.settings.seconds or step.settings.bytes_per_s for step in steps)


def test_a_step_has_the_defaults_and_the_measured_time(file: Path) -> None:
    (settings,) = settings_of(file, HEAD + STEP)
    assert settings == msgspec.structs.asdict(SyncWrites(seconds=1))


def test_a_reference_keeps_its_type_or_becomes_text_in_text(file: Path) -> None:
    text = HEAD + (
        '[settings.block]\nvalue = 8192\n[settings.flag]\nvalue = "direct"\n'
        '[[steps]]\nname = "{flag}, {block} bytes"\nprobe = "sync_writes"\n'
        'block_bytes = "{block}"\nopen_flags = ["{flag}", "dsync"]\n'
    )
    (step,) = steps_of(file, text)
    assert step.name == "direct, 8192 bytes"
    assert step.settings.as_dict()["block_bytes"] == 8192
    assert step.settings.as_dict()["open_flags"] == ("direct", "dsync")


LISTS = HEAD + (
    '[settings.sync]\nvalue = ["fsync", "fdatasync"]\nchoices = ["none", "fsync", "fdatasync"]\n'
    "[settings.writers]\nvalue = [1, 4]\nmin = 1\nmax = 64\n"
    '[[steps]]\nfor_each = ["sync", "writers"]\nname = "{sync} {writers}"\nprobe = "sync_writes"\n'
    'sync = "{sync}"\nwriters = "{writers}"\n'
)


def test_a_list_makes_one_step_per_value(file: Path) -> None:
    assert [step.name for step in steps_of(file, LISTS)] == ["fsync 1", "fsync 4", "fdatasync 1", "fdatasync 4"]
    assert [settings["writers"] for settings in settings_of(file, LISTS)] == [1, 4, 1, 4]


def test_a_list_is_set_with_commas(file: Path) -> None:
    steps = steps_of(file, LISTS, writers="2, 8", sync="none")
    assert [step.name for step in steps] == ["none 2", "none 8"]
    assert [step.settings.as_dict()["writers"] for step in steps] == [2, 8]


TYPES = HEAD + (
    '[settings.bytes]\nvalue = 4096\nunit = "bytes"\n'
    "[settings.most]\nvalue = 8\nmin = 1\nmax = 64\n"
    "[settings.share]\nvalue = 0.5\n"
    "[settings.ready]\nvalue = true\n"
    '[settings.word]\nvalue = "a"\nchoices = ["a", "b"]\n'
) + STEP  # fmt: skip


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("bytes", "16K", 16384),
        ("bytes", "16 KiB", 16384),
        ("bytes", "16kb", 16384),
        ("bytes", "1.5M", 1572864),
        ("bytes", "1G", 1 << 30),
        ("bytes", "16384", 16384),
        ("most", "64", 64),
        ("share", "0.25", 0.25),
        ("share", "2", 2.0),
        ("ready", "no", False),
        ("ready", "TRUE", True),
        ("word", "b", "b"),
        ("seconds", "2", 2),
        ("seconds", "0.5", 0.5),
        ("seconds", "3s", 3),
        ("seconds", "500 ms", 0.5),
        ("seconds", "10m", 600),
        ("seconds", "1.5h", 5400),
    ],
)
def test_a_value_is_parsed_by_the_type_of_its_setting(file: Path, key: str, text: str, value: object) -> None:
    file.write_text(TYPES)
    reference, _ = scenarios.expand(scenarios.load(str(file)), {key: text})
    assert (reference.settings[key], type(reference.settings[key])) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("colour", "red", "mine has no setting 'colour'. It has: seconds, bytes, most, share, ready, word."),
        ("bytes", "lots", "bytes takes a whole number of bytes, not 'lots'"),
        ("most", "1.5", "most takes a whole number, not '1.5'"),
        ("most", "65", "most must be at most 64, not 65"),
        ("most", "0", "most must be at least 1, not 0"),
        ("most", "1,2", "most takes one value, not '1,2'"),
        ("most", "9" * 400, "most must be at most 64, not " + "9" * 400),
        ("most", "", "most takes a whole number, not ''"),
        ("share", "half", "share takes a number, not 'half'"),
        ("share", "nan", "share must be a finite number, not nan"),
        ("seconds", "nan", "seconds must be a finite number, not nan"),
        ("seconds", "inf", "seconds must be a finite number, not inf"),
        ("ready", "perhaps", "ready takes true or false, not 'perhaps'"),
        ("word", "c", "word must be one of a, b, not 'c'"),
    ],
)
def test_a_wrong_value_is_refused_with_the_allowed_ones(file: Path, key: str, text: str, sentence: str) -> None:
    assert refusal(file, TYPES, **{key: text}) == sentence


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", ""),
        (HEAD.replace("question", "queston") + STEP, "no key `queston`. 'fstui explain scenarios' shows an example."),
        (HEAD.replace("question", "help") + STEP, "this key is missing: `question`"),
        (HEAD, "steps"),
        (HEAD + "[settings.block]\nvalu = 1\n" + STEP, "settings.block: there is no key `valu`"),
        (HEAD + "[settings.block]\nvalue = 5\nmax = 4\n" + STEP, "settings.block must be at most 4, not 5"),
        (HEAD + '[settings.sync]\nvalue = "x"\nchoices = ["y"]\n' + STEP, "settings.sync must be one of y, not 'x'"),
        (HEAD + '[[steps]]\nname = "a"\n', "steps[1]: "),
        (HEAD + STEP + 'for_each = ["nothing"]\n', "steps[1].for_each: there is no setting 'nothing'"),
        (HEAD + STEP.replace("sync_", "p"), "step 'fdatasync': no probe 'pwrites'. Choose one of: dirty_flush, "),
        (HEAD + STEP + "blocks = 1\n", "step 'fdatasync': there is no key `blocks`. Did you mean 'block_bytes'?"),
        (HEAD + STEP + 'block_bytes = "4096"\n', "step 'fdatasync': block_bytes: Expected `int`, got `str`"),
        (HEAD + STEP + 'sync = "sometimes"\n', "step 'fdatasync': sync: "),
        (HEAD + STEP + 'block_bytes = "{block}"\n', "'{block}': there is no setting 'block'"),
        (HEAD + "[settings.w]\nvalue = [1, 2]\n" + STEP + 'writers = "{w}"\n', "name it in the step's for_each"),
        (HEAD + STEP + "writers = 0\n", "must be at least 1"),
        (HEAD + STEP + "writers = 65\n", "writers must be at most 64, not 65"),
        (HEAD + STEP + "file_bytes = 1024\n", "file_bytes (1024) is smaller than block_bytes (4096)"),
        (
            HEAD + STEP + 'open_flags = ["direct"]\nblock_bytes = 1000\n',
            "O_DIRECT requires a block size that is a multiple of",
        ),
        (HEAD + STEP + 'offsets = "append"\nwriters = 2\n', "append requires one writer"),
        (HEAD + STEP + "only = { speed = [1] }\n", "only: there is no setting 'speed'"),
        (HEAD + f"[settings.w]\nvalue = {list(range(1001))}\n" + STEP + 'for_each = ["w"]\n', "more than 1000 steps"),
        (HEAD + f"[settings.w]\nvalue = {'9' * 5000}\n" + STEP, "4300 digits"),
        (HEAD + f"x = {'[' * 3000}{']' * 3000}\n" + STEP, "recursion"),
        (HEAD + f"x = '{'x' * (1 << 20)}'\n" + STEP, "it is not a scenario: it is 1.0 MiB long; the limit is"),
        (HEAD + STEP + "seconds = 0\n", "requires a rate limit"),
        (HEAD + STEP + "seconds = nan\n", "seconds must be between"),
        (HEAD + STEP + "ops_per_s = inf\n", "ops_per_s must be between"),
        (HEAD + STEP + "file_bytes = 99999999999999999999\n", "file_bytes and max_bytes_per_s must be at most"),
        (HEAD + STEP + "seconds = -1\n", "seconds must be between 0 and 2678400, not -1"),
        (HEAD + STEP + STEP, "2 steps are named 'fdatasync'"),
        (HEAD + "steps = []\n", "steps: there are none"),
        (HEAD + "[settings.seconds]\nvalue = true\n" + STEP, "seconds"),
        ("\0", ""),
    ],
)
def test_a_mistake_is_reported_with_file_table_and_key(file: Path, text: str, reason: str) -> None:
    sentence = refusal(file, text)
    assert sentence.startswith(f"{file}: ")
    assert reason in sentence


def test_a_file_that_cannot_be_read_is_named(file: Path) -> None:
    with pytest.raises(Refused, match=r"mine\.toml: No such file"):
        scenarios.load(str(file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match=r"mine\.toml: "):
        scenarios.load(str(file))
    with pytest.raises(Refused, match="Is a directory"):
        scenarios.load(f"{file.parent}/")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Refused) as refused:
        scenarios.load("nope")
    assert str(refused.value) == f"no scenario 'nope'. Choose one of: {', '.join(scenarios.names())}."


def test_without_a_home_shipped_scenarios_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)  # a user that is not in the password database
    assert {"fsync-rate", "odirect-truth"} <= set(scenarios.names())


def sync_steps_of(name: str) -> dict[str, SyncWrites]:
    planned = scenarios.expand(scenarios.load(name), {})[1]
    return {step.name: step.settings for step in planned if isinstance(step.settings, SyncWrites)}


@pytest.mark.parametrize("name", sorted({*scenarios.names()} - {"wal-postgres"}))
def test_steps_do_what_their_names_say(name: str) -> None:
    calls = {"direct": "O_DIRECT", "dsync": "O_DSYNC"}
    for step, settings in sync_steps_of(name).items():
        called = {calls[flag] for flag in settings.open_flags} | {settings.sync} - {"none"}
        assert set(re.findall("O_DIRECT|O_DSYNC|fdatasync|fsync", step)) == called
        assert ("append" in step) == (settings.offsets == "append")
        assert (f"{settings.writers} writers" in step) == (settings.writers > 1)


def test_wal_postgres_does_what_pg_test_fsync_does() -> None:
    steps = sync_steps_of("wal-postgres")
    assert {name: (settings.open_flags, settings.sync) for name, settings in steps.items()} == {
        "open_datasync": (("direct", "dsync"), "none"),
        "fdatasync": ((), "fdatasync"),
        "fsync": ((), "fsync"),
        "open_sync": (("direct", "sync"), "none"),
        "no sync": ((), "none"),
    }
    assert {(each.offsets, each.prefill, each.block_bytes) for each in steps.values()} == {("same", "written", 8192)}
    assert operation_of(steps["open_datasync"]) == "O_DIRECT+O_DSYNC"


def test_log_of_fit_fills_allocated_space() -> None:
    log = sync_steps_of("fit")["log, 2300 B, fdatasync"]
    assert (log.offsets, log.prefill, log.block_bytes, log.sync) == ("sequential", "fallocate", 2300, "fdatasync")
    assert log.seconds * log.max_bytes_per_s <= log.file_bytes, "nothing is written twice"
    assert operation_of(log) == "append+fdatasync"
    with pytest.raises(Refused, match="fstui fit DIR --for etcd"):
        scenarios.load("wal-etcd")


def test_the_parity_bench_knows_each_operation_of_fit() -> None:
    assert [each.name for each in work.fit_works()] == list(work.FIT)
