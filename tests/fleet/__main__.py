"""``python -m tests.fleet replay NUMBER | clush``: figures of README.md."""

import gzip
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.fleet.hosts import FSTUI, HostSetup, hosts
from tests.real import disks

ROUNDS = 5
_REPLAYING = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
mark=${{3#*mark=}}; mark=${{mark%%
*}}
case $3 in *"say begin"*) ;; *) printf '\\n%s ready\\n' "$mark"; exit ;; esac
number=${{2#db}}
printf '\\n%s begin\\n' "$mark"; cat "{documents}/$((number % {number})).json"; printf '\\n%s end 0\\n' "$mark"
"""


def main(arguments: list[str]) -> int:
    match arguments:
        case ["replay", number] if number.isdigit():
            return _replay(int(number))
        case ["clush"]:
            return _clush()
    print("usage: python -m tests.fleet replay NUMBER | clush", file=sys.stderr)
    return 2


def _replay(number: int) -> int:
    """Measure many hosts whose ssh prints saved documents of the laboratory."""
    documents = sorted(Path("tests/judge/frozen").glob("machine-*.json.gz"))
    with tempfile.TemporaryDirectory(prefix="fstui-tests-") as made:
        workshop = Path(made)
        for at, document in enumerate(documents):
            (workshop / f"{at}.json").write_bytes(gzip.decompress(document.read_bytes()))
        ssh = workshop / "ssh"
        ssh.write_text(_REPLAYING.format(documents=workshop, number=len(documents)))
        ssh.chmod(0o755)
        words = ["run", "fsync-rate", "/srv", "--nodes", f"db[1-{number}]", "--installed", "fstui"]
        began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        call = [
            FSTUI,
            "fleet",
            *words,
            "--ssh",
            str(ssh),
            "--into",
            f"{workshop}/out",
            "--output",
            f"{workshop}/answer",
        ]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        took_s = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        head = (workshop / "answer").read_text().splitlines()[0] if done.returncode in (0, 1) else done.stderr
        cpu_s = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    print(head, done.stderr[-600:])
    print(f"{number} hosts: {took_s:.1f} s, {took_s / number * 500:.1f} s per 500, {cpu_s:.1f} s CPU with children")
    print(f"at most {after.ru_maxrss / 1024:.0f} MiB")
    return 0


def _clush() -> int:
    """Compare clush and the fleet alternately on two hosts: wall time and processor time."""
    with tempfile.TemporaryDirectory(prefix="fstui-tests-", dir="/var/tmp") as made, ExitStack() as down:
        workshop = Path(made)
        places = []
        for name in ("one", "two"):
            (workshop / name).mkdir()
            places.append(down.enter_context(disks.on_loop(workshop / name)).directory)
        up = down.enter_context(hosts(workshop, {"db1": HostSetup(places[0]), "db2": HostSetup(places[1])}))
        arguments = ["fsync-rate", str(up.target), "--set", "seconds=0.5"]
        remote = f"{FSTUI} run {' '.join(arguments)} --format json"
        options = up.ssh.removeprefix("ssh ")
        clush = [*up.within, str(Path(FSTUI).with_name("clush")), "-o", options, "-w", "db[1-2]", remote]
        ratios: list[float] = []
        for turn in range(ROUNDS):
            began = time.monotonic()
            subprocess.run(clush, stdin=subprocess.DEVNULL, capture_output=True, check=True)
            clush_s, began = time.monotonic() - began, time.monotonic()
            words = ["run", *arguments, "--nodes", "db[1-2]", "--installed", FSTUI, "--into", f"{workshop}/out{turn}"]
            done = up.fleet(*words)
            assert done.returncode == 0, done.stderr
            ratios.append((time.monotonic() - began) / clush_s)
            print(f"clush {clush_s:.1f} s, fleet {ratios[-1] * clush_s:.1f} s", flush=True)
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {ROUNDS} rounds)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
