import fcntl
import inspect
import json
import os
import subprocess
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from fstui import __version__
from fstui.cli import documentation
from fstui.cli.commands import COMMANDS, group
from fstui.cli.execution import exit_status
from fstui.measure.wire.own_directory import MARK
from fstui.model.documents import encode, with_digest
from fstui.state import ledger
from tests.cli.conftest import Fstui, command, refusal
from tests.factories import saved_runs
from tests.factories.samples import FAILED_RUN, RUN
from tests.prefork import Forked


@pytest.fixture
def saved(own_home: Path) -> Path:
    saved_runs.save(FAILED_RUN)
    return saved_runs.save(RUN)


def test_the_version(fstui: Fstui) -> None:
    for option in ("--version", "-V"):
        assert fstui(option).stdout.decode() == f"fstui {__version__}\n"


def test_help_works_as_a_command(fstui: Fstui) -> None:
    assert fstui("help").stdout == fstui("--help").stdout
    assert fstui("help", "run").stdout == fstui("run", "--help").stdout
    assert b"run [OPTIONS] SCENARIO [DIR\xe2\x80\xa6]" in fstui("run", "--help").stdout, "none with --simulate"
    assert "'nothing'" in refusal(fstui("help", "nothing"))


def test_help_names_every_command_and_every_command_has_help(fstui: Fstui) -> None:
    text = fstui("--help").stdout.decode()
    for name, (_, sentence) in COMMANDS.items():
        assert name in text and sentence in text
        done = fstui(name, "--help")
        assert done.returncode == 0
        assert done.stdout.decode().startswith(f"Usage: fstui {name} ")


@pytest.mark.parametrize("arguments", [(), ("/tmp",)])
def test_off_a_terminal_the_app_says_how_to_run_headless(fstui: Fstui, arguments: tuple[str, ...]) -> None:
    assert "fstui run SCENARIO DIR" in refusal(fstui(*arguments))


def test_off_a_terminal_an_unknown_word_is_named(fstui: Fstui) -> None:
    assert "no command and no directory is called 'frobnicate'" in refusal(fstui("frobnicate"))


@pytest.mark.parametrize("command", ["scenarios", "references", "history"])
def test_page_without_a_title_has_the_name_of_its_document(fstui: Fstui, command: str) -> None:
    assert f"<title>fstui: {command}</title>".encode() in fstui(command, "--format", "html").stdout


def test_help_after_a_word_is_about_the_word(fstui: Fstui, tmp_path: Path) -> None:
    assert "No command and no directory is called 'frobnicate'" in refusal(fstui("frobnicate", "--help"))
    assert fstui(str(tmp_path), "--help").stdout == fstui("--help").stdout


@pytest.mark.parametrize(
    ("line", "suggested"),
    [
        ("histroy", "history"),
        ("hist", "history"),
        ("plan", "run SCENARIO DIR --plan"),
        ("trend", "history trend"),
        ("compere a b", "compare"),
        ("shwo last --format json", "show"),
        ("help shwo", "show"),
    ],
)
def test_a_misspelt_command_is_suggested(fstui: Fstui, line: str, suggested: str) -> None:
    assert f"Did you mean 'fstui {suggested}'?" in refusal(fstui(*line.split()))


def test_watch_of_a_directory_names_its_option(fstui: Fstui) -> None:
    assert "To watch one filesystem, use '--mount DIR'." in refusal(fstui("watch", "/tmp"))


@pytest.mark.parametrize("word", ["slow", "normal", "not slow", "unknown", "Slow"])
def test_answers_about_speed_open_their_page(fstui: Fstui, word: str) -> None:
    assert fstui("explain", word).stdout == fstui("explain", "is-it-slow").stdout


def test_help_of_every_command_has_an_example() -> None:
    for command_ in documentation._subcommands(click.Context(group, info_name="fstui")):
        assert "fstui " in inspect.cleandoc(command_.command.help or ""), command_.command_path


def test_old_names_still_work(fstui: Fstui, saved: Path) -> None:
    assert fstui("judge", "k3f9a1").stdout == fstui("show", "k3f9a1", "--again").stdout
    assert fstui("simulate", "ssd-plp").stdout == fstui("lessons", "--disks", "ssd-plp").stdout
    listed = fstui("--help").stdout.partition(b"Measure:")[2]
    assert b"  judge" not in listed and b"  simulate" not in listed


def test_lessons_without_a_terminal_are_listed(fstui: Fstui) -> None:
    done = fstui("lessons")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, b" 1  fsync-cost       What fsync costs")
    assert "needs a terminal" in refusal(fstui("lessons", "3"))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--bogus",), "--bogus"),
        (("/tmp", "/tmp"), "/tmp"),
        (("show",), "RUN"),
        (("show", "nothing"), "'nothing'"),
        (("show", "last"), "no run is saved"),
        (("show", "/nowhere.json"), "/nowhere.json"),
        (("show", "last", "--format", "xml"), "'xml'"),
        (("compare", "last"), "two runs"),
        (("compare", "last", "last", "--price", "last=free"), "--price takes RUN=0.17/h, not 'last=free'"),
        (("compare", "last", "last", "--price", "x=1/h"), "--price 'x' does not name a run"),
        (("judge", "\x1b[31m"), "\\x1b[31m"),
        (("explain", "no-such-rule"), "no-such-rule"),
        (("explain", "odirect-truth"), "'fstui scenarios odirect-truth' describes the scenario."),
        (("explain", "bariers-off"), "Did you mean 'barriers-off'?"),
        (("explain", "2026-11-28 mydb: commit took 4 s"), "'sudo fstui watch' shows whether a program waits"),
        (("explain", "kernel: xyz: it no longer answers"), "'sudo smartctl -a DEVICE' and 'fstui list'"),
        (("explain", "Redis"), "Messages of Redis: Asynchronous AOF fsync is taking too long."),
        (("scenarios", "fsync-rates"), "Did you mean 'fsync-rate'?"),
        (("run", "fsync-rate", "/tmp", "--set", "blok=4K"), "Did you mean 'block'?"),
        (("scenarios", "no-such-scenario"), "no-such-scenario"),
        (("history", "extra"), "extra"),
        (("watch", "--seconds", "soon"), "'soon' is not a valid duration"),
        (("lessons", "3", "--teacher"), "Leave out LESSON"),
        (("lessons", "--format", "json"), "--disks"),
        (("list", "--format", "prometheus"), "'prometheus'"),
        (("compare", "--price"), "See 'fstui compare --help'."),
        (("run", "fsync"), "Did you mean 'fsync-rate'?"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_thing(fstui: Fstui, arguments: tuple[str, ...], names: str) -> None:
    assert names in refusal(fstui(*arguments))


@pytest.mark.parametrize("group", ["lab", "powercut", "fleet"])
def test_a_group_without_a_command_shows_help(fstui: Fstui, group: str) -> None:
    done = fstui(group)
    first, *others = (done.stderr or done.stdout).decode().splitlines()
    assert first == f"Usage: fstui {group} [OPTIONS] COMMAND [ARGS]..."
    assert done.returncode == (2 if done.stderr else 0)  # click before 8.2 prints help to stdout
    assert "Commands:" in others


def test_one_scenario_shows_its_steps_and_settings(fstui: Fstui, scenario: str) -> None:
    text = fstui("scenarios", scenario).stdout.decode()
    assert "fdatasync" in text and "block    4096" in text and "0.1 s" in text


def test_the_power_cut_test_is_listed_as_a_scenario(fstui: Fstui) -> None:
    printed = fstui("scenarios").stdout.decode()
    row = next(line for line in printed.splitlines() if line.startswith("power-cut "))
    assert "by hand" in row and row.endswith("12 MiB/s")
    assert "'fstui powercut --help'" in printed
    detail = fstui("scenarios", "power-cut").stdout.decode()
    assert "3 kinds of writes at the same time, until the power is cut" in detail
    assert "pace     1000 /s" in detail and "create-no-dirsync" in detail and "file     4M" in detail
    assert detail.endswith("fstui powercut write DIR\n")


def test_a_broken_scenario_does_not_hide_others(fstui: Fstui, own_home: Path) -> None:
    mine = own_home / ".config/fstui/scenarios"
    mine.mkdir(parents=True)
    (mine / "broken.toml").write_text("name = 3")
    done = fstui("scenarios")
    assert b"fsync-rate" in done.stdout and b"broken.toml" in done.stderr
    assert done.returncode == 0


def test_history_lists_runs_and_may_be_empty(fstui: Fstui) -> None:
    empty = fstui("history")
    assert (empty.returncode, empty.stdout) == (0, b"")
    saved_runs.save(RUN)
    assert b"k3f9a1" in fstui("history").stdout
    assert json.loads(fstui("history", "--format", "json").stdout)["runs"][0]["id"] == "k3f9a1"


def test_a_run_is_found_by_its_note_and_deleted(fstui: Fstui, saved: Path) -> None:
    assert fstui("history", "note", "k3f9a1", "before", "the", "firmware").returncode == 0
    found = fstui("history", "--filter", "FIRMWARE").stdout.decode()
    assert "“before the firmware”" in found and "x7b2c9" not in found
    asked = fstui("history", "delete", "k3f9a1")
    assert asked.returncode == 2 and b"--yes" in asked.stderr and saved.exists()
    assert fstui("history", "delete", "k3f9a1", "--yes").returncode == 0 and not saved.exists()
    assert b"needs two finished runs" in fstui("history", "trend").stderr


def test_runs_are_compared_side_by_side(fstui: Fstui, saved: Path) -> None:
    lines = [line.split() for line in fstui("compare", "k3f9a1", "x7b2c9").stdout.decode().splitlines()]
    assert [line[:2] for line in lines[3:5]] == [["A", "k3f9a1"], ["B", "x7b2c9"]]
    priced = fstui("compare", "k3f9a1", "x7b2c9", "--price", "k3f9a1=4.8/d").stdout.decode()
    assert "price per hour" in priced and " 0.2 " in priced


def test_judging_again_does_not_change_the_document(fstui: Fstui, saved: Path) -> None:
    before = saved.read_bytes()
    done = fstui("show", "k3f9a1", "--again", "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["steps"] == json.loads(before)["steps"]
    assert saved.read_bytes() == before


@pytest.mark.parametrize("command", [("show", "k3"), ("judge", "k3"), ("compare", "k3", "x7b2c9"), ("history",)])
def test_a_run_that_was_edited_is_reported(fstui: Fstui, saved: Path, command: tuple[str, ...]) -> None:
    saved.write_bytes(encode(with_digest(RUN)))
    as_written = fstui(*command)
    assert b"altered" not in as_written.stdout + as_written.stderr
    saved.write_bytes(encode(replace(with_digest(RUN), verdict="kept")))
    done = fstui(*command)
    assert done.returncode == 0 and b"altered" in done.stdout + done.stderr


LINE = '{"level":"warn","caller":"wal/wal.go:802","msg":"slow fdatasync","took":"2.3s","expected-duration":"1s"}'


@pytest.mark.parametrize(
    ("name", "other_name", "heading", "words"),
    [
        ("O_DSYNC", "o_dsync", "O_DSYNC", "source: open(2)"),
        ("power-loss protection", "PLP", "protection", "capacitor"),
        ("flushes-arrive", "flushes-arrive", "flushes-arrive", "What it means"),
        ("supported-storage", "supported-storage", "Supported storage", "dm-snapshot"),
        (LINE, "slow fdatasync", "etcd: slow fdatasync", "The program may wait for a CPU"),
    ],
)
def test_a_page_is_explained_by_any_of_its_names(
    fstui: Fstui, name: str, other_name: str, heading: str, words: str
) -> None:
    text = fstui("explain", name).stdout.decode()
    assert words in text and not set("#`") & set(text)
    assert not any(len(row) > 80 and "https://" not in row for row in text.splitlines())
    assert fstui("explain", *other_name.split()).stdout.decode() == text
    assert fstui("explain", name, "--format", "markdown").stdout.decode().startswith(f"# {heading}")


def test_pages_are_listed_by_question(fstui: Fstui) -> None:
    text = fstui("explain").stdout.decode()
    assert "Is a rotating disk faster than its platter allows?\n" in text
    assert "write cache" in text.partition("\nWords\n")[2]
    assert "  supported-storage  Supported storage" in text.splitlines()
    assert max(map(len, text.splitlines())) <= 80 and not set("#*`") & set(text)
    text = fstui("explain", "--format", "markdown").stdout.decode()
    assert "\n## Documentation\n" in text and "\n- supported-storage: Supported storage\n" in text


def test_explain_works_without_docstrings(fstui: Fstui) -> None:
    assert fstui("explain", "in-memory", PYTHONOPTIMIZE="2").stdout == fstui("explain", "in-memory").stdout


def test_published_rates_are_listed_by_class_of_medium(fstui: Fstui) -> None:
    every, some = fstui("references").stdout.decode(), fstui("references", "--medium", "optane").stdout.decode()
    assert "Optane" in some and "ADATA" in every and "ADATA" not in some
    assert "Sources" in some


def test_a_medium_without_references_is_named(fstui: Fstui) -> None:
    done = fstui("references", "--medium", "memory")
    assert (done.returncode, done.stdout) == (0, b"")
    assert "No rate is published for memory" in done.stderr.decode()
    assert "'floppy'" in refusal(fstui("references", "--medium", "floppy"))


def abandon(what: Path) -> None:
    """An entry in the ledger as a killed fstui leaves it."""
    program = "import sys; from fstui.state import ledger; ledger.write_entry('dead01', 'directory', sys.argv[1])"
    subprocess.run([command()[0], "-c", program, str(what)], check=True)


def test_clean_removes_leftovers_of_a_killed_run(fstui: Fstui, target: Path) -> None:
    left = target / ".fstui-dead01"
    left.mkdir()
    (left / "data").write_bytes(b"x")
    (left / MARK).touch()
    abandon(left)
    done = fstui("clean")
    assert (done.returncode, done.stdout.decode()) == (0, f"removed {left}\n")
    assert not left.exists() and ledger.entries() == []


def test_clean_exits_1_if_something_remains(fstui: Fstui, target: Path) -> None:
    (target / "not-ours").mkdir()
    abandon(target / "not-ours")
    done = fstui("clean")
    assert done.returncode == 1
    assert b"not-ours" in done.stderr
    assert (target / "not-ours").is_dir()


@pytest.mark.parametrize("place", [".", "", "bin"])
def test_no_program_of_the_current_directory_is_run(tmp_path: Path, target: Path, place: str) -> None:
    (tmp_path / "bin").mkdir()
    for planted in (tmp_path / "sysbench", tmp_path / "bin/sysbench"):
        planted.write_text(f"#!/bin/sh\necho ran >> '{tmp_path}/ran'\n")
        planted.chmod(0o755)
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    words = command("run", "sysbench-oltp", str(target), "--plan")
    subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert not (tmp_path / "ran").exists()


def test_clean_names_other_hosts_that_share_the_ledger(fstui: Fstui, target: Path) -> None:
    entry = ledger.write_entry("other1", "directory", str(target / ".fstui-other1"))
    path = ledger.path_of(entry)
    elsewhere = {"host": "db8", "boot": "another", "machine": "1" * 32}
    path.write_text(json.dumps(json.loads(path.read_text()) | elsewhere))
    done = fstui("clean")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == "Kept the leftovers of other hosts (1). Run 'fstui clean' on db8.\n"


def test_clean_names_what_another_container_may_still_use(fstui: Fstui, target: Path) -> None:
    entry = ledger.write_entry("other1", "directory", str(target / ".fstui-other1"))
    path = ledger.path_of(entry)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"time_namespace": "time:[1]"}))
    done = fstui("clean")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().startswith(f"kept {entry.what}: a process in another container, or on the host")
    assert "Nothing was left behind" not in done.stderr.decode()


@pytest.mark.parametrize("how", [("check", "--simulate", "hdd-7200"), ("run", "fsync-rate", "--simulate", "hdd-7200")])
@pytest.mark.parametrize("format_", ["events", "plain"])
def test_measuring_for_a_closed_pipe_exits_141(how: tuple[str, ...], format_: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    more = ("--set", "seconds=0.1") if how[0] == "run" else ()
    process: Forked[bytes] = Forked([*how, *more, "--format", format_], stdout=write_end)
    assert process.wait() == 141
    os.close(write_end)


def test_signal_outranks_fail_on_and_fail_on_a_failure() -> None:
    assert exit_status(1, 3, 141, 130) == 130
    assert exit_status(0, 1, 3, 141) == 3
    assert exit_status(0, 1, 141) == 141


def test_a_closed_stdin_is_no_terminal(target: Path) -> None:
    words = command("run", "sysbench-oltp", str(target), "--set", "host=127.0.0.1")
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, check=False)
    assert done.returncode in (1, 2) and b"unexpected" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_document_that_was_cut_short_is_no_success(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command("schema"), stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, 4096)
        process.stdout.read(10)
        process.stdout.close()
    assert process.returncode == 141


def test_too_little_memory_is_a_sentence() -> None:
    surprise = (
        "import fstui.report.documents as d; d.schema = lambda *_: 'x' * 2**62; from fstui.cli import main; main()"
    )
    done = subprocess.run([command()[0], "-c", surprise, "schema"], capture_output=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith(b"fstui: there is not enough memory. See ")


def test_an_unexpected_error_is_a_sentence(fstui: Fstui, own_home: Path) -> None:
    surprise = "import fstui.report.documents as d; d.schema = None; from fstui.cli import main; main()"
    call = [command()[0], "-c", surprise, "schema"]
    done = subprocess.run(call, capture_output=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("fstui: unexpected TypeError")
    told = subprocess.run(call, capture_output=True, check=False, env={**os.environ, "FSTUI_DEBUG": "1"})
    assert b"Traceback" in told.stderr


@pytest.mark.parametrize(
    ("failure", "status", "what"),
    [
        ("""RuntimeError("can't start new thread")""", 1, ""),
        (
            "BlockingIOError(11, 'Resource temporarily unavailable')",
            2,
            "cannot start a helper process (fstui.measure.helpers.",  # several start at about the same time
        ),
    ],
    ids=["thread", "process"],
)
def test_a_limit_of_processes_is_a_sentence(failure: str, status: int, what: str) -> None:
    none_left = f"""import subprocess, threading
def none_left(*arguments, **settings): raise {failure}
threading.Thread.start = subprocess.Popen.__init__ = none_left
from fstui.cli import main; main()"""
    done = subprocess.run([command()[0], "-c", none_left, "list"], capture_output=True, check=False)
    assert done.returncode == status
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"fstui: {what}") and "no more processes or threads can be started" in line


NO_NULL_DEVICE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh"]


@pytest.mark.parametrize(
    ("within", "reason"),
    [
        (["sh", "-c", 'ulimit -n 12 && exec "$@"', "sh"], "too many files are open. See 'ulimit -n'"),
        pytest.param(NO_NULL_DEVICE, "/dev/null: No such file or directory", marks=pytest.mark.root),
    ],
    ids=["few files", "no /dev/null"],
)
@pytest.mark.parametrize("arguments", [("check",), ("fit",), ("run", "check")], ids=" ".join)
def test_helper_that_cannot_start_is_named(
    target: Path, within: list[str], reason: str, arguments: tuple[str, ...]
) -> None:
    done = subprocess.run([*within, *command(*arguments, str(target))], capture_output=True, check=False)
    assert done.returncode == 2 and list(target.iterdir()) == []
    assert done.stderr.decode() == f"fstui: cannot start a helper process (fstui.measure.helpers.call): {reason}\n"


def test_a_plain_ascii_locale_gets_ascii(fstui: Fstui, saved: Path) -> None:
    done = fstui("show", "k3f9a1", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii() and b"flush" in done.stdout.lower()


def test_a_time_zone_that_no_time_has_is_a_sentence(fstui: Fstui, target: Path, scenario: str) -> None:
    said = refusal(fstui("run", scenario, str(target), "--yes", TZ="XXX+26"))
    assert said == "fstui: The time zone TZ=XXX+26 is a day or more away from UTC. Correct or unset TZ."
    assert list(target.iterdir()) == []


@pytest.mark.root
@pytest.mark.parametrize("arguments", [["watch", "--seconds", "1"], ["list"], ["check"]])
def test_a_host_without_proc_is_a_sentence(arguments: list[str]) -> None:
    without = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
    done = subprocess.run([*without, *map(str, command(*arguments))], capture_output=True, check=False)
    assert refusal(done) == (
        "fstui: /proc is not mounted, so mounts and counters cannot be read. Run: mount -t proc proc /proc"
    )


@pytest.mark.root
def test_recording_without_space_for_its_state_is_refused(fstui: Fstui, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", tmp_path], check=True)
    try:
        assert "Set XDG_STATE_HOME to another directory" in refusal(fstui("record", XDG_STATE_HOME=str(tmp_path)))
    finally:
        subprocess.run(["umount", tmp_path], check=True)
