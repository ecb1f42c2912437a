"""A selection of the laboratory: fstui's word and the power cut, each held against the truth.

``python -m tests.lab run`` has all machines. The image is built where it is not there yet (about a minute, as root).
What has not ended eight minutes later is left out, and said.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from tests.lab import table
from tests.lab.image import LabUnavailable, missing_tools
from tests.lab.initrd import Archive, load_order, needed_files
from tests.lab.laboratory import Laboratory, Measured, laboratory
from tests.lab.machine import BadMachine, LabMachine, load, names
from tests.lab.powercut import Cut, cut_power

T = TypeVar("T")
SELECTION = (
    "hdd-7200", "hdd-7200-ignores-flush", "scsi-fua", "nvme-ignores-fua", "md-raid10", "ext4-nobarrier",
    "virtio-ignores-flush", "eatmydata",
)  # fmt: skip
CUT = ("scsi-fua", "virtio-ignores-flush")

MOST_S = 480


@pytest.fixture(scope="module")
def lab() -> Iterator[Laboratory]:
    if missing := missing_tools():
        pytest.skip(
            f"THE LABORATORY DID NOT RUN: not installed: {', '.join(missing)} "
            "(apt-get install qemu-system-x86 nbdkit debootstrap)"
        )
    with laboratory(lambda text: print(text, file=sys.stderr)) as running:
        try:
            running.image("base")
        except LabUnavailable as why:
            pytest.skip(f"THE LABORATORY DID NOT RUN: {why}")
        yield running


class Running:
    """The selection at work, two machines at a time: each has one processor, and waits for its slow disk."""

    def __init__(self, lab: Laboratory, pool: ThreadPoolExecutor) -> None:
        self._ends_s = time.monotonic() + MOST_S
        self.measured = {name: pool.submit(lab.measure, name, load(name)) for name in SELECTION}
        self.cut = {name: pool.submit(_cut, lab, name) for name in CUT}

    def wait(self, future: Future[T]) -> T:
        try:
            return future.result(max(0.0, self._ends_s - time.monotonic()))
        except TimeoutError:
            pytest.skip(
                f"THE LABORATORY RAN OUT OF TIME after {MOST_S // 60} minutes: python -m tests.lab run has it all"
            )


def _cut(lab: Laboratory, name: str) -> list[Cut]:
    return list(cut_power(lab, f"{name}-cut", load(name), 1))


@pytest.fixture(scope="module")
def running(lab: Laboratory) -> Iterator[Running]:
    with ThreadPoolExecutor(2) as pool:
        yield Running(lab, pool)
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", SELECTION)
def test_the_word_from_measurement_is_not_at_odds_with_the_truth(name: str, running: Running) -> None:
    measured = running.wait(running.measured[name])
    assert table.measurement_faults(load(name), measured) == [], measured


@pytest.mark.parametrize("name", CUT)
def test_a_power_cut_tells_the_honest_from_the_liar(name: str, running: Running) -> None:
    cuts = running.wait(running.cut[name])
    assert table.cut_faults(load(name), cuts) == [] and len(cuts) == 1, cuts


def test_every_machine_can_be_read_and_half_of_them_lie() -> None:
    machines = [load(name) for name in names()]
    lying = sum(machine.truth == "lying" for machine in machines)
    assert len(machines) >= 24
    assert abs(2 * lying - len(machines)) <= 2


CONSISTENT = Measured(verdict="consistent", confidence="medium", sentence="", rules=[], elapsed_s=1.0)
SUSPICIOUS = Measured(verdict="suspicious", confidence="high", sentence="", rules=[], elapsed_s=1.0)
LOW = Measured(verdict="consistent", confidence="low", sentence="", rules=[], elapsed_s=1.0)
KEPT = Cut(verdict="kept", sentence="", mounted=True, acknowledged=9)
LOST = Cut(verdict="lost", sentence="", mounted=True, acknowledged=9)


def planted(name: str, directory: Path, *changes: tuple[str, str]) -> LabMachine:
    """The machine of that name with another truth written into its file."""
    text = (Path(__file__).parent / "machines" / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (directory / f"{name}.toml").write_text(text)
    return load(name, directory)


def test_a_liar_planted_as_honest_makes_the_table_fail(tmp_path: Path) -> None:
    machine = planted(
        "hdd-7200-ignores-flush", tmp_path, ('"lying"', '"honest"'),
        ('tell = "one block is rewritten faster than the disk turns"', 'tell = ""'),
    )  # fmt: skip
    result = table.Result(date="", measured=SUSPICIOUS, cuts=[LOST] * 5)
    assert table.faults(machine, result) == [
        "honest, and called suspicious", "honest, and 5 of 5 cuts not kept",
    ]  # fmt: skip
    assert "✗" in table.plain(table.rows({"x": machine}, {"x": result}))


def test_an_honest_disk_planted_as_a_liar_makes_the_table_fail(tmp_path: Path) -> None:
    machine = planted("ext4-virtio", tmp_path, ('"honest"', '"lying"'), ('tell = ""', 'tell = "none"'))
    result = table.Result(date="", measured=CONSISTENT, cuts=[KEPT] * 4 + [LOST])
    assert table.faults(machine, result) == [
        "lying, and called consistent, medium confidence", "lying, and 4 of 5 cuts not lost",
    ]  # fmt: skip


def test_a_lie_that_shows_must_be_seen_and_one_that_does_not_may_pass_at_low_confidence() -> None:
    assert table.measurement_faults(load("ext4-nobarrier"), LOW)
    assert table.measurement_faults(load("virtio-ignores-flush"), LOW) == []


def test_a_machine_that_did_not_come_up_is_a_fault() -> None:
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
def test_a_mistake_in_a_machine_is_named(text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text(text)
    with pytest.raises(BadMachine, match=rf"(?s)broken\.toml.*{wrong}|{wrong}.*broken\.toml"):
        load("broken", tmp_path)


def test_results_survive_a_round_through_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FSTUI_LAB_CACHE", str(tmp_path))
    result = table.Result(date="2000-01-01", measured=LOW, cuts=[KEPT])
    table.save("x", result)
    assert table.saved("x") == result
    assert table.saved("y") is None


def test_modules_are_loaded_after_those_that_they_need(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(
        "kernel/a/top.ko: kernel/b/mid.ko kernel/c/low.ko\nkernel/b/mid.ko: kernel/c/low.ko\n"
    )
    (tmp_path / "modules.builtin").write_text("kernel/d/inside.ko\n")
    assert load_order(tmp_path, ("top", "inside")) == ["kernel/c/low.ko", "kernel/b/mid.ko", "kernel/a/top.ko"]
    assert needed_files(tmp_path, ("b",)) == ["kernel/c/low.ko", "kernel/b/mid.ko"]


def test_the_archive_is_one_that_the_kernel_unpacks() -> None:
    archive = Archive()
    archive.add("init", 0o100755, b"#!")
    data = archive.end()
    assert data.startswith(b"070701") and b"init\0" in data and b"TRAILER!!!\0" in data
    assert len(data) % 4 == 0
