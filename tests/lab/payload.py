"""What a machine is given besides its root image: agent, scenarios, and fstui from the checkout's wheel, as one tar.

The guest unpacks the disk as it is: a tar is a disk's worth of blocks. So the image need not be built for new code.
"""

from __future__ import annotations

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


def payload(directory: Path, image: Image | None) -> Path:
    """The tar, made in that directory; ``image`` is where its guest's Python is. Raises CalledProcessError where the
    wheel cannot be built."""
    wheels, tree, tar = directory / "wheel", directory / "tree", directory / "payload.tar"
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", wheels, CHECKOUT],
        check=True, capture_output=True,
    )  # fmt: skip
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(tree)
    shutil.copy(GUEST / "agent.py", tree)
    shutil.copytree(GUEST / "scenarios", tree / "scenarios")
    if image is None or not _compiled_by_guest(tree, image):
        # used by a guest of the same Python, ignored by another
        compileall.compile_dir(tree, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    with tarfile.open(tar, "w") as archive:
        archive.add(tree, ".")
    with tar.open("ab") as file:
        file.write(b"\0" * (-file.tell() % SECTOR))
    shutil.rmtree(wheels)
    shutil.rmtree(tree)
    return tar


def _compiled_by_guest(tree: Path, image: Image) -> bool:
    """Whether its own Python could do it here, as root: emulated it takes far longer, after each start."""
    root = tree.with_name("root")
    root.mkdir()
    script = """mount -o loop,ro "$0" "$1" && mount --bind "$2" "$1/srv"
        exec chroot "$1" python3 -m compileall -q --invalidation-mode unchecked-hash /srv"""
    command = ["unshare", "--mount", "/bin/sh", "-ec", script, *map(str, (image.root, root, tree))]
    done = subprocess.run(command, check=False, capture_output=True)
    root.rmdir()
    return done.returncode == 0
