"""Program: run tools that report about storage (PROGRAMS), in parallel and each with a time limit.

stdin: one line, a JSON list of commands, each a list of words. stdout: an empty object at the start, then a line of
JSON for each command as it ends: "command" as a shell command, and "output" or "error". On a dead device a tool may
hang in the kernel, where it cannot even be killed. Such a tool is left behind and does not delay the others.
"""

import json
import os
import pkgutil
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from fstui.measure.wire.stdio import say

MAX_PARALLEL = 8
COMMAND_TIMEOUT_S = 4.0
TOTAL_TIMEOUT_S = 6.0
MAX_BYTES = 100_000
"""Maximum length of an output. The parent reads lines of at most 256 KiB."""
OUTPUT_LOCK = threading.Lock()
PROGRAMS = frozenset({"dmsetup", "hdparm", "losetup", "nvme", "realpath", "smartctl", "stat", "zfs", "zpool"})
"""The programs that may run. The callers use them only to read."""
SMARTCTL_FAILED = 0b11
"""The bits of smartctl's exit status for a failure. The other bits report the state of the disk (smartctl(8))."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> None:
    say()
    commands = [[str(word) for word in command] for command in json.loads(sys.stdin.readline() or "[]")]
    pool = ThreadPoolExecutor(MAX_PARALLEL)
    wait([pool.submit(report, command) for command in commands], TOTAL_TIMEOUT_S)
    os._exit(0)  # sys.exit would wait for a thread that waits for a stuck tool


def report(command: list[str]) -> None:
    result = run(command)
    with OUTPUT_LOCK:
        say(command=shlex.join(command), **result)


def run(command: list[str]) -> dict[str, str]:
    name, *arguments = command
    if name not in PROGRAMS:
        return {"error": f"fstui does not run {name}"}
    if name == "nvme":  # the tool need not be installed
        program = own_nvme_program()
    elif path := shutil.which(name, path=PATH):
        program = [path]
    else:
        return {"error": f"{name} is not installed"}
    try:
        child = subprocess.Popen(
            [*program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": PATH, "LC_ALL": "C"},
        )
    except OSError as error:
        return {"error": str(error.strerror)}
    try:
        data, _ = child.communicate(timeout=COMMAND_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()  # do not wait: it may be stuck in the kernel
        return {"error": f"no answer for {COMMAND_TIMEOUT_S:.0f} s"}
    output = data[:MAX_BYTES].decode("utf-8", "surrogateescape")
    failed = child.returncode & SMARTCTL_FAILED if name == "smartctl" else child.returncode
    if failed:
        message = next((line.strip() for line in output.split("\n") if line.strip()), "")
        return {"error": message or f"exit status {child.returncode}"}
    return {"output": output}


def own_nvme_program() -> list[str]:
    """Return a command line that contains the program's source, because its file may be in a zip file."""
    source = pkgutil.get_data("fstui.measure.helpers", "nvme_admin.py")
    assert source is not None, "the program is part of the package"
    return [sys.executable, "-I", "-S", "-c", source.decode()]


if __name__ == "__main__":
    main()
