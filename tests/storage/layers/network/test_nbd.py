"""nbd devices whose server is a program of this very box."""

from __future__ import annotations

import os

import pytest

from fstui.storage.layers.network.nbd_servers import read_over
from fstui.storage.layers.network.nbd_settings import changed
from fstui.storage.layers.sources.claims import Answer, Claims, line
from fstui.storage.layers.sources.sockets import CONNECTIONS
from fstui.storage.layers.targets.held_files import lies_at
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import finding, verdict
from tests.factories.looking import edges, look
from tests.factories.steps import step

GIB = 1 << 30
TCP = (
    "tcp   ESTAB 0      0               127.0.0.1:48254          127.0.0.1:10809\n"
    'tcp   ESTAB 0      16     [::ffff:127.0.0.1]:10809 [::ffff:127.0.0.1]:48254 users:(("nbd-server",pid=857,fd=5))\n'
)
UNIX = (
    'u_str ESTAB 0      0      /run/a socket 2464            * 2463 users:(("nbdkit",pid=857,fd=6))\n'
    "u_str ESTAB 0      0                  * 2463            * 2464                               \n"
)
ITSELF = (
    'u_str ESTAB 0      0                            * 2029            * 2030 users:(("qemu-nbd",pid=857,fd=9))\n'
    'u_str ESTAB 0      0      /var/lock/qemu-nbd-nbd0 2030            * 2029 users:(("qemu-nbd",pid=857,fd=10))\n'
)
CONFIG = "/etc/nbd-server/config"
READ_ONLY, WRITABLE, APPENDED = "0100000", "0100002", "0102002"


@pytest.fixture(autouse=True)
def disk_memory_and_client(box: Box) -> None:
    box.disk("vda", "pci0000:00/0000:00:02.0/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("tmpfs", "/dev/shm", "tmpfs", device="0:25")
    box.link("/proc/self/ns/mnt", "mnt:[1]")
    box.link("/proc/self/root", "/")
    box.write("/proc/stat", "btime 1000")


def client(box: Box, name: str = "nbd0", cache: str = "write back", place: str = "/srv") -> None:
    box.device(name, write_cache=cache, request_based=True)
    box.mount(f"/dev/{name}", place, "ext4")


def server(box: Box, *files: str, program: str = "nbd-server", words: str = "", flags: str = WRITABLE) -> None:
    home = "/proc/857"
    box.link(f"{home}/exe", f"/usr/bin/{program}")
    box.link(f"{home}/ns/mnt", "mnt:[1]")
    box.link(f"{home}/root", "/")
    box.write(f"{home}/cmdline", f"{program}\0{words}".rstrip("\0") + "\0")
    box.write(f"{home}/stat", "857 (a name) S 1 " + " ".join(["0"] * 17) + f" {100 * os.sysconf('SC_CLK_TCK')}")
    for number, file in enumerate(("/dev/null", "/dev/null", "/var/log", "socket:[7]", "/dev/null", *files)):
        box.link(f"{home}/fd/{number}", file)
        box.write(f"{home}/fdinfo/{number}", f"pos:\t0\nflags:\t{flags if number > 4 else WRITABLE}\nmnt_id:\t26\n")


def told(file: str, size_bytes: int = GIB, sockets: str = TCP, number: str = "0:25", links: int = 1) -> Claims:
    """What is asked of it: it lies at its path, too."""
    major, minor = map(int, number.split(":"))
    stat = Answer(output=f"{os.makedev(major, minor)} 12 {size_bytes} {links}\n")
    paths = ("/proc/857/fd/5", file)
    return {line(CONNECTIONS): Answer(output=sockets), **{line(lies_at(path)): stat for path in paths}}


@pytest.mark.parametrize("sockets", [TCP, UNIX])
def test_a_server_whose_file_is_in_memory(box: Box, sockets: str) -> None:
    client(box)
    server(box, "/dev/shm/disk")
    found = look(box, claims=told("/dev/shm/disk", sockets=sockets))
    assert edges(found)["nbd0"] == ("file:/dev/shm/disk",)
    assert finding(verdict(found), "in-memory").title == "in memory (tmpfs)"


def test_a_server_whose_file_is_on_a_disk_is_not_accused_and_its_syncs_are_not_counted(box: Box) -> None:
    client(box)
    server(box, "/images/disk")
    found = look(box, claims=told("/images/disk"))
    assert edges(found)["nbd0"] == ("file:/images/disk",)
    for flushes in (0, 1, 2):
        judged = verdict(found, step(flushes={"nbd0": 1, "vda": flushes}))
        assert judged.verdict != "not-durable"
        assert judged.confidence == "low"
        assert not [each for each in judged.findings if each.rule == "other-writers"]


def test_a_server_whose_file_is_below_no_barriers(box: Box) -> None:
    box.ext4("vda", "rw nobarrier")
    client(box)
    server(box, "/images/disk")
    assert verdict(look(box, claims=told("/images/disk"))).findings[0].rule == "barriers-off"


@pytest.mark.parametrize(("other_bytes", "others", "flags"), [
    (GIB // 2, (), WRITABLE), (GIB, ("/dev/shm/two",), WRITABLE), (GIB, (), READ_ONLY), (GIB, (), APPENDED),
], ids=["another size", "two files", "read only", "a log"])  # fmt: skip
def test_what_is_not_proved_is_not_followed(box: Box, other_bytes: int, others: tuple[str, ...], flags: str) -> None:
    client(box)
    server(box, "/dev/shm/disk", *others, flags=flags)
    assert edges(look(box, claims=told("/dev/shm/disk", other_bytes)))["nbd0"] == ()


def test_of_two_devices_of_one_size_the_kernels_sockets_do_not_tell_which_is_whose(box: Box) -> None:
    client(box)
    client(box, "nbd1", place="/mnt")
    server(box, "/dev/shm/disk")
    assert edges(look(box, claims=told("/dev/shm/disk")))["nbd0"] == ()


OWN, OTHERS = "127.0.0.1:48254 127.0.0.1:10809\n", "127.0.0.1:48260 127.0.0.1:10809\n"


@pytest.mark.parametrize(
    ("over", "followed"), [(OWN, True), (OTHERS, False), ("10.0.0.2:48254 10.0.0.3:10809\n", False)]
)
def test_what_is_read_of_it_tells_which_is_whose(box: Box, over: str, followed: bool) -> None:
    client(box)
    client(box, "nbd1", place="/mnt")
    server(box, "/dev/shm/disk")
    claims = {**told("/dev/shm/disk"), line(read_over("nbd0")): Answer(output=over)}
    assert (edges(look(box, claims=claims))["nbd0"] == ("file:/dev/shm/disk",)) is followed
    assert edges(look(box, "/mnt", claims))["nbd1"] == ()


def test_only_of_several_it_is_asked_what_is_read_over_which_connection(box: Box) -> None:
    client(box)
    asked = read_over("nbd0")
    assert asked not in commands(survey(box.root), root=True)
    client(box, "nbd1", place="/mnt")
    assert asked in commands(survey(box.root), root=True)
    assert asked not in commands(survey(box.root), root=False)


def test_the_process_that_serves_the_device_tells_which_is_whose(box: Box) -> None:
    """Its thread's number stands in sysfs (NBD_DO_IT)."""
    client(box)
    client(box, "nbd1", place="/mnt")
    box.write("/sys/devices/virtual/block/nbd0/pid", "860")
    box.write("/proc/860/status", "Name:\tqemu-nbd\nTgid:\t857\nPid:\t860\n")
    server(box, "/dev/shm/disk.qcow2", "/dev/nbd0", program="qemu-nbd")
    claims = told("/dev/shm/disk.qcow2", 4096, ITSELF)
    assert edges(look(box, claims=claims))["nbd0"] == ("file:/dev/shm/disk.qcow2",)
    assert edges(look(box, "/mnt", claims))["nbd1"] == ()


def test_a_server_elsewhere_is_not_known(box: Box) -> None:
    client(box)
    server(box, "/dev/shm/disk")
    sockets = "tcp   ESTAB 0      0               10.0.0.2:48254          10.0.0.3:10809\n"
    assert edges(look(box, claims=told("/dev/shm/disk", sockets=sockets)))["nbd0"] == ()


@pytest.mark.parametrize(("number", "below"), [("0:25", ("mount:/dev/shm",)), ("0:77", ())])
def test_another_file_at_its_path_here_is_not_taken_for_it(box: Box, number: str, below: tuple[str, ...]) -> None:
    client(box)
    server(box, "/images/disk")
    claims = {**told("/images/disk", number=number), line(lies_at("/images/disk")): Answer(error="No such file")}
    assert edges(look(box, claims=claims))["file:/images/disk"] == below


def test_a_file_that_was_deleted_goes_with_the_server(box: Box) -> None:
    client(box)
    server(box, "/images/disk (deleted)")
    judged = verdict(look(box, claims=told("/images/disk (deleted)", links=0)))
    assert finding(judged, "deleted-file").verdict == "not-durable"


def test_a_block_device_that_is_served(box: Box) -> None:
    client(box)
    box.device("sdb")
    server(box, "/dev/sdb")
    assert edges(look(box, claims=told("/dev/sdb", 0)))["nbd0"] == ("sdb",)


def test_nbdkit_may_keep_it_in_its_own_memory(box: Box) -> None:
    client(box)
    server(box, program="nbdkit", words="memory\x001G")
    found = look(box, claims=told(""))
    assert edges(found)["nbd0"] == ()
    box.write("/proc/857/maps", "7f00-7f01 r-xp 00000000 fe:00 9 /usr/lib/nbdkit/plugins/nbdkit-memory-plugin.so\n")
    judged = verdict(look(box, claims=told("")))
    assert (judged.verdict, finding(judged, "in-memory").title) == ("not-durable", "in memory (nbdkit)")


@pytest.mark.parametrize(("words", "dropped"), [
    ("--cache=unsafe", True), ("--cache\0unsafe", True), ("cache.no-flush=on", True), ("--cache=writeback", False),
])  # fmt: skip
def test_qemu_nbd_may_be_told_to_drop_flushes(box: Box, words: str, dropped: bool) -> None:
    client(box)
    server(box, "/images/disk", program="qemu-nbd", words=words)
    found = look(box, claims=told("/images/disk"))
    assert (found.node("nbd0").sync == "stops") is dropped
    assert any(each.rule == "syncs-not-sent" for each in verdict(found).findings) is dropped


@pytest.mark.parametrize(("words", "dropped"), [
    ("--filter=cache\0file\0/images/disk\0cache=unsafe", True), ("--filter\0cache\0file\0cache=unsafe", True),
    ("--filter=cache\0file\0/images/disk\0cache=writeback", False), ("file\0/images/disk\0cache=unsafe", False),
    ("--filter=cacheextents\0sh\0a\0cache=unsafe", False), ("--filter=cache\0file\0/images/disk", False),
    ("file\0/images/disk\0cache=unsafe\0--filter=cache", True), ("--filter=cache\0file\0a\nb\0cache=unsafe", True),
    ("--filter=cache\0file\0cache=unsafe\0cache=writeback", False),
    ("--run\0x cache=unsafe\0--filter=cache\0file", False),
    ("--filter=/usr/lib/nbdkit/filters/nbdkit-cache-filter.so\0file\0cache=unsafe", True),
])  # fmt: skip
def test_the_cache_filter_of_nbdkit_may_be_told_to_forget_flushes(box: Box, words: str, dropped: bool) -> None:
    """It has two files open, the disk's and its cache's."""
    client(box)
    server(box, "/images/disk", "/var/tmp/nbdkit1mx (deleted)", program="nbdkit", words=words)
    judged = verdict(look(box, claims=told("/images/disk")))
    assert any(each.rule == "syncs-not-sent" for each in judged.findings) is dropped


def test_what_is_copied_on_write_is_forgotten_with_the_connection(box: Box) -> None:
    client(box)
    server(box, "/images/disk", "/images/disk-127.0.0.1-857.diff")
    judged = verdict(look(box, claims=told("/images/disk")))
    assert finding(judged, "syncs-not-sent").title.startswith("served copyonwrite")


@pytest.mark.parametrize(("settings", "newer", "words", "accused"), [
    ("[a]\nexportname = /images/disk\n", False, "", True),
    ("[a]\nexportname = /images/disk\nsync = true\n", False, "", False),
    ("[b]\nexportname = /images/other\n", False, "", False),
    ("[a]\nexportname = /images/disk\n", True, "", False),
    ("[a]\nexportname = /images/disk\n", False, "-C\0elsewhere", False),
    ("", False, "10809\0/images/disk", True),
], ids=["no sync", "sync", "another export", "changed since", "settings elsewhere", "command line"])  # fmt: skip
def test_without_flushes_its_own_settings_tell_whether_it_syncs(
    box: Box, settings: str, newer: bool, words: str, accused: bool
) -> None:
    """nbd-server offers no flush by default: what it was given is in its page cache."""
    client(box, cache="write through")
    server(box, "/images/disk", words=words)
    box.write(CONFIG, f"[generic]\nport = 10809\n{settings}")
    age = {line(changed(CONFIG)): Answer(output="2000\n" if newer else "1050\n")}
    judged = verdict(look(box, claims={**told("/images/disk"), **age}))
    assert (judged.verdict == "not-durable") is accused
    assert any(each.rule == "write-through-override" for each in judged.findings) is accused


def test_settings_may_be_in_a_directory(box: Box) -> None:
    client(box, cache="write through")
    server(box, "/images/disk")
    box.write(CONFIG, "[generic]\nincludedir = /etc/nbd.d\n")
    box.write("/etc/nbd.d/a.conf", "[a]\nexportname = /images/disk\nsync = true\n")
    paths = (CONFIG, "/etc/nbd.d", "/etc/nbd.d/a.conf")
    claims = {**told("/images/disk"), **{line(changed(path)): Answer(output="1050\n") for path in paths}}
    found = look(box, claims=claims)
    reading = found.node("nbd0").reading("server_syncs")
    assert reading is not None and reading.value == "each write"
    asked = {line(command) for command in commands(survey(box.root, claims), root=True)}
    assert {line(changed(path)) for path in paths} <= asked


@pytest.mark.parametrize(("flags", "fua", "words", "accused"), [
    ("Known flags:\nNBD_FLAG_SEND_FLUSH\n", "0", None, True), ("", "1", None, True), ("", "0", None, False),
    ("", "1", "--cache=directsync", False), ("", "1", "--cache=writeback", True),
], ids=["debugfs", "FUA", "no flush offered", "each write synced", "a known server"])  # fmt: skip
def test_whoever_tells_the_kernel_write_through_does_not_change_what_the_server_offers(
    box: Box, flags: str, fua: str, words: str | None, accused: bool
) -> None:
    client(box, cache="write through")
    box.write("/sys/devices/virtual/block/nbd0/queue/fua", fua)
    box.write("/sys/kernel/debug/nbd/nbd0/flags", f"Hex: 0x0000000d\n\n{flags}")
    if words is not None:
        server(box, "/images/disk", program="qemu-nbd", words=words)
    judged = verdict(look(box, claims={} if words is None else told("/images/disk")))
    assert any(each.rule == "write-through-override" for each in judged.findings) is accused
    assert (judged.verdict == "not-durable") is accused


def test_a_server_that_is_not_known_may_sync_each_write(box: Box) -> None:
    client(box, cache="write through")
    server(box, "/images/disk", program="mine")
    assert verdict(look(box, claims=told("/images/disk"))).verdict == "cannot-tell"


def test_only_a_device_in_use_is_asked_about(box: Box) -> None:
    client(box)
    assert CONNECTIONS in commands(survey(box.root), root=True)
    assert CONNECTIONS not in commands(survey(box.root), root=False)


def test_it_is_the_same_storage_whether_tools_were_asked_or_not(box: Box) -> None:
    client(box)
    server(box, "/images/disk")
    assert look(box).identity == look(box, claims=told("/images/disk")).identity
