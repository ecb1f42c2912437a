"""A primary and its replica on real filesystems, ended in the middle of acknowledged commits."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.replica_cut import ReplicaCutFigures
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.state import ledger
from tests.databases import servers
from tests.databases.servers import GIB, left_in, processes_of
from tests.real import disks, headless

CHECKOUT = Path(__file__).resolve().parents[2]
CUT_AFTER_A_SYNC_OF_ONE = """
import os, sys
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
from fstui.measure.probes import own_filesystem
place = own_filesystem.isolate_process() + "/here"
own_filesystem.create_image("image", 64 << 20)
own_filesystem.mount("image", place)
for name in ("synced", "written"):
    with open(f"{place}/{name}", "w") as file:
        file.write(name)
        file.flush()
        if name == "synced":
            os.fsync(file.fileno())
own_filesystem.cut_power(place)
own_filesystem.unmount(place)
own_filesystem.mount("image", place)
print(*(name for name in os.listdir(place) if name != "lost+found" and open(f"{place}/{name}").read()))
"""


def measured(directory: Path, *settings: str, kind: str = "mariadb") -> Run:
    words = ("--format", "json", *headless.set_options("seconds=1", f"server={kind}", *settings))
    done = headless.call("run", "replica-cut", directory, *words, environment=servers.require(kind))
    assert done.returncode == 0, done.stderr.decode()
    return decode_run(done.stdout)


def replica_figures(step: Step) -> ReplicaCutFigures:
    assert step.status == "finished", step.error
    assert isinstance(step.figures, ReplicaCutFigures) and step.figures.both_recovered
    return step.figures


def adds_up(figures: ReplicaCutFigures) -> None:
    assert figures.acknowledged > 0 and figures.on_primary is not None and figures.on_replica is not None
    assert figures.lost_everywhere <= min(figures.lost_on_primary, figures.lost_on_replica)
    assert figures.on_primary >= figures.acknowledged - figures.lost_on_primary
    assert figures.on_replica >= figures.acknowledged - figures.lost_on_replica
    assert figures.on_replica_alone >= figures.lost_on_primary - figures.lost_everywhere


def test_cut_loses_only_what_was_not_synced(workshop: Path) -> None:
    words = [sys.executable, "-c", CUT_AFTER_A_SYNC_OF_ONE, str(CHECKOUT), str(workshop)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("synced\n", "")


@pytest.mark.parametrize(("kind", "cut"), [("mariadb", "kill -9,power cut"), ("mysql", "power cut")])
def test_durable_primary_keeps_acknowledged_commits(workshop: Path, own_user: Path, kind: str, cut: str) -> None:
    with disks.on_loop(workshop, size_bytes=16 * GIB) as storage:
        run = measured(storage.directory, "durability=high", "replication=semi-synchronous", f"cut={cut}", kind=kind)
        for step in run.steps[1:]:
            figures = replica_figures(step)
            adds_up(figures)
            assert figures.primary_settings == ("sync_binlog = 1", "innodb_flush_log_at_trx_commit = 1")
            # semi-synchronous: on both servers before it is acknowledged
            assert (figures.lost_on_primary, figures.lost_on_replica) == (0, 0)
        (found,) = (finding for finding in run.findings if finding.rule == "replica-cut")
        assert (found.verdict, found.title) == (None, "no acknowledged commit was lost")
        assert headless.judge_again(run).findings == run.findings
        assert left_in(storage.directory) == []
        assert processes_of(storage.directory) == []
        assert list((own_user / ".local/state/fstui/ledger").iterdir()) == []


def test_cut_of_both_lossy_servers_is_measured(workshop: Path) -> None:
    with disks.on_loop(workshop, size_bytes=16 * GIB) as storage:
        run = measured(storage.directory, "durability=low", "replication=asynchronous", "cut=power cut of both")
        figures = replica_figures(run.steps[-1])
        adds_up(figures)
        assert figures.primary_settings == ("sync_binlog = 0", "innodb_flush_log_at_trx_commit = 2")
        assert headless.rules_against(run) == set()  # the settings accept the loss
        assert left_in(storage.directory) == []


def test_kill_9_leaves_no_server_mount_or_loop_device(workshop: Path) -> None:
    servers.require("mariadb")
    with disks.on_loop(workshop, size_bytes=16 * GIB) as storage:
        chosen = ("server=mariadb", "durability=high", "replication=asynchronous", "cut=kill -9", "seconds=60")
        with headless.started_run("replica-cut", storage.directory, *headless.set_options(*chosen), step=1) as process:
            family = psutil.Process(process.pid).children(recursive=True)
            assert {"mariadbd", "sysbench"} & {child.name() for child in family}
            process.kill()
            assert psutil.wait_procs(family, timeout=60)[1] == []
        assert not [entry for entry in ledger.entries() if not Path(entry.what).exists()]
        headless.call("clean")
        assert left_in(storage.directory) == []
        assert str(storage.directory) not in disks.sh("losetup", "--all")
