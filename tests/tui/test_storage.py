import json

import msgspec
import pytest
from msgspec.structs import replace

from fstui.model.activity import ActiveWriter, HostActivity, RunningDatabase
from fstui.model.guests import Guest, GuestDisk
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.storage import Node, Reading, Space, Target
from fstui.report import inventory
from fstui.runs.machine.local import LocalMachine
from fstui.state import files, ledger, paths
from fstui.tui.drawing import io_path, storage
from fstui.tui.drawing.filesystem import detail
from fstui.tui.iostats import DeviceActivity, IoStats
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.terminal import to_ascii
from tests.factories import screens
from tests.factories.storage import disk, filesystem, on_disk, on_loop
from tests.hostile import everywhere, is_safe
from tests.printing import as_text
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines


def test_an_unjudged_filesystem_is_not_shown_as_clean() -> None:
    rows = storage.entries(screens.INVENTORY, None, {})
    assert {row.flag for row in rows if row.target and row.target.silent_s is None} == {"…"}
    assert "· … flagged" in storage.title(screens.INVENTORY, rows, None, 80).plain
    assert storage.title(screens.INVENTORY, rows, None, 60).plain.rstrip().endswith("flagged")


async def test_memory_is_not_a_defect() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        lines = screen_lines(pilot.app)
        row = next(at for at, line in enumerate(lines) if "/dev/shm" in line)
        assert "✗" not in lines[row] and lines[row].endswith("memory")
        assert row > next(at for at, line in enumerate(lines) if "/boot" in line)
    listed = as_text(inventory.inventory_report(screens.INVENTORY, screens.FLAGS))
    assert "✗ /srv/queue: not-durable" in listed and "✗ /dev/shm" not in listed
    (shm,) = (line for line in listed.splitlines() if " /dev/shm " in line)
    assert shm.endswith("memory"), "a flag would count as a defect that the app does not count"


async def test_numbers_of_a_device_are_drawn_once() -> None:
    async with PreparedApp().run_test(size=(109, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        screen.tick()
        screen.tick()
        root, boot = (line for line in screen_lines(pilot.app) if line[3:].startswith(("/ ", "/boot ")))
        assert "vda virtio" in root and "917 µs" in root
        assert "vda virtio" in boot and "917 µs" not in boot


G = 1 << 30


@pytest.mark.parametrize(("total", "free", "options", "expected"), [
    (100 * G, 0, "rw", "full"),
    (100 * G, G // 2, "rw", "full"),
    (100 * G, 3 * G, "rw", "97\xa0% full"),
    (8000 * G, 100 * G, "rw", ""),
    (100 * G, 50 * G, "ro", "read-only"),
    (1 << 20, 1 << 19, "rw", ""),
])  # fmt: skip
async def test_a_full_or_read_only_filesystem_is_flagged(total: int, free: int, options: str, expected: str) -> None:
    made = screens.target("/var", "ext4", screens.disk("vdb"), options=options)
    made = replace(made, space=Space(total_bytes=total, free_bytes=free))
    found = replace(screens.INVENTORY, filesystems=(screens.ROOT, made))
    async with PreparedApp(screens.PreparedMachine(found), flags={}).run_test(size=(80, 24)) as pilot:
        lines = screen_lines(pilot.app)
        assert ("1 flagged" if expected else "0 flagged") in lines[0]
        row = next(line for line in lines if line[3:].startswith("/var "))
        assert row.endswith(expected) and (row[1] == "!") is bool(expected)
        assert not expected or lines[2] == row, "it comes before what has no flag"
    listed = as_text(inventory.inventory_report(found, {}))
    assert expected in next(line for line in listed.splitlines() if "/var" in line)


def test_a_filesystem_that_is_read_only_by_nature_is_not_flagged() -> None:
    image = screens.target("/snap", "squashfs", screens.disk("loop0"), options="ro")
    image = replace(image, space=Space(total_bytes=G, free_bytes=0))
    assert not storage.StorageEntry(image).is_flagged


def test_the_cursor_starts_on_the_filesystem_of_a_database() -> None:
    rows = storage.entries(screens.INVENTORY, screens.FLAGS, {})
    database = RunningDatabase(pid=812, name="postgres", kind="postgresql", mounts=("/boot",))
    assert rows[storage.initial_row(rows, [database])].name == "/boot"
    assert rows[storage.initial_row(rows)].name == "/srv/queue"


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_no_column_is_cut_next_to_blank_cells(width: int) -> None:
    long = screens.target("/var/lib/containers/storage/overlay/mysql-data", "ext4", screens.disk("vda"), free=G)
    rows = [storage.StorageEntry(one) for one in (screens.QUEUE, long)]
    for line in storage.table(rows, DeviceActivity(), 0, width=width, height=9):
        assert line.cell_len <= width
        assert "…" not in line.plain or "   " * 7 not in line.plain


def test_a_wide_screen_shows_the_whole_type() -> None:
    memory = storage.StorageEntry(screens.target("/dev", "devtmpfs", screens.disk("vda"), free=G))
    for width, shown_whole in ((200, True), (60, False)):
        lines = storage.table([memory], DeviceActivity(), 0, width=width, height=9)
        assert any("devtmpfs " in line.plain for line in lines) is shown_whole


async def test_writers_and_databases_of_the_selected_row() -> None:
    box = screens.PreparedMachine()
    database = RunningDatabase(
        pid=812,
        name="mysqld",
        kind="mysql",
        data_directory="/srv/queue/mysql",
        mounts=("/srv/queue",),
        variables={"innodb_flush_log_at_trx_commit": "2"},
        unsafe_settings=("innodb_flush_log_at_trx_commit = 2",),
    )
    busy = ActiveWriter(pid=812, name="mysqld", bytes_per_s=3_251_000, mounts=("/srv/queue",))
    elsewhere = ActiveWriter(pid=9, name="rsync", bytes_per_s=9e6, mounts=("/srv/data",))
    box.seen = HostActivity(writers=(elsewhere, busy), databases=(database,))
    async with PreparedApp(box).run_test(size=(80, 40)) as pilot:
        await pilot.pause()
        words = "\n".join(screen_lines(pilot.app))
        assert "who   mysqld (812)\n" in words and "rsync" not in words
        assert "data  mysqld (812) keeps its data in /srv/queue/mysql" in words
        assert "✗ a commit may be lost: innodb_flush_log_at_trx_commit = 2" in words


@pytest.mark.parametrize(("written_bytes", "label"), [(344_000, ""), (20_000_000, " 9.5 MiB/s"), (None, " 9.5 MiB/s")])
def test_more_than_the_device_writes_is_not_shown(written_bytes: int | None, label: str) -> None:
    """The kernel counts a whole folio for each process that writes to it."""
    entry = storage.StorageEntry(on_disk(filesystem(name="/srv"), disk()))
    assert entry.target
    busy = ActiveWriter(pid=8, name="postgres", bytes_per_s=9.5 * (1 << 20), mounts=(entry.target.mount_point,))
    stats = {"sda": IoStats(elapsed_s=1.0, writes=40, written_bytes=written_bytes, flushes=0)}
    everything = Inventory(filesystems=(entry.target,))
    lines = detail(entry, stats, HostActivity(writers=(busy,)), 80, 40, inventory=everything)
    assert f"   who   postgres (8){label}" in [line.plain.rstrip() for line in lines]


async def test_a_long_path_is_cut_at_its_beginning() -> None:
    app = PreparedApp(screens.PreparedMachine(screens.named("/var/lib/containers/storage/overlay/mysql-data")))
    async with app.run_test(size=(80, 24)):
        assert any(line.startswith("▌  …e/overlay/mysql-data ━") for line in screen_lines(app))


def test_one_long_device_leaves_room_for_the_other_columns() -> None:
    image = Node(id="file:/srv/images/a-file-with-a-long-name.img", kind="file", name="image", layer="file")
    long = replace(screens.INVENTORY.filesystems[0], mount_point="/mnt", stack=(image,))
    inventory_ = replace(screens.INVENTORY, filesystems=(*screens.INVENTORY.filesystems, long))
    rows = storage.entries(inventory_, None, {})
    heads = storage.table(rows, DeviceActivity(), 0, width=80, height=12)[0].plain.split()
    assert {"MOUNT", "USED", "FREE", "DEVICE", "FLUSH/S", "FLAG"} <= set(heads)


async def test_columns_do_not_move_when_numbers_change() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        before = screen_lines(pilot.app)
        screen.tick()
        screen.tick()
        await pilot.pause()
        after = screen_lines(pilot.app)
        assert before[1] == after[1]
        row = next(line for line in after if line.startswith("   / "))
        assert row.split() == ["/", "━━━━╸─", "18", "G", "vda", "virtio", "12", "917", "µs"]
        assert row.index("vda") == after[1].index("ON DEVICE")
        assert all(len(line) <= 80 for line in after)


@pytest.mark.parametrize("width", (72, 84, 99, 125))
async def test_the_reason_is_complete_at_any_width(width: int) -> None:
    async with PreparedApp().run_test(size=(width, 24)) as pilot:
        words = " ".join(" ".join(screen_lines(pilot.app)).replace("│", " ").split())
    assert screens.BARRIERS_OFF.sentence and screens.BARRIERS_OFF.sentence in words


@pytest.mark.parametrize(("height", "numbers"), [(9, 0), (30, 2)])
def test_the_whole_path_is_shown_before_numbers_and_evidence(height: int, numbers: int) -> None:
    target = on_loop()
    found = replace(screens.BARRIERS_OFF, sentence=f"ext4 {target.mount_point} sends no flushes.")
    judged = Judgement(verdict="not-durable", confidence="high", sentence="", findings=(found,))
    stats = {device: IoStats(elapsed_s=1.0, writes=3, flushes=0) for device in ("loop0", "sda")}
    everything = Inventory(filesystems=(target, on_disk(filesystem(name="/"), disk())))
    entry = storage.StorageEntry(target, judgement=judged)
    lines = [line.plain for line in detail(entry, stats, HostActivity(), 80, height, inventory=everything)]
    assert lines[1].endswith("ext4 sends no flushes."), "the title names the mount point"
    path, evidence = (next(at for at, line in enumerate(lines) if text in line) for text in ("└ sda", "because"))
    assert path < min(evidence, height - 1)
    assert sum("3 writes/s" in line for line in lines) == numbers
    assert sum("all filesystems: " in line for line in lines) == bool(numbers)


async def test_a_silent_mount_refuses_a_run() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await pilot.press("down")
        assert any(
            "/mnt/filer" in line and "no answer for 41 s" in line and line.startswith("▌?")
            for line in screen_lines(pilot.app)
        )
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, StorageScreen)
        assert "would hang" in screen_lines(pilot.app)[-2]


def test_a_row_shows_what_its_own_loop_device_does() -> None:
    """Not what the disk below does, which other filesystems use."""
    activity = DeviceActivity()
    activity.stats = {"loop0": IoStats(elapsed_s=1.0, flushes=0), "sda": IoStats(elapsed_s=1.0, flushes=763)}
    rows = [storage.StorageEntry(on_loop()), storage.StorageEntry(on_disk(filesystem(name="/"), disk()))]
    upper, lower = storage.table(rows, activity, 0, width=160, height=9)[1:]
    assert "loop0" in upper.plain and "763" not in upper.plain
    assert "sda" in lower.plain and "763" in lower.plain


async def test_a_device_without_a_filesystem_refuses_a_run() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await pilot.press("end", "enter")
        lines = screen_lines(pilot.app)
        assert any(line.startswith("▌  sdc") for line in lines)
        assert any("No filesystem is mounted here from this device" in line for line in lines)


async def test_the_filter_keeps_matching_rows() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"boot", "enter")
        rows = [line for line in screen_lines(pilot.app) if ("ext4" in line and "G" in line) or "/boot" in line]
        assert any("/boot" in row for row in rows)
        assert not any("/srv/queue" in line for line in screen_lines(pilot.app))
        await pilot.press("escape")
        assert any("/srv/queue" in line for line in screen_lines(pilot.app))


@pytest.mark.parametrize("words", ["virtio", "vda virtio", "virtio vda", "ext4 barriers", "› barriers"])
async def test_the_filter_finds_words_of_every_column(words: str) -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        screen.filter_by(words)
        names = [row.name for row in screen.rows]
        assert ("/srv/queue" in names) == ("barriers" in words)
        assert ("/" in names) == ("virtio" in words)


async def test_pseudo_filesystems_are_hidden_at_first() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        assert not any("/proc " in line for line in screen_lines(pilot.app))
        assert "1 pseudo filesystem hidden" in screen_lines(pilot.app)[-2]
        await pilot.press("a")
        assert any("/proc " in line for line in screen_lines(pilot.app))


async def test_sorting_by_mount_puts_the_root_first() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await pilot.press("o")
        assert screen_lines(pilot.app)[2][3:].startswith("/ ")
        assert "sorted by mount" in screen_lines(pilot.app)[-2]


@pytest.mark.parametrize(
    ("mount", "visible"),
    [
        ("[red]x[/]", "[red]x[/]"),
        ("/mnt/\x1b[31mred", "/mnt/\\x1b[31mr"),
        ("/mnt/a\nb", "/mnt/a\\x0ab"),
        ("/mnt/\udcff", "/mnt/\\xff"),
    ],
)
async def test_a_hostile_name_is_escaped(mount: str, visible: str) -> None:
    app = PreparedApp(screens.PreparedMachine(screens.named(mount)))
    async with app.run_test(size=(80, 24)):
        lines = screen_lines(app)
        assert any(visible in line for line in lines)
        assert not any("\x1b" in line or "\n" in line for line in lines)


async def test_leftovers_of_a_killed_run_can_be_removed() -> None:
    entry = ledger.write_entry("k3f9a1", "directory", "/nowhere/.fstui-k3f9a1")
    dead = json.dumps({**msgspec.structs.asdict(entry), "pid": 1, "started": 1})
    ledger.path_of(entry).write_text(dead)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        assert "left 1 thing behind. Press c to clean up." in (await press(pilot, "home"))[-2]
        assert "Removed 1 leftover." in (await press(pilot, "c"))[-2]
        assert ledger.entries() == []


async def test_the_title_counts_what_the_filter_hides() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        before = screen_lines(pilot.app)[0]
        await pilot.press("slash", *"nothing", "enter")
        assert screen_lines(pilot.app)[0] == before


async def test_a_host_without_filesystems_is_no_error() -> None:
    app = PreparedApp(screens.PreparedMachine(Inventory()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "enter", "y")
        assert "No filesystem matches the filter" in "\n".join(screen_lines(app))


def change_keys(text: str) -> None:
    files.create_private_directory(paths.config_dir())
    (paths.config_dir() / "keys.toml").write_text(text)


async def test_a_changed_key_works_and_is_in_the_footer() -> None:
    change_keys('"storage.sort" = "s"')
    async with PreparedApp().run_test(size=(100, 24)) as pilot:
        assert "s sort" in (await press(pilot, "home"))[-1]
        assert "sorted by mount" in (await press(pilot, "s"))[-2]


def test_the_io_path_is_a_tree_with_roles_and_link_rates() -> None:
    def read(what: str, value: str) -> Reading:
        return Reading(what=what, value=value, path="/sys")

    members = [
        screens.disk(
            f"nvme{number}n1",
            model="PM9A3",
            link="nvme",
            readings=(
                read("role", "member"),
                read("link_rate", "8.0 GT/s × 4"),
                read("missing", "the drive's report: root only"),
            ),
        )
        for number in (0, 1)
    ]
    log = screens.disk("sdb", link="sata", readings=(read("role", "slog"), read("link_rate", "6.0 Gbps")))
    mirror = Node(
        id="vdev:tank/mirror-0",
        layer="pool",
        kind="mirror",
        name="mirror-0",
        below=("nvme0n1", "nvme1n1"),
        sync="passes",
    )
    tank = Node(
        id="pool:tank",
        layer="pool",
        kind="zpool",
        name="tank",
        below=(mirror.id, "sdb"),
        sync="stops",
        reason="zfs_nocacheflush",
    )
    target = screens.target("/db", "zfs", tank, mirror, *members, log)
    assert [line.plain.rstrip() for line in io_path.tree(target, 80)] == [
        "   zfs  rw,relatime                             · passes flushes on",
        "   └ tank  zpool                       ✗ passes no flushes on: zfs_nocacheflush",
        "     ├ mirror-0                                 · would pass flushes on",
        "     │ ├ nvme0n1  member, PM9A3, 8.0 GT/s × 4   · write cache on, no FUA",
        "     │ │   not read: the drive's report: root only",
        "     │ └ nvme1n1  member, PM9A3, 8.0 GT/s × 4   · write cache on, no FUA",
        "     │     not read: the drive's report: root only",
        "     └ sdb  slog, sata 6.0 Gbps                 · write cache on, no FUA",
    ]
    assert io_path.path(target) == "/db · zfs › tank › mirror-0 + sdb › nvme0n1 + nvme1n1"


def test_health_of_a_drive_is_drawn_below_it() -> None:
    asked = tuple(
        Reading(what=what, value=value, path="nvme smart-log")
        for what, value in {"percent_used": "3", "unsafe_shutdowns": "40", "media_errors": "0"}.items()
    )
    drive = Node(id="nvme0n1", layer="block", kind="disk", name="nvme0n1", readings=asked)
    drawn = [line.plain.rstrip() for line in io_path.tree(screens.target("/db", "ext4", drive), 80)]
    assert drawn[-1] == "       reports: 3\xa0% used, unsafe shutdowns: 40, media errors: 0"


def test_a_role_for_another_volume_is_not_drawn() -> None:
    role = Reading(what="role", value="stripe", path="dmsetup table")  # of another volume
    volume = Node(id="dm-0", layer="block", kind="dm-linear", name="vg/root", below=("sda",))
    drawn = io_path.tree(Target(
        path="/srv", mount_point="/srv", fstype="ext4", source="/dev/vg/root",
        stack=(screens.target("/srv", "ext4", volume).stack[0], volume, screens.disk("sda", readings=(role,))),
    ), 80)  # fmt: skip
    assert "stripe" not in drawn[2].plain


@pytest.mark.parametrize(("text", "expected"), [
    ('"storage.sort" = 7', "Expected `str`"),
    ('"storage.srot" = "s"', "there is no command storage.srot. Did you mean 'storage.sort'?"),
], ids=["invalid", "unknown"])  # fmt: skip
async def test_a_mistake_in_keys_toml_is_reported(text: str, expected: str) -> None:
    change_keys(text)
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert expected in " ".join(" ".join(screen_lines(pilot.app)[-3:]).split())


@pytest.mark.parametrize("signs", ["●◆", "▁▂▃▄▅▆▇█", "✓✗?"])
def test_different_glyphs_differ_in_ascii(signs: str) -> None:
    drawn = to_ascii(signs)
    assert drawn.isascii() and len(set(drawn)) == len(signs)


async def test_processes_are_not_read_behind_another_screen() -> None:
    app = PreparedApp(LocalMachine())
    async with app.run_test(size=(80, 24)) as pilot:
        behind = app.screen
        assert isinstance(behind, StorageScreen)
        app.push_screen(HistoryScreen())
        await pilot.pause()
        behind.follow_activity()
        await pilot.pause()
        assert not [worker for worker in app.workers if worker.group == "activity"]


VM = Guest(
    pid=7, hypervisor="proxmox", number=104, name="web", read_from="its arguments",
    disks=(
        GuestDisk(name="scsi0", image="/srv/queue/a.raw", cache="unsafe", flush="ignored", reason="cache.no-flush=on",
                  mount_point="/srv/queue"),
        GuestDisk(name="scsi1", image="rbd:vms/b", cache="none", flush="passed"),
    ),
)  # fmt: skip
SAFE_VM = Guest(pid=8, hypervisor="qemu", name="[red]x", disks=(replace(VM.disks[1], device="sdc"),))


async def test_a_virtual_machine_is_a_row_with_its_disks() -> None:
    found = replace(screens.INVENTORY, guests=(SAFE_VM, VM))
    async with PreparedApp(screens.PreparedMachine(found)).run_test(size=(100, 30)) as pilot:
        row = next(line for line in screen_lines(pilot.app) if "VM 104 web" in line)
        assert row.startswith(" ✗ VM 104 web") and row.endswith("flushes ignored")
        safe = next(line for line in screen_lines(pilot.app) if "VM [red]x" in line)
        assert safe.endswith(" vm") and "✗" not in safe
        await press(pilot, "slash", *"104", "enter")
        flat = " ".join(" ".join(screen_lines(pilot.app)).split())
        assert "✗ VM 104: flushes of scsi0 are ignored" in flat and "/srv/queue: ext4" in flat
        assert "Proxmox, process 7" in flat and "Read from its arguments." in flat
        await press(pilot, "enter")
        assert any("This is a virtual machine" in line for line in screen_lines(pilot.app))


async def test_hostile_guests_do_not_reach_the_terminal() -> None:
    found = everywhere(replace(screens.INVENTORY, filesystems=(), unused=(), guests=(VM,)))
    async with PreparedApp(screens.PreparedMachine(found)).run_test(size=(100, 30)) as pilot:
        assert is_safe("\n".join(screen_lines(pilot.app)))
