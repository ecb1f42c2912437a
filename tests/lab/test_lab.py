"""The parts of the laboratory that need no virtual machine. ``daily`` starts those of the day."""

import fcntl
import gzip
import lzma
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.lab import table
from tests.lab.devices import serial_numbers
from tests.lab.guest import agent
from tests.lab.image import build, cache_directory, cached
from tests.lab.initrd import Archive, initrd, load_order, needed_files
from tests.lab.laboratory import Measured, laboratory
from tests.lab.machine import BadMachine, LabMachine, load, names, proven
from tests.lab.powercut import Cut
from tests.lab.recipe import CHECKOUT, RECIPES
from tests.lab.selection import A_DAY, rounds, selection

MACHINES = {name: load(name) for name in names()}


@pytest.mark.slow
def test_guests_get_the_code_of_this_checkout(tmp_path: Path) -> None:
    """Code that an earlier laboratory left elsewhere would be tested instead."""
    with laboratory("6.1", print, shared=tmp_path):
        (tree,) = tmp_path.glob("tree-*")
        assert (tree / "fstui/proc.py").read_bytes() == (CHECKOUT / "fstui/proc.py").read_bytes()


def test_machines_are_valid_and_about_half_lie() -> None:
    lying = sum(machine.truth == "lying" for machine in MACHINES.values())
    assert len(MACHINES) >= 24
    assert abs(2 * lying - len(MACHINES)) <= len(MACHINES) / 10


def test_round_covers_every_proven_machine_and_kernel() -> None:
    days = [date(2027, 2, 1) + timedelta(day) for day in range(len(rounds(MACHINES, proven())))]
    selections = [selection(day, MACHINES, proven()) for day in days]
    assert sorted((name, chosen.kernel) for chosen in selections for name in chosen.measured) == sorted(
        (name, kernel) for name, kernels in proven().items() for kernel in kernels
    )
    for chosen in selections:
        assert 0 < len(chosen.measured) <= A_DAY
        assert set(chosen.cut) <= set(chosen.measured)
        assert len(chosen.cut) <= 2
    again = [selection(day + timedelta(len(days)), MACHINES, proven()) for day in days]
    assert all(bool(one.cut) != bool(later.cut) for one, later in zip(selections, again, strict=True))


def test_next_round_starts_with_another_machine() -> None:
    day, later = date(2027, 2, 1), date(2027, 2, 1) + timedelta(len(rounds(MACHINES, proven())))
    first, second = (selection(when, MACHINES, proven()) for when in (day, later))
    assert set(first.measured) == set(second.measured)
    assert first.measured[0] != second.measured[0]


def test_proven_kernels_are_those_of_the_machine() -> None:
    for name, kernels in proven().items():
        assert set(kernels) <= set(MACHINES[name].kernels), name


CONSISTENT = Measured(verdict="consistent", confidence="medium", sentence="", rules=[], elapsed_s=1.0)
SUSPICIOUS = Measured(verdict="suspicious", confidence="high", sentence="", rules=[], elapsed_s=1.0)
LOW = Measured(verdict="consistent", confidence="low", sentence="", rules=[], elapsed_s=1.0)
KEPT = Cut(verdict="kept", sentence="", mounted=True, acknowledged=9)
LOST = Cut(verdict="lost", sentence="", mounted=True, acknowledged=9)


def planted(name: str, directory: Path, *changes: tuple[str, str]) -> LabMachine:
    """Return a machine with another truth written into its file."""
    text = (Path(__file__).parent / "machines" / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (directory / f"{name}.toml").write_text(text)
    return load(name, directory)


def test_lying_machine_marked_as_honest_is_a_fault(tmp_path: Path) -> None:
    machine = planted(
        "hdd-7200-ignores-flush", tmp_path, ('"lying"', '"honest"'),
        ('tell = "one block is rewritten faster than the disk revolves"', 'tell = ""'),
    )  # fmt: skip
    result = table.Result(date="", measured=SUSPICIOUS, cuts=[LOST] * 5)
    assert table.faults(machine, result) == [
        "honest, but reported as suspicious", "honest, but 5 of 5 cuts not kept",
    ]  # fmt: skip
    assert "✗" in table.plain(table.rows({"x": machine}, {("x", "6.1"): result}))


def test_honest_machine_marked_as_lying_is_a_fault(tmp_path: Path) -> None:
    machine = planted("ext4-virtio", tmp_path, ('"honest"', '"lying"'), ('tell = ""', 'tell = "none"'))
    result = table.Result(date="", measured=CONSISTENT, cuts=[KEPT] * 4 + [LOST])
    assert table.faults(machine, result) == [
        "lying, but reported as consistent with medium confidence", "lying, but 4 of 5 cuts not lost",
    ]  # fmt: skip


def test_only_a_lie_that_does_not_show_may_pass() -> None:
    assert table.measurement_faults(load("ext4-nobarrier"), LOW)
    assert table.measurement_faults(load("virtio-ignores-flush"), LOW) == []


def test_machine_that_did_not_start_is_a_fault() -> None:
    assert table.faults(load("ext4-virtio"), table.Result(date="", failure="no answer\nconsole")) == [
        "failed: no answer"
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('truth = "maybe"', "truth"),
        ('title = "t"\ntruth = "honest"\ntell = "none"\nexpected = []\n[stack]\n', "tell"),
        ('title = "t"\ntruth = "honest"\ntell = ""\nexpected = []\n[stack]\n[disks.a]\nbus = "ide"\n', "disks"),
        ('title = "t"\ntruth = "honest"\ntell = ""\nexpected = []\nstak = 1\n[stack]\n', "stak"),
    ],
)
def test_mistake_in_a_machine_is_named(text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text(text)
    with pytest.raises(BadMachine, match=rf"(?s)broken\.toml.*{wrong}|{wrong}.*broken\.toml"):
        load("broken", tmp_path)


def test_result_is_saved_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSTUI_LAB_CACHE", str(tmp_path))
    result = table.Result(date="2000-01-01", measured=LOW, cuts=[KEPT])
    table.save("x", "6.1", result)
    assert table.saved("x", "6.1") == result
    assert table.saved("y", "6.1") is None
    assert table.saved("x", "6.12") is None


def test_row_has_the_results_of_each_kernel() -> None:
    machine, of_one = load("ext4-virtio"), load("ext4-no-journal")
    kept, lost = table.Result(date="", measured=LOW, cuts=[KEPT]), table.Result(date="", cuts=[LOST])
    assert table.rows({"x": machine}, {("x", "6.1"): kept, ("x", "6.12"): lost}) == [
        ("x", "honest", "consistent, low", "kept 1/1", "–", "lost 1/1", "6.12: honest, but 1 of 1 cuts not kept")
    ]
    assert table.rows({"x": machine}, {("x", "6.12"): kept})[0][2:4] == ("–", "–")
    assert table.rows({"x": of_one}, {("x", "6.1"): lost})[0][4:6] == ("", "")
    assert table.rows({"x": machine}, {}) == []


def test_guest_waits_for_the_named_disks() -> None:
    """Controllers find them after their drivers are loaded."""
    looks = iter([{}, {"a": "/dev/sda"}, {"a": "/dev/sda", "a_2": "/dev/sdb"}])
    wanted = agent.expected(f"quiet lab.disks={','.join(serial_numbers('a', load('multipath').disks['a']))}")
    assert agent.expected_disks(wanted, lambda: next(looks)) == {"a": "/dev/sda", "a_2": "/dev/sdb"}
    assert agent.expected("quiet lab.disks=") == set()
    assert agent.patience("quiet lab.disks= lab.patience=4.0 x") == 4
    assert agent.patience("quiet") == 1


def test_compressed_module_is_unpacked_for_the_initrd(tmp_path: Path) -> None:
    """Busybox cannot load the compressed modules of Debian 13."""
    release = tmp_path / "lib/modules/6"
    (release / "kernel").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/busybox").write_bytes(b"")
    (release / "modules.dep").write_text("kernel/top.ko.xz:\n")
    (release / "modules.builtin").write_text("")
    (release / "kernel/top.ko.xz").write_bytes(lzma.compress(b"as it is"))
    archive = gzip.decompress(initrd(tmp_path, "6", ("top",)))
    assert b"lib/top.ko\0" in archive
    assert b"as it is" in archive


def test_images_outlive_the_home_of_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each run of the tests would build its image again, which takes more than a minute."""
    monkeypatch.delenv("FSTUI_LAB_CACHE", raising=False)
    assert Path.home() not in cache_directory().parents


def test_existing_image_does_not_wait_for_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another image may be built at that time, which takes minutes."""
    monkeypatch.setenv("FSTUI_LAB_CACHE", str(tmp_path))
    recipe = RECIPES["6.1"]["base"]
    (cache_directory() / f"{recipe.name}-{recipe.digest}").mkdir()
    with (tmp_path / "lock").open("w") as lock, ThreadPoolExecutor(1) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        building = pool.submit(build, recipe)
        done, _ = wait([building], 10)
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert done == {building}
    assert building.result() == cached(recipe)


def test_modules_are_loaded_after_their_dependencies(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(
        "kernel/a/top.ko: kernel/b/mid.ko kernel/c/low.ko\nkernel/b/mid.ko: kernel/c/low.ko\n"
    )
    (tmp_path / "modules.builtin").write_text("kernel/d/inside.ko\n")
    assert load_order(tmp_path, ("top", "inside")) == ["kernel/c/low.ko", "kernel/b/mid.ko", "kernel/a/top.ko"]
    assert needed_files(tmp_path, ("b",)) == ["kernel/c/low.ko", "kernel/b/mid.ko"]


def test_archive_has_the_format_of_the_kernel() -> None:
    archive = Archive()
    archive.add("init", 0o100755, b"#!")
    data = archive.end()
    assert data.startswith(b"070701") and b"init\0" in data and b"TRAILER!!!\0" in data
    assert len(data) % 4 == 0
