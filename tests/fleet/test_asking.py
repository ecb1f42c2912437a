"""Requests to hosts and their answers, with an ssh that runs everything on this host."""

import contextlib
import csv
import io
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fstui.fleet.remote import Request, fold, nodes_of
from fstui.fleet.ssh import Fanout, SshResult, local_command
from fstui.model.errors import Refused
from fstui.ssh import command_line
from tests import prefork
from tests.fleet.conftest import HONEST, Fleet, program
from tests.fleet.hosts import FSTUI
from tests.prefork import Forked
from tests.real import disks
from tests.real.conftest import workshop  # noqa: F401  a fixture
from tests.real.headless import scenario_file
from tests.real.processes import eventually

_WRITER = """
import mmap, os, sys
fd, block = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT), mmap.mmap(-1, 4096)
while True:
    os.pwrite(fd, block, 0)
"""
TROUBLES = {
    "unknown1": "its host key is not known here",
    "password1": "fstui does not ask for a password",
    "gone1": "no sshd listens there",
    "dropped1": "its sshd ends the connection at once: too many connections start there (MaxStartups)",
    "menu1": "the script did not run there, ssh printed: Welcome to the appliance. 1) status 2) reboot",
    "flood1": "it returned more than 32.0 MiB",
}


def run(*more: str) -> tuple[str, ...]:
    return ("run", "fsync-rate", "/srv", "--into", "out", *more)


def test_documents_are_saved_and_shown_again(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    done = fleet(*run("--nodes", "db[1-2],chatty1", "--installed", installed))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("3 of 3 hosts answered")
    assert sorted(done.stderr.splitlines())[-3:] == ["chatty1: consistent", "db1: consistent", "db2: consistent"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("chatty1.json", "db1.json", "db2.json", "fleet.json"),
    ]
    assert (tmp_path / "out/chatty1.json").read_bytes().strip() == HONEST.strip()
    assert os.stat(tmp_path / "out/db1.json").st_mode & 0o077 == 0
    with contextlib.chdir(tmp_path):
        assert prefork.run("fleet", "show", "out").stdout.decode() == done.stdout


def test_each_failing_host_has_a_reason(fleet: Fleet, installed: str) -> None:
    names = ",".join(["db1", *TROUBLES])
    done = fleet(*run("--nodes", names, "--installed", installed, "--format", "csv"))
    assert done.returncode == 1
    rows = {row["host"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["db1"]["verdict"] == "consistent"
    for name, words in TROUBLES.items():
        assert words in rows[name]["trouble"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param("echo 'fstui: /srv is full' >&2; exit 2", "/srv is full (exit 2)", id="refused"),
        pytest.param('echo \'{"schema": "fstui.run/9"}\'', "its schema is 'fstui.run/9'", id="of another version"),
        pytest.param("echo '[[[['", "its output is not a document", id="broken"),
        pytest.param("kill -9 $PPID", "the connection ended in the middle of its output", id="broken off"),
    ],
)
def test_an_answer_without_a_document_has_a_reason(fleet: Fleet, tmp_path: Path, script: str, words: str) -> None:
    there = program(tmp_path / "there", f"#!/bin/sh\n{script}\n")
    done = fleet(*run("--nodes", "db1", "--installed", str(there)))
    assert done.returncode == 1
    assert words in " ".join(done.stdout.split())


def test_a_document_of_a_failed_command_has_a_remark(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    there = program(tmp_path / "failing", f"#!/bin/sh\n{installed}\necho 'fstui: /var is full' >&2\nexit 2\n")
    done = fleet(*run("--nodes", "db1", "--installed", str(there)))
    assert done.returncode == 1 and done.stdout.startswith("1 of 1 host answered")
    assert "db1: /var is full (exit 2)" in done.stdout


def test_a_file_that_cannot_be_read_is_refused(fleet: Fleet) -> None:
    done = fleet(*run("--nodes", "db1", "--pyz", "/proc/self/mem"))  # its first page is never mapped
    assert done.returncode == 2 and "cannot read --pyz /proc/self/mem: Input/output error" in done.stderr


def test_hosts_have_a_time_limit(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    hanging = program(tmp_path / "hanging", f"#!/bin/sh\n[ $NODE = db1 ] && exec {installed}\nexec sleep 60\n")
    words = run("--nodes", "db[1-2],silent1", "--installed", str(hanging), "--timeout", "5", "--format", "csv")
    done = fleet(*words)
    assert done.returncode == 1
    troubles = {row["host"]: row["trouble"] for row in csv.DictReader(io.StringIO(done.stdout))}
    assert troubles.pop("db1") == ""
    assert troubles.pop("silent1").startswith("no answer within ")
    assert troubles.pop("db2").startswith("not finished within ")


def test_forged_answers_are_refused(fleet: Fleet, carried: tuple[str, ...]) -> None:
    done = fleet(*run(*carried, "--nodes", "forger1"))
    assert done.returncode == 1 and "forger1: its output cannot be parsed" in done.stdout
    cleaned = fleet("clean", "out", *carried[-2:])
    assert (cleaned.returncode, cleaned.stderr) == (1, "forger1: its output was cut short\n")


def test_a_missing_or_damaged_file_is_carried(fleet: Fleet, carried: tuple[str, ...], tmp_path: Path) -> None:
    for turn in ("missing", "current", "damaged"):
        done = fleet(*run()[:3], "--into", turn, *carried)
        assert done.returncode == 0, done.stdout + done.stderr
        (file,) = (tmp_path / "place").glob("fstui-*.pyz")
        assert file.read_bytes() == (tmp_path / "carried.pyz").read_bytes()
        if turn == "current":
            file.write_text("#!/bin/sh\nexit 1\n")
    assert fleet(*run("--remove"), *carried).returncode == 0
    assert not (tmp_path / "place").exists()


def test_the_file_in_dist_is_found(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    program(tmp_path / "dist/fstui.pyz", f'#!/bin/sh\nexec {installed} "$@"\n')
    done = fleet(*run("--nodes", "db1", "--place", str(tmp_path / "place")))
    assert done.returncode == 0, done.stderr


def test_a_missing_file_is_refused_with_how_to_build_it(fleet: Fleet) -> None:
    done = fleet(*run("--nodes", "db1"))
    python, said = shlex.quote(sys.executable), " ".join(done.stderr.split())
    assert done.returncode == 2
    assert f"{python} -m pip install '.[release]' && {python} -m tests.release" in said


@pytest.mark.root
def test_a_file_of_another_user_is_not_carried(fleet: Fleet, tmp_path: Path) -> None:
    os.chown(program(tmp_path / "fstui.pyz", "#!/bin/sh\n"), 65534, 65534)
    done = fleet(*run("--nodes", "db1", "--place", str(tmp_path / "place")))
    assert done.returncode == 2 and "it belongs to another user" in " ".join(done.stderr.split())
    assert not (tmp_path / "place").exists() and not list(tmp_path.rglob("fstui-fleet-*"))


def test_a_scenario_file_and_options_reach_the_host(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    mine = Path(scenario_file(tmp_path))
    seen = tmp_path / "seen"
    there = program(tmp_path / "host", f'#!/bin/sh\ncat "$2" >{seen}.toml; echo "$@" >{seen}; exec {installed}\n')
    words = ("run", str(mine), "/srv", "--into", "out", "--nodes", "db1", "--installed", str(there), "--yes")
    done = fleet(*words, after=("--", "--max-rate", "1M", "--idle"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "seen.toml").read_text() == mine.read_text()
    command, file, *others = seen.read_text().split()
    assert (command, others) == ("run", ["/srv", "--max-rate", "1M", "--idle", "--yes", "--format", "json"])
    assert not Path(file).exists()


def test_a_scenario_with_too_many_bytes_is_refused(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    mine = Path(scenario_file(tmp_path))
    mine.write_text(f"# {'写' * 40_000}\n{mine.read_text()}")
    done = fleet("run", str(mine), "/srv", "--nodes", "db1", "--installed", installed)
    assert done.returncode == 2 and "at most 48000 can be sent" in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("run", "fsync-rate", "/srv", "/data"), "extra argument (/data)"),
        (("run", "fsync-rate", "/srv", "--", "--rounds=2"), "--rounds=2 cannot be passed on"),
        (("check", "--", "--output", "x"), "--output cannot be passed on"),
        (("run", "./missing.toml", "/srv"), "missing.toml: No such file"),
    ],
)
def test_options_that_change_the_document_are_refused(fleet: Fleet, words: tuple[str, ...], reason: str) -> None:
    done = fleet(words[0], "--nodes", "db1", *words[1:3], after=words[3:])
    assert done.returncode == 2 and reason in " ".join(done.stderr.split())


def test_what_stays_on_hosts_is_said_and_removed(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    file = program(tmp_path / "carried.pyz", f'#!/bin/sh\nmkdir -p "$FSTUI_UNPACK"\nexec {installed} "$@"\n')
    saved = Path.home() / ".local/state/fstui/runs"
    saved.mkdir(parents=True)
    run_id = json.loads(HONEST)["id"]
    for name in (f"20261126-120000-{run_id}.json", "20261126-120000-other1.json"):
        (saved / name).touch()
    done = fleet(*run("--nodes", "db1", "--pyz", str(file), "--place", str(tmp_path / "place")))
    last = " ".join(done.stderr.split("\n")[-2].split())
    assert last.startswith("The hosts keep the file and what it unpacked (")
    assert "each) and the saved runs. To remove them: fstui fleet clean out --place " in last
    assert (tmp_path / "place/unpacked").is_dir()
    *_, command, option = last.partition("fstui fleet ")[2].partition(" --ssh ")[0].rpartition(" --place ")
    assert (command, option) == (" --place ", str(tmp_path / "place"))
    cleaned = fleet("clean", "out", "--place", option)
    assert (cleaned.returncode, cleaned.stderr) == (0, "db1: removed\n")
    assert not (tmp_path / "place").exists()
    assert [path.name for path in saved.iterdir()] == ["20261126-120000-other1.json"]
    assert fleet("clean", "out", "--place", str(tmp_path / "place")).returncode == 0
    (tmp_path / "place").mkdir(mode=0o777)
    (tmp_path / "place").chmod(0o777)  # another user may have made what is in it
    (tmp_path / "place/fstui-1.pyz").touch()
    assert fleet("clean", "out", "--place", str(tmp_path / "place")).returncode == 1
    assert (tmp_path / "place/fstui-1.pyz").exists()


def test_become_root_without_a_password(
    fleet: Fleet, installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = fleet(*run("--nodes", "db1", "--installed", installed, "--become", "sudo"))
    assert "sudo asks for a password there" in done.stdout
    program(tmp_path / "sudo", '#!/bin/sh\nshift 2; exec "$@"\n')
    again = fleet(*run()[:3], "--into", "again", "--nodes", "db1", "--installed", installed, "--become", "sudo")
    assert again.returncode == 0, again.stdout


def test_the_users_ssh_options_come_first() -> None:
    said = command_line("ssh -F 'my file'", 10)
    assert said[:3] == ["ssh", "-F", "my file"] and "-oBatchMode=yes" in said


@pytest.mark.root
def test_a_full_disk_on_a_host_is_named(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    file = program(tmp_path / "carried.pyz", f"#!/bin/sh\nexec {installed}\n# {'x' * 200_000}\n")
    with disks.mounted("fstui-tests", tmp_path / "full", "tmpfs", "size=64k") as place:
        done = fleet(*run("--nodes", "db1", "--pyz", str(file), "--place", str(place / "fstui")))
        said = " ".join(done.stdout.split())
        assert "fstui.pyz could not be written to" in said and "Traceback" not in done.stderr
        assert list(place.glob("fstui/*.pyz*")) == []


@pytest.mark.root
@pytest.mark.slow
def test_a_busy_host_needs_yes(
    fleet: Fleet,
    workshop: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other writers to the loop device wait for a cgroup's limit below it, which does not apply to fstui."""
    monkeypatch.delenv("FSTUI_YES")
    arguments = ("run", str(scenario_file(workshop)), "--nodes", "db1", "--installed", FSTUI, "--trust-dir")
    with disks.on_loop(workshop) as storage, disks.write_limit(disks.device_under(workshop), 5) as within:
        writers = [
            subprocess.Popen([*within, sys.executable, "-c", _WRITER, str(storage.directory / name)])
            for name in ("one", "other")
        ]
        try:
            assert eventually((storage.directory / "other").exists)
            refused = fleet(*arguments, str(storage.directory), "--into", "refused")
            forced = fleet(*arguments, str(storage.directory), "--into", "forced", "--yes")
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
    said = " ".join(refused.stdout.split())
    assert refused.returncode == 1
    concern = f"its device {storage.device} was 100 % busy in the last second"
    assert concern in said and ". Nothing was written. Use --yes to run it anyway" in said
    assert forced.returncode == 0 and "1 of 1 host answered" in forced.stdout, forced.stdout


def test_two_fleets_at_once_do_not_conflict(ssh: str, carried: tuple[str, ...], tmp_path: Path) -> None:
    words = [["fleet", *run()[:3], "--into", into, *carried, "--ssh", ssh] for into in ("one", "other")]
    begun = [Forked(each, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for each in words]
    said = [process.communicate(timeout=120) for process in begun]
    assert [process.returncode for process in begun] == [0, 0], said


def test_a_file_in_use_is_not_removed(fleet: Fleet, carried: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    running = tmp_path / "place" / f".using-{os.getpid()}"
    running.touch()
    assert fleet(*run(*carried, "--remove")).returncode == 0
    assert len(list((tmp_path / "place").glob("fstui-*.pyz"))) == 1
    running.rename(running.with_name(f".using-{2**22 + 1}"))  # no process has it: pid_max is 2**22
    assert fleet(*run()[:3], "--into", "again", *carried, "--remove").returncode == 0
    assert not (tmp_path / "place").exists()


def test_no_file_is_carried_to_an_unusable_place(fleet: Fleet, installed: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    done = fleet(*run("--nodes", "db1", "--pyz", installed, "--place", str(tmp_path / "a-file/place")))
    assert "no directory there can hold a program" in " ".join(done.stdout.split())


def test_a_signal_ends_the_run_on_a_host(ssh: str, tmp_path: Path) -> None:
    begun, cleaned = tmp_path / "begun", tmp_path / "cleaned"
    os.mkfifo(begun)
    script = f"trap 'echo $NODE >{cleaned}; exit 143' TERM\necho >{begun}\nwhile :; do sleep 0.05; done"
    there = program(tmp_path / "there", f"#!/bin/sh\n{script}\n")
    words = ["fleet", *run("--nodes", "db[1-2]", "--fanout", "1", "--installed", str(there)), "--ssh", ssh]
    process = Forked(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    begun.read_text()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    waiting = {"db1": "db2", "db2": "db1"}[cleaned.read_text().strip()]
    assert "exit 143" in out and f"{waiting}: stopped before fstui connected to it" in out


def test_a_host_that_ignores_a_stop_is_left(ssh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.fleet.ssh._CLEANUP_TIMEOUT_S", 0.0)
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    for fifo in (begun, ended):
        os.mkfifo(fifo)
    request = Request(command="run", ssh=ssh)
    script = f"trap '' TERM; exec 5>{ended}; echo >{begun}; while :; do sleep 0.05; done"
    fanout, answers = Fanout(request), list[SshResult]()

    def stop() -> None:
        begun.read_text()
        fanout.stop()

    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    reading = threading.Thread(target=ended.read_text, daemon=True)  # it ends when no process of the host is left
    reading.start()
    fanout.run({"db1": local_command(request, script)}, lambda _, answer: answers.append(answer), timeout_s=60)
    stopping.join()
    reading.join(60)
    assert [answer.code for answer in answers] == [None] and not reading.is_alive()


def test_many_connections_open_many_files(ssh: str, tmp_path: Path) -> None:
    begun, may_end = tmp_path / "begun", tmp_path / "may_end"
    for fifo in (begun, may_end):
        os.mkfifo(fifo)
    request, codes = Request(command="list", ssh=ssh, fanout=30), list[int | None]()
    script = f"echo >{begun}; read -r line <{may_end}"
    commands = {str(number): local_command(request, script) for number in range(30)}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with begun.open("r+b", buffering=0) as begins, may_end.open("r+b", buffering=0) as ends:

        def hold_until_all_have_begun() -> None:
            for _ in commands:
                begins.read(1)
            ends.write(b"\n" * len(commands))

        threading.Thread(target=hold_until_all_have_begun, daemon=True).start()
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, hard))
        try:
            Fanout(request).run(commands, lambda _, answer: codes.append(answer.code), timeout_s=60)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert codes == [0] * 30


def test_fleet_fail_on_exits_3(fleet: Fleet, installed: str) -> None:
    done = fleet(*run("--nodes", "db1", "--installed", installed, "--fail-on", "consistent", "--format", "json"))
    assert done.returncode == 3
    assert json.loads(done.stdout)["hosts"][0]["verdict"] == "consistent"


def test_without_clustershell_hosts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fold(["db1", "db2"]) == "db[1-2]"
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    with pytest.raises(Refused, match="ClusterShell, which is not installed"):
        nodes_of("db[1-2]")
    assert fold(["db1", "db2"]) == "db1,db2"


@pytest.mark.parametrize("nodes", ["db[1-", "-oProxyCommand=x", "a/b", ""])
def test_an_invalid_host_name_is_refused(fleet: Fleet, installed: str, nodes: str) -> None:
    done = fleet(*run(f"--nodes={nodes}", "--installed", installed))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
