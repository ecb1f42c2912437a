"""The second disk of a guest: a tar with its first program, the agent, scenarios, and a wheel of this checkout.

The guest unpacks the disk itself, because a tar consists of blocks. So new code needs no new image.
"""

import compileall
import py_compile
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tests.lab.image import Image
from tests.lab.recipe import CHECKOUT, GUEST

SECTOR = 512


def payload(directory: Path, image: Image | None, service: str, *files: Path) -> Path:
    """Make the tar in a directory and return it. Raises CalledProcessError if the wheel cannot be built.

    The shell commands ``service`` start what the guest is for. The Python of ``image`` compiles the code, if possible.
    """
    wheels, tree, tar = directory / "wheel", directory / "tree", directory / "payload.tar"
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", wheels, CHECKOUT],
        check=True, capture_output=True,
    )  # fmt: skip
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(tree)
    for file in (GUEST / "start", GUEST / "agent.py", *files):
        shutil.copy(file, tree)
    (tree / "service").write_text(service)
    shutil.copytree(GUEST / "scenarios", tree / "scenarios")
    if image is None or not _compiled_by_guest(tree, image):
        # A guest with another Python version ignores these files.
        compileall.compile_dir(tree, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    with tarfile.open(tar, "w") as archive:
        archive.add(tree, ".")
    with tar.open("ab") as end:
        end.write(b"\0" * (-end.tell() % SECTOR))
    shutil.rmtree(wheels)
    shutil.rmtree(tree)
    return tar


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
