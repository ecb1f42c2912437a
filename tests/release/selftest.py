"""Test the file in the root directories of other distributions, and measure its start."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.real import disks

ROUNDS = 15
_CONTAINER = Path(__file__).with_name("container.sh")
_NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child")
PLACE = "srv/fstui-tried"
_ENTER = """set -e
mount -t proc proc "$1/proc"; mount -t sysfs sysfs "$1/sys"; mount --rbind /dev "$1/dev"; mount --bind "$2" "$1/$3"
exec chroot "$1" /bin/sh -c "$4"
"""
"""It runs in a mount namespace of its own, so the mounts disappear with it."""
CALLS = (
    "/fstui.pyz --version",
    "/fstui.pyz list",
    f"/fstui.pyz run fsync-rate /{PLACE} --set seconds=0.3 --format json",
    "HOME=/nonexistent /fstui.pyz scenarios",
)


def in_roots(file: Path, roots: list[Path]) -> int:
    """Test in each root directory: version, list, a run on a loop device, no home. Return the exit status."""
    failed = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as workshop, disks.on_loop(Path(workshop)) as storage:
        for root in roots:
            shutil.copy(file, root / "fstui.pyz")
            (root / PLACE).mkdir(parents=True, exist_ok=True)
            for call in CALLS:
                began = time.monotonic()
                done = _within(root, storage.directory, call)
                failed += done.returncode != 0
                said = _verdict(done.stdout) or " ".join(done.stdout.split())[:60]
                told = " ".join(done.stderr.split())[-300:] if done.returncode else ""
                print(f"{root.name}: {call}: {done.returncode}, {time.monotonic() - began:.1f} s: {said} {told}")
    return int(failed > 0)


def _within(root: Path, storage: Path, call: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "--mount", "/bin/sh", "-c", _ENTER, "sh", str(root), str(storage), PLACE, call]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def _verdict(output: str) -> str:
    try:
        run = json.loads(output)
    except ValueError:
        return ""
    return f"{run['verdict']}, {run['confidence']}; left behind: {run.get('left_behind') or 'nothing'}"


def contained(file: Path, root: Path) -> int:
    """Run the file as the only program of a container, on volumes with and without barriers. Return the exit status."""
    rows = []
    for options, expected in (("", "consistent"), ("barrier=0", "not-durable")):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as made, disks.on_loop(Path(made), options=options) as storage:
            carried = Path(made) / "fstui"
            carried.mkdir()
            shutil.copy(file, carried / "fstui.pyz")
            places = [str(root.resolve()), str(storage.directory), str(carried)]
            done = subprocess.run(
                ["unshare", *_NAMESPACES, "sh", str(_CONTAINER), *places], capture_output=True, text=True, check=False
            )
            rows.append(expected in done.stdout)
            print(f"{options or 'barriers'}: exit {done.returncode}", done.stdout, done.stderr[-500:], sep="\n")
    return int(not all(rows))


def start(file: Path) -> int:
    """Compare the file with an installed fstui, alternately: ``--version`` and ``list``, from its second start on."""
    installed = str(Path(sys.executable).with_name("fstui"))
    for arguments in (["--version"], ["list"]):
        calls = ([installed, *arguments], [str(file.resolve()), *arguments])
        for call in calls:
            _took_s(call)  # unpacked, compiled, in the page cache
        ratios, took = [], ([], [])  # type: tuple[list[float], tuple[list[float], list[float]]]
        for _ in range(ROUNDS):
            one, other = map(_took_s, calls)
            took[0].append(one)
            took[1].append(other)
            ratios.append(other / one)
        low, _, high = statistics.quantiles(ratios, n=4)
        print(
            f"{arguments[0]}: installed {statistics.median(took[0]):.3f} s, file {statistics.median(took[1]):.3f} s, "
            f"ratio {statistics.median(ratios):.2f} ({low:.2f} to {high:.2f}, half of {ROUNDS} pairs)"
        )
    return 0


def _took_s(call: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.monotonic() - began
