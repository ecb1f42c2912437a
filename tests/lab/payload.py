"""The second disk of a guest: a tar with its first program, the agent, scenarios, and a wheel of this checkout.

The guest unpacks the disk itself, because a tar consists of blocks. So new code needs no new image.
"""

import compileall
import fcntl
import py_compile
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tests.lab.image import Image
from tests.lab.recipe import CHECKOUT, GUEST

SECTOR = 512


def payload(directory: Path, image: Image | None, service: str, *files: Path, shared: Path | None = None) -> Path:
    """Make the tar in a directory and return it. Raises CalledProcessError if the wheel cannot be built.

    The shell commands ``service`` start what the guest is for. The code is installed in the directory ``shared``, once
    for all payloads. The Python of ``image`` compiles it, if possible.
    """
    tar, started = directory / "payload.tar", directory / "service"
    started.write_text(service)
    with tarfile.open(tar, "w") as archive:
        archive.add(_installed(shared or directory, image), ".")
        for file in (started, GUEST / "scenarios", GUEST / "start", GUEST / "agent.py", *files):
            archive.add(file, f"./{file.name}")
    with tar.open("ab") as end:
        end.write(b"\0" * (-end.tell() % SECTOR))
    return tar


def _installed(directory: Path, image: Image | None) -> Path:
    """Return the tree of installed files. Another process may make it at the same time."""
    # all images with one kernel have the same Python
    tree = directory / f"tree-{Path(image.directory).name.split('-')[1] if image else 'host'}"
    with (directory / "tree.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.exists():
            made = directory / "made"
            wheels = directory / "wheel"
            pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w")
            subprocess.run([*pip, wheels, CHECKOUT], check=True, capture_output=True)
            with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
                wheel.extractall(made)
            if image is None or not _compiled_by_guest(made, image):
                # A guest with another Python version ignores these files.
                compileall.compile_dir(made, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            made.rename(tree)
    return tree


def _compiled_by_guest(tree: Path, image: Image) -> bool:
    """Compile with the guest's Python in a chroot, which needs root, and return whether it worked.

    In the emulated guest it would take much longer, after each start.
    """
    root = tree.with_name("root")
    root.mkdir()
    script = """mount -o loop,ro "$0" "$1" && mount --bind "$2" "$1/srv"
        exec chroot "$1" python3 -m compileall -q --invalidation-mode unchecked-hash /srv"""
    command = ["unshare", "--mount", "/bin/sh", "-ec", script, *map(str, (image.root, root, tree))]
    done = subprocess.run(command, check=False, capture_output=True)
    root.rmdir()
    return done.returncode == 0
