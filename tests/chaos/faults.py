"""Faults that may happen during a run, each on its own filesystem."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.attack import Attacked, attack, wait
from tests.chaos.place import Place
from tests.real import disks, processes

BEGUN_S, IN_STEP_S, GOES_ON_S = 60.0, 1.0, 8.0
"""How long a run has to start, when the fault happens, and when a user ends the run."""
MIB = 1 << 20
HOG = """
import os, sys, time
held = []
while os.path.exists(f"/proc/{sys.argv[1]}/status") and len(held) < int(sys.argv[2]):
    held.append(b"x" * (1 << 20))
"""
Strike = Callable[[Place], object]


class NotHere(Exception):  # noqa: N818  its message is printed
    """This host cannot have that fault."""


def no_space(box: Place, patience_s: float) -> Attacked:
    """ENOSPC: another program fills the filesystem."""
    return struck(box, lambda place: _fill(place.point), patience_s, "sqlite-commit")


def _fill(mount_point: Path) -> None:
    with (mount_point / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(MIB))


def out_of_quota(box: Place, patience_s: float) -> Attacked:
    """EDQUOT from fsync: a limit of btrfs that applies to root, too (btrfs-quota(5)), removed before ``clean``."""
    btrfs = disks.tool("btrfs")

    def limit(place: Place) -> None:
        disks.sh(btrfs, "quota", "enable", place.point)
        disks.sh(btrfs, "qgroup", "limit", "256K", place.point)

    def lift(place: Place) -> None:
        disks.sh(btrfs, "qgroup", "limit", "none", place.point)

    return struck(box, limit, patience_s, "sqlite-commit", heal=lift, fstype="btrfs")


def error_on_write(box: Place, patience_s: float) -> Attacked:
    """EIO: the disk accepts no new block. With O_DIRECT, write fails."""
    return _without_blocks(box, patience_s, "fit", "seconds=4")


def error_on_fsync(box: Place, patience_s: float) -> Attacked:
    """EIO: the disk accepts no new block. With buffered writes, fsync fails."""
    return _without_blocks(box, patience_s, "sqlite-commit")


def _without_blocks(box: Place, patience_s: float, *words: str) -> Attacked:
    with disks.mounted("fstui-chaos", box.workshop / "memory", "tmpfs", "size=100m") as memory:
        return struck(box, lambda _: _fill(memory), patience_s, *words, home=memory)


def read_only(box: Place, patience_s: float) -> Attacked:
    """The filesystem becomes read-only, as after an error. It is mounted again before ``clean``."""

    def mount_again(place: Place) -> None:
        device = _device(place.point)
        disks.sh("umount", place.point)
        disks.sh("mount", device, place.point)

    abort = ("mount", "-o", "remount,abort")
    return struck(box, lambda place: disks.sh(*abort, place.point), patience_s, again=mount_again)


def lazily_unmounted(box: Place, patience_s: float) -> Attacked:
    """umount -l: DIR shows the directory below while the run continues. It is mounted again before ``clean``."""
    devices: list[str] = []

    def unmount(place: Place) -> None:
        devices.append(_device(place.point))
        disks.sh("umount", "--lazy", place.point)

    return struck(box, unmount, patience_s, heal=lambda place: disks.sh("mount", *devices, place.point))


def frozen(box: Place, patience_s: float) -> Attacked:
    """fsfreeze: every write waits until after the first check."""
    fsfreeze = disks.tool("fsfreeze")

    def thaw(place: Place) -> None:
        subprocess.run([fsfreeze, "--unfreeze", place.point], check=False, stderr=subprocess.DEVNULL)

    return struck(box, lambda place: disks.sh(fsfreeze, "--freeze", place.point), patience_s, heal=thaw)


def renamed(box: Place, patience_s: float) -> Attacked:
    return struck(box, _rename, patience_s)


def _rename(place: Place) -> None:
    place.directory.rename(place.directory.with_name("elsewhere"))


def moved(box: Place, patience_s: float) -> Attacked:

    def move(place: Place) -> None:
        (place.point / "deep/er").mkdir(parents=True)
        place.directory.rename(place.point / "deep/er/target")

    return struck(box, move, patience_s)


def replaced(box: Place, patience_s: float) -> Attacked:

    def replace(place: Place) -> None:
        _rename(place)
        place.directory.mkdir()

    return struck(box, replace, patience_s)


def out_of_memory(box: Place, patience_s: float) -> Attacked:
    """The OOM killer of the memory cgroup kills a writer."""
    group, limit = _memory_group()
    try:
        limit.write_text(str(400 * MIB))
        within = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")

        def starve(place: Place) -> None:
            probes = [one for one in place.family() if any("fstui.measure.probes" in word for word in one.cmdline())]
            for probe in probes:
                Path(f"/proc/{probe.pid}/oom_score_adj").write_text("1000")
            for probe in probes[-1:]:
                hog = [*within, sys.executable, "-c", HOG, str(probe.pid), "500"]
                environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
                subprocess.run(hog, check=False, env=environment)

        return struck(box, starve, patience_s, within=within)
    finally:
        processes.eventually(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def _memory_group() -> tuple[Path, Path]:
    name = f"fstui-chaos-{os.getpid()}"
    for home, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        with suppress(OSError):
            group = Path(home, name)
            group.mkdir()
            if (group / limit).exists():
                return group, group / limit
            group.rmdir()
    raise NotHere("no memory cgroup")


def clock_jumps(box: Place, patience_s: float) -> Attacked:
    """The wall clock jumps two days forward and three back (libfaketime)."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        raise NotHere("no libfaketime: apt-get install faketime")
    told = box.workshop / "faketime"
    told.write_text("+0")
    environment = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(told),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }

    def jump(_: Place) -> None:
        for where in ("+2d", "-3d"):
            told.write_text(where)
            time.sleep(0.5)

    return struck(box, jump, patience_s, environment=environment)


FAULTS: dict[str, Callable[[Place, float], Attacked]] = {
    "no-space": no_space,
    "out-of-quota": out_of_quota,
    "error-on-write": error_on_write,
    "error-on-fsync": error_on_fsync,
    "read-only": read_only,
    "lazily-unmounted": lazily_unmounted,
    "frozen": frozen,
    "renamed": renamed,
    "moved": moved,
    "replaced": replaced,
    "out-of-memory": out_of_memory,
    "clock-jumps": clock_jumps,
}


@contextmanager
def fresh(box: Place, home: Path | None, fstype: str) -> Iterator[Place]:
    """Make a filesystem on a disk in ``home``."""
    workshop = (home or box.workshop) / "fresh"
    workshop.mkdir()
    try:
        with disks.on_loop(workshop, fstype, direct_io=home is None) as storage:
            directory = storage.directory / "target"
            directory.mkdir()
            yield Place(box.workshop, directory)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def struck(
    box: Place,
    strike: Strike,
    patience_s: float,
    scenario: str = "wal-postgres",
    setting: str = "seconds=2",
    *,
    heal: Strike = lambda _: None,
    again: Strike = lambda _: None,
    within: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    home: Path | None = None,
    fstype: str = "ext4",
) -> Attacked:
    """Start a run on a new filesystem, cause the fault in its first step, and end the run if it continues."""
    with fresh(box, home, fstype) as place:

        def blow(process: subprocess.Popen[bytes]) -> None:
            until = time.monotonic() + BEGUN_S
            while process.poll() is None and time.monotonic() < until and not _writes(place):
                wait(place, process, 0.1)
            wait(place, process, IN_STEP_S)
            strike(place)
            wait(place, process, GOES_ON_S)
            with suppress(ProcessLookupError):
                process.terminate()

        words = ["run", scenario, str(place.directory), "--set", setting, "--format", "json"]
        return attack(
            place, words, blow, patience_s,
            heal=lambda: heal(place), again=lambda: again(place), within=within, environment=environment,
        )  # fmt: skip


def _writes(place: Place) -> bool:
    with suppress(OSError):
        return any(len(os.listdir(found)) > 1 for found in place.directory.glob(".fstui-*"))
    return False


def _device(mount_point: Path) -> str:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return next(line.split()[-2] for line in lines if line.split()[4] == str(mount_point))
