"""Campaigns with a made-up host: their cuts, what stops them, and how they continue."""

import os
import subprocess
from fractions import Fraction
from math import comb
from pathlib import Path

import msgspec
import pytest

from fstui.model.errors import Refused
from fstui.powercut import cutting
from fstui.powercut.bounds import interval
from fstui.powercut.campaign import PATTERNS, CampaignCut, CampaignSettings, CampaignStore, Step
from fstui.powercut.cutting import CutCampaign
from tests.powercut.headers import HEADER
from tests.powercut.host import MadeUpHost


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpHost:
    monkeypatch.setattr(cutting, "SILENCE_TIMEOUT_S", 0.1)
    monkeypatch.setattr(cutting, "MAX_ALIVE_S", 0.3)
    monkeypatch.setattr(cutting, "RETRY_INTERVAL_S", 0.02)
    return MadeUpHost(tmp_path / "host")


def outcomes(campaign: CutCampaign) -> list[str]:
    return [cut.outcome for cut in campaign.store.cuts]


@pytest.mark.parametrize(
    ("lost", "cuts", "low", "high"),
    [(1, 10, 0.0025, 0.4450), (5, 100, 0.0164, 0.1128), (0, 1, 0.0, 0.95), (0, 0, 0.0, 1.0)],
)
def test_interval_is_the_published_one(lost: int, cuts: int, low: float, high: float) -> None:
    assert interval(lost, cuts) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("cuts", [1, 100, 412])
def test_interval_without_a_loss_is_that_of_the_formula(cuts: int) -> None:
    assert interval(0, cuts) == pytest.approx((0.0, 1 - 0.05 ** (1 / cuts)))
    assert interval(cuts, cuts) == pytest.approx((0.05 ** (1 / cuts), 1.0))


def test_interval_has_the_exact_tails() -> None:
    low, high = map(Fraction, interval(37, 100))
    at_least = sum(comb(100, k) * low**k * (1 - low) ** (100 - k) for k in range(37, 101))
    at_most = sum(comb(100, k) * high**k * (1 - high) ** (100 - k) for k in range(38))
    assert (float(at_least), float(at_most)) == pytest.approx((0.025, 0.025))


def test_interval_of_many_cuts_is_close_to_the_rule_of_three() -> None:
    assert interval(0, 99_999)[1] == pytest.approx(3 / 99_999, rel=2e-3)


def test_each_cut_has_the_next_pattern_and_a_new_boot(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=3))
    campaign.run()
    assert outcomes(campaign) == ["intact"] * 3
    assert [cut.pattern for cut in campaign.store.cuts] == list(PATTERNS)[:3]
    assert all(cut.boot_before != cut.boot_after for cut in campaign.store.cuts)
    assert all(cut.silent_after_s is not None and cut.silent_after_s < 0.1 for cut in campaign.store.cuts)
    assert "--set sync=fsync --set writes=append" in (host.home / "written").read_text()
    assert (tmp_path / "into/00003.log").read_bytes() == (host.home / "log").read_bytes()


def test_waits_depend_only_on_the_seed(host: MadeUpHost, tmp_path: Path) -> None:
    first, again, other = (
        CampaignStore.open(tmp_path / name, host.settings(seed=seed)).current_cut()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first.wait_s == again.wait_s != other.wait_s


def test_campaign_continues_after_a_loss(host: MadeUpHost, tmp_path: Path) -> None:
    host.answers("lost")
    campaign = host.campaign(tmp_path / "into", host.settings(remake="touch remade"))
    campaign.run()
    assert outcomes(campaign) == ["lost", "lost"] and (host.home / "remade").exists()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("same-boot", "3 attempts in a row proved nothing.*boot id of db1 did not change"),
        ("wrong-plug", "still writing.*The off command printed: no session"),
    ],
)
def test_host_that_was_not_cut_proves_nothing(behaviour: str, words: str, host: MadeUpHost, tmp_path: Path) -> None:
    host.set(behaviour)
    campaign = host.campaign(tmp_path / "into", host.settings())
    with pytest.raises(Refused, match=words):
        campaign.run()
    assert outcomes(campaign) == ["no-cut"] * 3
    assert (host.home / "plug").read_text() == "off\non\n" * 3


def test_loss_without_a_cut_is_a_loss(host: MadeUpHost, tmp_path: Path) -> None:
    host.set("same-boot")
    host.answers("lost")
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    campaign.run()
    assert outcomes(campaign) == ["lost"]


@pytest.mark.parametrize(
    ("behaviour", "command", "words"),
    [
        ("broken", "off", r"failed \(exit 7\): no such outlet \[3\]"),
        ("hangs", "off", "did not end within"),
        ("on-broken", "on", r"failed \(exit 7\): no such outlet \[3\]"),
        ("on-hangs", "on", "did not end within"),
    ],
)
def test_command_that_fails_or_hangs_stops_it(
    behaviour: str, command: str, words: str, host: MadeUpHost, tmp_path: Path
) -> None:
    host.set(behaviour)
    campaign = host.campaign(tmp_path / "into", host.settings(command_s=0.3))
    with pytest.raises(Refused, match=f"the {command} command {words}"):
        campaign.run()
    assert f"unknown state: the {command} command" in campaign.cut.power_state
    host.unset(behaviour)
    again = _reopened(host, campaign)
    again.run()
    assert outcomes(again)[-2:] == ["intact", "intact"]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("ssh-dies", "connection broke before the off command: Connection reset by peer"),
        ("goes-silent", "HOST had been silent for"),
    ],
)
def test_host_that_stops_writing_is_not_cut(behaviour: str, words: str, host: MadeUpHost, tmp_path: Path) -> None:
    host.set(behaviour)
    with pytest.raises(Refused, match=words):
        host.campaign(tmp_path / "into", host.settings(wait_s=(0.2, 0.2))).run()
    assert not (host.home / "plug").exists()


def test_connection_that_breaks_while_verifying_is_made_again(host: MadeUpHost, tmp_path: Path) -> None:
    host.set("verify-dies")
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    campaign.run()
    assert outcomes(campaign) == ["intact"] and not (host.home / "verify-dies").exists()


def test_host_that_another_campaign_cuts_stops_it(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings())
    campaign._show_cut = lambda cut: host.set("boot", Path("/proc/sys/kernel/random/uuid").read_text())
    with pytest.raises(Refused, match=r"db1 has restarted between two cuts.*Another campaign"):
        campaign.run()
    assert outcomes(campaign) == ["intact"]


def test_witness_does_not_cut_its_own_power(host: MadeUpHost, tmp_path: Path) -> None:
    host.set("boot", Path("/proc/sys/kernel/random/boot_id").read_text())
    with pytest.raises(Refused, match="db1 is this machine"):
        host.campaign(tmp_path / "into", host.settings()).run()
    assert not (host.home / "plug").exists()


def test_filesystem_that_comes_back_read_only_is_not_counted(host: MadeUpHost, tmp_path: Path) -> None:
    host.answers("kept", read_only=True)
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    with pytest.raises(Refused, match=r"cut 1 cannot be verified: the filesystem on .* is read-only"):
        campaign.run()
    assert campaign.store.conclusive_cuts == []
    host.answers("kept")
    again = _reopened(host, campaign)
    again.run()
    assert outcomes(again) == ["intact"]


def test_disk_that_is_missing_is_no_loss(host: MadeUpHost, tmp_path: Path) -> None:
    (host.home / "answer.json").write_text("")
    mount = "[ ! -e written ] || { echo 'special device /dev/sdb1 does not exist'; exit 32; }"
    campaign = host.campaign(tmp_path / "into", host.settings(mount=mount))
    with pytest.raises(Refused, match="the disk is missing or has another name: special device /dev/sdb1"):
        campaign.run()
    assert campaign.store.conclusive_cuts == []


@pytest.mark.root
def test_full_disk_of_the_witness_stops_it(host: MadeUpHost, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir(0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", into], check=True)
    try:
        campaign = host.campaign(into, host.settings(wait_s=(60.0, 60.0)))
        (into / "filled").write_bytes(bytes(40960))
        with pytest.raises(Refused, match=r"acknowledgements cannot be saved: .*No space left"):
            campaign.run()
        os.close(campaign.store._lock_fd)
    finally:
        subprocess.run(["umount", into], check=True)
    assert not (host.home / "plug").exists()


@pytest.mark.parametrize(("kind", "words"), [("power", 0), ("reset", 1)])
def test_host_is_told_what_was_cut(kind: str, words: int, host: MadeUpHost, tmp_path: Path) -> None:
    host.campaign(tmp_path / "into", host.settings(cuts=1, kind=kind)).run()
    assert (host.home / "verified").read_text().count(f"--cut {kind}") == words


def test_campaign_can_be_read_while_it_runs(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    campaign.run()
    campaign.store.stop("db1: no")
    read = CampaignStore.read(tmp_path / "into")
    assert (read.is_running, read.stop_reason, read.cuts) == (True, "db1: no", campaign.store.cuts)
    os.close(campaign.store._lock_fd)
    assert not CampaignStore.read(tmp_path / "into").is_running
    assert CampaignStore.open(tmp_path / "into", None).stop_reason == ""


def test_host_that_does_not_come_back_stops_it(host: MadeUpHost, tmp_path: Path) -> None:
    host.set("dead")
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    with pytest.raises(Refused, match=r"db1: it has not come back after cut 1.*no sshd listens there"):
        campaign.run()
    assert campaign.cut.power_state.startswith("in an unknown state: it has not answered")
    host.unset("dead")
    host.unset("down")
    host.set("boot", Path("/proc/sys/kernel/random/uuid").read_text())
    again = _reopened(host, campaign)
    again.run()
    assert outcomes(again) == ["intact"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [("start", 1), ("write", 2), ("off", 2), ("wait", 1), ("on", 1), ("back", 1), ("verify", 1)],
)
def test_killed_witness_continues(step: Step, expected: int, host: MadeUpHost, tmp_path: Path) -> None:
    settings = host.settings(cuts=1)
    store = CampaignStore.open(tmp_path / "into", settings)
    before = (host.home / "boot").read_text().strip()
    cut = CampaignCut(number=1, pattern="SQLite", wait_s=0.1, started_at="", step=step, boot_before=before)
    store.save(cut)
    if step != "start":
        store.log_path(cut).write_bytes(HEADER + b"\nack 0 0 1\n")
    if step in ("off", "wait", "on"):
        host.set("down")
    else:
        host.set("boot", Path("/proc/sys/kernel/random/uuid").read_text())
    if step == "verify":
        store.save(msgspec.structs.replace(cut, boot_after=(host.home / "boot").read_text().strip()))
    os.close(store._lock_fd)
    campaign = host.campaign(tmp_path / "into", None)
    campaign.run()
    assert len(campaign.store.cuts) == expected
    assert outcomes(campaign) == ["no-cut"] * (expected - 1) + ["intact"]


def test_filesystem_that_does_not_mount_is_a_loss(host: MadeUpHost, tmp_path: Path) -> None:
    (host.home / "answer.json").write_text("")
    campaign = host.campaign(
        tmp_path / "into", host.settings(mount="[ ! -e written ] || { echo bad superblock; exit 32; }")
    )
    with pytest.raises(Refused, match="could not be mounted after cut 1"):
        campaign.run()
    [cut] = campaign.store.cuts
    assert cut.outcome == "lost" and cut.figures is not None and cut.figures.unmountable


def test_records_that_cannot_be_read_are_no_loss(host: MadeUpHost, tmp_path: Path) -> None:
    (host.home / "answer.json").write_text("")
    campaign = host.campaign(tmp_path / "into", host.settings())
    with pytest.raises(Refused, match="cut 1 cannot be verified"):
        campaign.run()
    again = _reopened(host, campaign, mount_fails=True)
    with pytest.raises(Refused, match="could not be mounted after cut 1"):
        again.run()
    assert outcomes(again) == ["lost"]


def test_pattern_that_the_host_refuses_is_left_out(host: MadeUpHost, tmp_path: Path) -> None:
    host.set("refuses")
    campaign = host.campaign(tmp_path / "into", host.settings())
    with pytest.raises(Refused, match="db1 refuses to write: open: Invalid argument"):
        campaign.run()
    assert outcomes(campaign) == ["refused"] * len(PATTERNS)
    host.unset("refuses")
    again = _reopened(host, campaign)
    again.run()
    assert outcomes(again)[-2:] == ["intact", "intact"]


@pytest.mark.parametrize("answer", ["no document", '{"schema": "fstui.run/2", "id": 7}', "[" * 10_000])
def test_answer_of_the_host_is_not_trusted(answer: str, host: MadeUpHost, tmp_path: Path) -> None:
    (host.home / "answer.json").write_text(answer)
    with pytest.raises(Refused, match="printed no run document"):
        host.campaign(tmp_path / "into", host.settings()).run()


def test_host_that_floods_is_stopped(host: MadeUpHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MAX_LOG_BYTES", 500)
    campaign = host.campaign(tmp_path / "into", host.settings(wait_s=(60.0, 60.0)))
    with pytest.raises(Refused, match="HOST sent more than 200 MiB"):
        campaign.run()


def test_directory_that_is_not_mounted_any_more_is_not_cut(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    campaign.run()
    store = campaign.store
    store.save(msgspec.structs.replace(store.cuts[0], mount_point="/srv/data"))
    again = _reopened(host, campaign, host.settings(cuts=2))
    with pytest.raises(Refused, match="the records went to the filesystem of /srv, not of /srv/data"):
        again.run()


def test_records_of_the_cut_before_are_removed(host: MadeUpHost, tmp_path: Path) -> None:
    left = host.home / ".fstui-powercut-00112233445566ff"
    (left / "w0").mkdir(parents=True)
    campaign = host.campaign(tmp_path / "into", host.settings(directory=str(host.home)))
    campaign.run()
    assert not left.exists()


def test_another_host_is_refused_and_more_cuts_are_not(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    with pytest.raises(Refused, match="another fstui runs"):
        CampaignStore.open(tmp_path / "into", None)
    os.close(campaign.store._lock_fd)
    with pytest.raises(Refused, match="begun with a different --host"):
        CampaignStore.open(tmp_path / "into", host.settings(host="db2"))
    assert CampaignStore.open(tmp_path / "into", host.settings(cuts=9, seed=1)).settings.cuts == 9


@pytest.mark.root
def test_commands_of_another_user_are_not_run(host: MadeUpHost, tmp_path: Path) -> None:
    campaign = host.campaign(tmp_path / "into", host.settings(cuts=1))
    os.close(campaign.store._lock_fd)
    os.chown(tmp_path / "into/campaign.json", 65534, 65534)
    with pytest.raises(Refused, match="belongs to another user"):
        CampaignStore.open(tmp_path / "into", None)
    assert CampaignStore.read(tmp_path / "into").settings.cuts == 1


def _reopened(
    host: MadeUpHost, campaign: CutCampaign, settings: CampaignSettings | None = None, **how: bool
) -> CutCampaign:
    os.close(campaign.store._lock_fd)
    return host.campaign(campaign.store.directory, settings, **how)
