import json

import pytest
from msgspec.structs import replace

from fstui.model.guests import Guest, GuestDisk
from fstui.model.host import Host, Inventory
from fstui.model.judgement import Judgement
from fstui.model.storage import Space, Target
from fstui.report import formats, history, inventory, plans, teaching
from fstui.simulate.lab.laboratory import Lab, LabVolume
from fstui.state.runs import Summary
from tests.factories import screens
from tests.factories.samples import DISK, ROTATION, RUN, TARGET
from tests.factories.storage import readings
from tests.hostile import assert_safe, everywhere
from tests.printing import as_text

PROC = Target(path="/proc", mount_point="/proc", fstype="proc", source="proc", pseudo=True)
FLAGGED = Judgement(verdict="suspicious", confidence="high", sentence="s", findings=(ROTATION,))
HERE = Inventory(
    host=Host(hostname="db7", kernel="6.8.0-45", virtualization="kvm"),
    filesystems=(replace(TARGET, space=Space(total_bytes=2**40, free_bytes=212 * 2**30)), PROC),
    unused=(replace(DISK, id="sdb", name="sdb", size_bytes=2**40),),
)


def test_the_list_shows_filesystems_their_stack_and_their_flag() -> None:
    text = as_text(inventory.inventory_report(HERE, {"/srv": FLAGGED}))
    assert "db7 · Linux 6.8.0-45 · kvm guest · 1 filesystem" in text
    assert "!  /srv   212 G  ext4 › sda1 › sda  hdd-7200 (declared)  840/s, 7200 rpm allows 120" in text
    assert "! /srv: suspicious, high confidence (same-block-rotation)" in text
    assert "1 pseudo filesystem hidden" in text
    assert "/proc" not in text
    assert "sdb" in text


@pytest.mark.parametrize("width", [50, 64, 80, 100])
def test_a_narrow_terminal_shows_the_whole_stack(width: int) -> None:
    mount = "/var/lib/containers/storage/overlay/0123456789abcdef/mysql-data"
    deep = replace(HERE.filesystems[0], path=mount, mount_point=mount)
    text = as_text(
        inventory.inventory_report(replace(HERE, filesystems=(*HERE.filesystems, deep)), {"/srv": FLAGGED}), width=width
    )
    listed = text.split("! /srv: suspicious")[0].splitlines()[2:]
    assert all(len(line) <= width or " " not in line.strip() for line in listed)
    flat = " ".join(" ".join(listed).split())
    assert flat.count("ext4 › sda1 › sda") == 2 and mount in flat and "840/s, 7200 rpm allows 120" in flat
    assert "…" not in text and flat.count(mount) == 1


def test_health_of_a_drive_is_listed_next_to_it() -> None:
    asked = readings(percent_used="3", unsafe_shutdowns="40", media_errors="0", backup="good")
    drive = replace(DISK, id="sdb", name="sdb", model="SSD", readings=asked)
    text = as_text(inventory.inventory_report(replace(HERE, unused=(drive,)), {}))
    assert "sdb     SSD    3\xa0% used, unsafe shutdowns: 40, media errors: 0, capacitor good" in text
    failed = replace(drive, readings=readings(critical_warning="16", percent_used="3"))
    assert "3\xa0% used, capacitor failed" in as_text(inventory.inventory_report(replace(HERE, unused=(failed,)), {}))
    assert "Health reported" not in as_text(inventory.inventory_report(HERE, {}))


def test_a_silent_filesystem_has_a_row() -> None:
    silent = replace(HERE, filesystems=(replace(TARGET, silent_s=41.0),))
    assert "no answer for 41.0 s" in as_text(inventory.inventory_report(silent, {}))


def test_the_list_as_json_carries_the_findings_per_filesystem() -> None:
    content = json.loads(as_text(inventory.inventory_report(HERE, {"/srv": FLAGGED}), "json"))
    srv, proc = content["filesystems"]
    assert srv["findings"][0]["rule"] == "same-block-rotation"
    assert proc["findings"] == [] and proc["pseudo"]


def test_the_history_lists_unreadable_files() -> None:
    known = Summary(
        path="/x", id="k3f9a1", started_at=RUN.started_at, elapsed_s=14.6, status="stopped", verdict="suspicious",
        scenario="odirect-truth", target="/srv/data", simulated="a lying disk",
    )  # fmt: skip
    text = as_text(history.history_report([known, Summary(path="/y", unreadable="/y is not a run document")]))
    assert "suspicious · stopped · simulated" in text
    assert "unreadable: /y is not a run document" in text


def test_history_of_replicas_says_what_survived() -> None:
    one = Summary(path="/x", id="k3f9a1", started_at=RUN.started_at, verdict="consistent", survived="lost")
    assert as_text(history.history_report([one])).splitlines()[1].startswith("✗  k3f9a1")
    assert "consistent" not in as_text(history.history_report([one]))
    assert "suspicious" in as_text(history.history_report([replace(one, verdict="suspicious")]))


@pytest.mark.parametrize("width", [60, 80, 120, None])
def test_the_history_keeps_the_end_of_a_path(width: int | None) -> None:
    one = Summary(
        path="/x", id="k3f9a1", started_at=RUN.started_at, elapsed_s=14.6, status="finished", verdict="not-durable",
        scenario="odirect-truth", target="/srv/a/very/long/path/to/the/data/of/postgresql/16/main", rate_per_s=840.0,
    )  # fmt: skip
    lines = as_text(history.history_report([one, replace(one, target="/srv")]), width=width).splitlines()
    assert all(width is None or len(line) <= width for line in lines)
    assert any(line.endswith("data/of/postgresql/16/main") for line in lines)


@pytest.mark.parametrize("name", formats.report_names())
def test_the_laboratory_is_listed_without_its_truth(name: str) -> None:
    lab = Lab(
        run="a1b2c3",
        directory="/srv/class",
        identity=(1, 2),
        volumes=(LabVolume(name="oak", kind="volatile"), LabVolume(name="elm", kind="memory", opened=True)),
    )
    listed = as_text(teaching.lab_report(lab), name)
    sealed, opened = lab.volumes
    assert "/srv/class/oak" in listed.replace("\\", "") and sealed.truth.title not in listed
    assert opened.truth.title in listed
    assert opened.truth.verdict in as_text(teaching.envelope_report(opened), name)


@pytest.mark.parametrize("name", formats.report_names())
def test_a_plan_is_printed_in_every_format(name: str) -> None:
    text = as_text(plans.plan_report(screens.PLAN, screens.DATA), name)
    assert screens.PLAN.steps[0].name in text.replace("\\", "")


SCSI = GuestDisk(
    name="scsi0", image="/srv/a.raw", format="raw", cache="unsafe", flush="ignored", reason="cache.no-flush=on",
    mount_point="/srv",
)  # fmt: skip
ON_DEVICE = GuestDisk(name="scsi1", image="/dev/pve/x", cache="none", flush="passed", device="sdb")
VM = Guest(pid=7, hypervisor="proxmox", number=104, name="web", disks=(SCSI, ON_DEVICE))
UNREAD = Guest(pid=8, hypervisor="firecracker", trouble="its API socket gave no answer")


def test_a_guest_whose_flushes_are_ignored_is_flagged() -> None:
    text = as_text(inventory.inventory_report(replace(HERE, guests=(VM, UNREAD)), {}), width=160)
    flat = " ".join(text.split())
    assert "✗ VM 104 web scsi0 unsafe ignored /srv/a.raw /srv: ext4 › sda1 › sda" in flat
    assert "VM 104 web scsi1 none passed on /dev/pve/x sdb" in flat
    assert "✗ VM 104: flushes of scsi0 are ignored" in text and "'qm config 104'" in text
    assert "firecracker 8: its API socket gave no answer." in text
    assert "Virtual machines" not in as_text(inventory.inventory_report(HERE, {}))


def test_the_list_as_json_carries_the_guests() -> None:
    (found,) = json.loads(as_text(inventory.inventory_report(replace(HERE, guests=(VM,)), {}), "json"))["guests"]
    assert found["number"] == 104 and found["disks"][0]["flush"] == "ignored"


@pytest.mark.parametrize("name", ["plain", "json", "markdown", "html"])
def test_hostile_names_of_guests_are_escaped(name: str) -> None:
    assert_safe(as_text(inventory.inventory_report(everywhere(replace(HERE, guests=(VM, UNREAD))), {}), name))


def test_a_run_with_a_rate_limit_is_no_part_of_a_trend() -> None:
    full = Summary(path="/x", status="finished", scenario="check", rate_per_s=206.0)
    limited = replace(full, limited=True, rate_per_s=64.6)
    assert history.series([full, limited, full]) == [[full, full]]
    assert "limited" in history.remarks(limited)


def test_a_run_that_its_time_limit_ended_was_not_stopped() -> None:
    stopped = Summary(path="/x", status="stopped", scenario="fit")
    assert history.remarks(stopped) == ["stopped"]
    assert history.remarks(replace(stopped, time_limit_s=20.0)) == ["time limit"]
