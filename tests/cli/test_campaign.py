"""``fstui powercut campaign`` as a process: its arguments, its signals and its exit statuses."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fstui.cli.campaign import _CampaignSession
from fstui.powercut.campaign import CampaignStore
from fstui.powercut.cutting import CutCampaign
from tests import prefork
from tests.cli.conftest import Fstui
from tests.powercut.host import MadeUpHost
from tests.real.processes import eventually

Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def host(tmp_path: Path) -> MadeUpHost:
    return MadeUpHost(tmp_path / "host")


@pytest.fixture
def started(host: MadeUpHost, tmp_path: Path) -> Iterator[Started]:
    """Start a campaign of two cuts; kill it at the end."""
    processes = []
    made = host.settings()

    def start(*more: str) -> subprocess.Popen[str]:
        words = ["--box", "db1", "--dir", "/srv", "--off", made.off, "--on", made.on, "--ssh", made.ssh]
        words += ["--installed", made.installed, "--cuts", "2", "--wait", "0..0.1s", "--stay-off", "0", *more]
        call = ["powercut", "campaign", *words, "--into", str(tmp_path / "into")]
        process = prefork.Forked(
            call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_ctrl_c_finishes_the_current_cut(host: MadeUpHost, started: Started) -> None:
    process = started("--format", "json")
    assert eventually((host.home / "written").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "stopping after the current cut" in err and "The power of db1 is on" in err.splitlines()[-1]
    found = json.loads(out)
    assert (found["verdict"], found["totals"]["cuts"], found["cuts_wanted"]) == ("kept", 1, 2)
    assert "So far: ✓ 1 of 2 cuts, 0 lost: fewer than 95\xa0% lose data" in err


def test_host_without_an_address_is_refused_at_once(host: MadeUpHost, started: Started) -> None:
    host.set("unresolved")
    process = started("--back", "10m")
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "db1: its name cannot be resolved here. The power of db1 is in an unknown state" in err


def test_first_signal_ends_the_wait_for_the_host(host: MadeUpHost, started: Started) -> None:
    host.set("down")
    process = started("--back", "10m")
    assert eventually((host.home.parent / "into/campaign.json").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130 and "no cut happened" in out
    assert "stopping before the next cut" in err and "The power of db1 is in an unknown state" in err


def test_ignored_signal_stays_ignored_while_printing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    made = MadeUpHost(tmp_path / "host").settings()
    monkeypatch.setattr(CutCampaign, "run", lambda self: None)
    others = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        session = _CampaignSession(CampaignStore.open(tmp_path / "into", made), mount_fails=False)
        assert session.run("json", tmp_path / "out", ()) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGINT, signal.SIGTERM), (before, *others), strict=True):
            signal.signal(number, handler)


def test_second_signal_says_that_the_plug_is_unknown(host: MadeUpHost, started: Started) -> None:
    host.set("hangs")
    process = started()
    assert process.stderr is not None
    plug = host.home / "plug"
    assert eventually(lambda: plug.exists() and "off" in plug.read_text())
    process.send_signal(signal.SIGINT)
    assert "stopping after the current cut" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert "ended at once. The power of db1 is in an unknown state" in process.stderr.read()


def test_failed_command_is_reported_with_its_output(host: MadeUpHost, started: Started) -> None:
    host.set("broken")
    process = started("--fail-on", "lost")
    out, err = process.communicate()
    assert process.returncode == 1
    assert "the off command failed (exit 7): no such outlet [3]. The power of db1 is in an unknown state" in err
    assert "no cut happened, so nothing is proven" in out


def test_removed_directory_is_not_called_saved(host: MadeUpHost, started: Started, tmp_path: Path) -> None:
    process = started("--wait", "60s")
    assert eventually((host.home / "written").exists)
    shutil.rmtree(tmp_path / "into")
    out, err = process.communicate()
    assert process.returncode == 1
    assert "The power of db1 is on" in err and "was removed: the campaign cannot be continued" in err
    assert "no cut happened, so nothing is proven" in out


def test_unfinished_campaign_can_be_shown(host: MadeUpHost, started: Started, fstui: Fstui, tmp_path: Path) -> None:
    process = started("--wait", "60s")
    state = tmp_path / "into/00001.json"
    assert eventually(lambda: state.exists() and '"step":"write"' in state.read_text())
    shown = fstui("show", str(tmp_path / "into")).stdout.decode()
    assert "2 of 2 cuts are left. The campaign is running" in shown and "in step 'write'" in shown
    process.kill()
    process.communicate()
    page = fstui("show", str(tmp_path / "into"), "--format", "html").stdout.decode()
    assert "The campaign stopped: its process was killed" in page and "<table" in page
    for option, reason in ((["--format", "brief"], b"shows runs"), (["--again"], b"--again judges a run")):
        done = fstui("show", str(tmp_path / "into"), *option)
        assert done.returncode == 2 and reason in done.stderr and not done.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--host", "db1", "--dir", "/srv"], "a new campaign also needs --off, --on, --cuts"),
        ([], "needs --host, --dir, --off, --on and --cuts"),
        (["--into", "nowhere"], "nowhere contains no campaign"),
        (
            ["--host", "-x", "--dir", "/", "--off", "o", "--on", "o", "--cuts", "1"],
            "--host -x is not the name of a host",
        ),
        (["--fail-on", "slow"], "'slow' is not one of"),
        (["--wait", "30..2"], "is not a range of times"),
    ],
)
def test_wrong_arguments_are_refused(fstui: Fstui, words: list[str], error: str) -> None:
    done = fstui("powercut", "campaign", *words)
    assert done.returncode == 2 and error in done.stderr.decode()
