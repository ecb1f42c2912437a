"""``fstui run`` without a terminal, on the storage of the test machine: streams and exit codes, not the verdict."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.cli.headless import Narration
from fstui.cli.options import is_failure
from fstui.measure.kinds.documents import decode_run
from fstui.model.declaration import Declaration
from fstui.model.events import StepPreparing
from fstui.model.judgement import Answer, Speed
from fstui.model.run import Run
from fstui.runs.session import Session
from fstui.state import files, paths, runs, user_data
from tests.cli.conftest import Fstui, command, nothing_left, refusal
from tests.factories import saved_runs, screens
from tests.real import headless


def events_of(data: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in data.splitlines()]


def test_the_document_goes_to_stdout_and_is_saved(fstui: Fstui, scenario: str, target: Path) -> None:
    done = fstui("run", scenario, str(target), "--format", "json")
    assert done.returncode == 0
    run = decode_run(done.stdout)
    assert (run.status, [step.name for step in run.steps]) == ("finished", ["fdatasync"])
    assert run.steps[0].syncs == run.steps[0].ops > 0
    assert saved_runs.load("last") == run
    story = done.stderr.decode()
    assert str(target) in story and "fdatasync" in story and run.verdict.upper().replace("-", " ") in story
    assert nothing_left(target)


def test_a_log_says_what_a_step_waits_for(capfd: pytest.CaptureFixture[str]) -> None:
    narration = Narration(screens.PLAN, screens.DATA, stdout_format=None)
    preparing = StepPreparing(index=0, name="fdatasync", done=0, total=1)
    for waited_s in (0.0, 2.0, 10.0, 19.0, 20.0, 0.0, 11.0):
        narration.on_event(replace(preparing, silent_s=waited_s))
    narration.on_event(replace(preparing, server_s=25.0))
    assert capfd.readouterr().err.splitlines() == [
        "fdatasync: writing its file, no answer for 10.0 s",
        "fdatasync: writing its file, no answer for 20.0 s",
        "fdatasync: writing its file, no answer for 11.0 s",
        "fdatasync: starting its server, 25.0 s",
    ]


def test_plain_is_the_default_without_colours(fstui: Fstui, scenario: str, target: Path) -> None:
    done = fstui("run", scenario, str(target), FORCE_COLOR="1", TTY_COMPATIBLE="1")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr and b"\r" not in done.stderr
    assert b"STEP" in done.stdout and b"saved " in done.stdout


def test_output_goes_to_a_file_and_stdout_stays_empty(
    fstui: Fstui, scenario: str, target: Path, tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    file.write_text("older")
    done = fstui("run", scenario, str(target), "--format", "events", "--output", str(file))
    assert (done.returncode, done.stdout) == (0, b"")
    last = events_of(file.read_bytes())[-1]
    assert last["event"] == "RunFinished" and decode_run(json.dumps(last["run"])) == saved_runs.load("last")


def test_settings_and_declarations_reach_the_run(fstui: Fstui, scenario: str, target: Path) -> None:
    arguments = ("--set", "block=16384", "--medium", "hdd-7200", "--write-cache", "none", "--format", "json")
    run = decode_run(fstui("run", scenario, str(target), *arguments).stdout)
    assert run.steps[0].settings.as_dict()["block_bytes"] == 16384
    assert run.target is not None
    for node in run.target.lowest:
        assert node.medium is not None
        assert (node.medium.class_, node.medium.write_cache, node.medium.declared) == ("hdd-7200", "none", True)
    assert run.findings
    assert decode_run(fstui("show", "last", "--again", "--format", "json").stdout) == run


@pytest.fixture
def declared_storage(target: Path) -> None:
    """A declaration about the target's storage that was made in the app."""
    identity = asyncio.run(Session.local().look_up(str(target))).raw_target.identity
    user_data.declare(identity, Declaration(medium="hdd-7200", write_cache="none"))


@pytest.mark.usefixtures("declared_storage")
def test_declarations_of_the_app_apply_to_plans(fstui: Fstui, scenario: str, target: Path) -> None:
    planned = fstui("run", scenario, str(target), "--plan").stdout.decode()
    assert "  which is declared by you (remembered): medium hdd-7200, write cache none" in planned
    overriding = fstui("run", scenario, str(target), "--write-cache", "unknown", "--plan").stdout.decode()
    assert "  which is declared by you: medium hdd-7200, write cache unknown" in overriding and "--medium" in overriding


@pytest.mark.usefixtures("declared_storage")
def test_declarations_of_the_app_are_listed(fstui: Fstui, target: Path) -> None:
    here = asyncio.run(Session.local().look_up(str(target))).raw_target.mount_point
    listed = json.loads(fstui("list", "--format", "json").stdout)["filesystems"]
    (filesystem,) = (found for found in listed if found["mount_point"] == here)
    media = [node["medium"] for node in filesystem["stack"] if node["lowest"]]
    assert {(medium["class"], medium["declared"]) for medium in media} == {("hdd-7200", True)}
    assert all("declared by you (remembered)" in medium["because"] for medium in media)
    assert "hdd-7200 (declared)" in fstui("list").stdout.decode()


@pytest.mark.parametrize("format_", ["plain", "json"])
def test_a_plan_writes_nothing(fstui: Fstui, scenario: str, target: Path, format_: str) -> None:
    done = fstui("run", scenario, str(target), "--plan", "--format", format_)
    assert done.returncode == 0
    assert b"fdatasync" in done.stdout and str(target).encode() in done.stdout
    assert nothing_left(target) and not paths.state_dir().exists()


@pytest.mark.slow
def test_a_run_that_cannot_be_saved_is_still_printed_and_exits_1(
    fstui: Fstui, scenario: str, target: Path, own_home: Path
) -> None:
    files.create_private_directory(paths.state_dir())
    paths.runs_dir().write_text("a file in the place of the directory")
    done = fstui("run", scenario, str(target), "--format", "json")
    assert done.returncode == 1
    assert decode_run(done.stdout).steps[0].ops > 0
    assert b"could not be saved" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "names", "way_out"),
    [
        (("--set", "seconds"), "KEY=VALUE", ""),
        (("--set", "seconds=0"), "seconds", "0.1"),
        (("--medium", "cheese"), "cheese", "hdd-7200"),
        (("--write-cache", "some"), "some", "none"),
        (("--format", "xml"), "xml", "json"),
        (("--fail-on", "bad"), "bad", "suspicious"),
        (("--plan", "--format", "brief"), "A plan is printed as plain, csv", ""),
        (("--output", "/nowhere/out.json"), "/nowhere", ""),
        (("--output", "/tmp"), "/tmp is a directory", ""),
        (("--max-rate", "soon"), "--max-rate 1M", ""),
    ],
)
def test_a_mistake_is_one_sentence_with_a_way_out(
    fstui: Fstui, target: Path, arguments: tuple[str, ...], names: str, way_out: str
) -> None:
    line = refusal(fstui("run", "fsync-rate", str(target), *arguments))
    assert names in line and way_out in line
    assert nothing_left(target) and not paths.state_dir().exists()


def test_an_unsuitable_directory_is_named(fstui: Fstui, scenario: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for directory, reason in (
        (str(tmp_path / "nothing"), "No such file or directory. Name an existing directory"),
        (str(tmp_path / "file"), "not a directory"),
        ("/proc", "stores no data. Name a directory on a disk"),
        ("/sys/kernel", "stores no data"),
        ("", "DIR is empty"),
    ):
        line = refusal(fstui("run", scenario, directory))
        assert directory in line and reason in line


def test_a_directory_may_begin_with_a_dash(
    fstui: Fstui, scenario: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (target / "-dash").mkdir()
    monkeypatch.chdir(target)
    assert fstui("run", "--plan", scenario, "--", "-dash").returncode == 0


def begun(scenario: str, target: Path, *, nohup: bool = False) -> subprocess.Popen[bytes]:
    within = ("sh", "-c", "trap '' HUP; exec \"$@\"", "sh") if nohup else ()
    words = ("run", scenario, target, "--set", "seconds=60", "--format", "events")
    process = headless.start(*words, within=within)
    assert process.stdout and process.stderr
    for line in process.stdout:
        if json.loads(line)["event"] == "StepProgressed":
            return process
    raise AssertionError(process.stderr.read())


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow)]
)
def test_a_signal_stops_the_run_which_cleans_up_prints_and_saves(
    scenario: str, target: Path, number: signal.Signals, code: int
) -> None:
    with begun(scenario, target) as process:
        process.send_signal(number)
        out, _ = process.communicate()
    assert process.returncode == code
    run = decode_run(json.dumps(events_of(out)[-1]["run"]))
    assert (run.status, run.steps[0].status) == ("stopped", "stopped")
    assert run.steps[0].ops > 0
    assert saved_runs.load("last") == run
    assert nothing_left(target)


@pytest.mark.slow
def test_a_quick_second_signal_still_cleans_up(scenario: str, target: Path) -> None:
    with begun(scenario, target) as process:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode in (143, 130)
    assert saved_runs.load("last").status == "stopped"
    assert nothing_left(target)


@pytest.mark.slow
def test_a_signal_that_nohup_ignores_does_not_stop_the_run(scenario: str, target: Path) -> None:
    with begun(scenario, target, nohup=True) as process:
        process.send_signal(signal.SIGHUP)
        assert process.stdout
        later = [json.loads(process.stdout.readline())["event"] for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert later == ["StepProgressed"] * 3
    assert process.returncode == 143


@pytest.mark.slow
def test_a_reader_that_has_gone_ends_the_run_without_a_traceback(scenario: str, target: Path) -> None:
    with begun(scenario, target) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        story = process.stderr.read()
    assert process.returncode == 141
    assert b"Traceback" not in story
    assert saved_runs.load("last").status == "stopped"
    assert nothing_left(target)


@pytest.mark.slow
def test_a_run_continues_without_stderr(scenario: str, target: Path) -> None:
    call = command("run", scenario, str(target), "--format", "json")
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *call], stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0
    assert decode_run(done.stdout).status == "finished"


@pytest.mark.slow
def test_directories_are_interleaved_and_compared(fstui: Fstui, scenario: str, target: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    done = fstui("run", scenario, str(target), str(other), "--rounds", "2", "--format", "json", "--yes")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [side["target"] for side in found["sides"]] == [str(target), str(other)]
    assert [step["rounds"] for step in found["steps"]] == [2, 2] and found["steps"][1]["times_low"] is not None
    told = [line for line in done.stderr.decode().splitlines() if line.startswith("round ")]
    assert [line.split(": ")[1] for line in told] == [str(target), str(other), str(other), str(target)]
    one, _ = found["sides"][0]["runs"]
    again = json.loads(fstui("compare", one, found["sides"][1]["runs"][1], "--format", "json").stdout)
    assert again == found, "a run represents all its rounds"
    assert nothing_left(target) and nothing_left(other)


def test_a_comparison_in_a_format_of_runs_is_refused(fstui: Fstui, scenario: str, target: Path) -> None:
    done = fstui("run", scenario, str(target), "--rounds", "2", "--format", "events")
    assert done.returncode == 2 and b"A comparison is printed as plain, csv" in done.stderr
    missing = fstui("run", scenario, str(target), str(target / "missing"), "--yes")
    assert missing.returncode == 2 and b"round 1" not in missing.stderr and runs.history() == []


SIGNALLED = """
import asyncio, os, signal, sys
from fstui.runs import caution

number = signal.Signals[sys.argv.pop(1)]

async def other_runs(*_):
    os.kill(os.getpid(), number)
    await asyncio.sleep(30)

caution.other_runs = other_runs
from fstui.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGHUP", 129), ("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_between_plan_and_run_ends_with_its_status(
    scenario: str, target: Path, name: str, status: int
) -> None:
    words = [sys.executable, "-c", SIGNALLED, name, "run", scenario, str(target), "--yes"]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status
    assert done.stderr.decode().splitlines() == ["fstui: stopped before the run started; nothing was written"]
    assert list(target.iterdir()) == []


SOUND = Run(id="k3f9a1", started_at="2026-11-20T03:12:44+01:00", verdict="plausible")


@pytest.mark.parametrize(("answer", "fail"), [("stalls", True), ("slow", True), ("unknown", False), ("normal", False)])
def test_fail_on_slow_tests_only_the_speed(answer: Answer, fail: bool) -> None:
    run = replace(SOUND, speed=Speed(answer=answer))
    assert is_failure(run.verdict, run.speed.answer, ["slow"]) is fail
    assert not is_failure(run.verdict, run.speed.answer, ["suspicious"])


def test_fail_on_includes_worse_verdicts() -> None:
    assert all(is_failure(SOUND.verdict, SOUND.speed.answer, on) for on in (["plausible"], ["lost", "consistent"]))
    assert not any(is_failure(SOUND.verdict, SOUND.speed.answer, on) for on in (["cannot-tell"], []))
