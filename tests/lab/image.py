"""The guest images, made once and stored outside the checkout."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.lab import LabUnavailable
from tests.lab.bootstrap import make
from tests.lab.recipe import Recipe

RUN_TOOLS = ("qemu-system-x86_64", "nbdkit", "mke2fs")
BUILD_TOOLS = ("debootstrap", "apt-get")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fstui-lab"
"""Found at import, because each test has a home directory of its own."""
KEPT_S = 86400
"""How long an image of another recipe is kept, as another checkout may use it."""


class Image(msgspec.Struct, frozen=True):
    """The files that a guest boots."""

    directory: str

    @property
    def root(self) -> Path:
        return Path(self.directory, "root.img")

    @property
    def kernel(self) -> Path:
        return Path(self.directory, "kernel")

    @property
    def initrd(self) -> Path:
        return Path(self.directory, "initrd.gz")


def cache_directory() -> Path:
    """Return the directory of the images: FSTUI_LAB_CACHE, or one in the XDG cache directory."""
    return Path(os.environ.get("FSTUI_LAB_CACHE") or CACHE)


def missing_tools(tools: Sequence[str] = RUN_TOOLS) -> list[str]:
    return [tool for tool in tools if shutil.which(tool) is None and not Path("/usr/sbin", tool).exists()]


def cached(recipe: Recipe) -> Image | None:
    """Return the image of a recipe, or None if it is not built yet."""
    directory = cache_directory() / f"{recipe.name}-{recipe.digest}"
    return Image(str(directory)) if directory.is_dir() else None


def build(recipe: Recipe) -> Image:
    """Return the image, and build it first if necessary. Raises LabUnavailable."""
    if (image := cached(recipe)) is not None:
        return image
    with _lock():  # Only a missing image waits for one that is being built.
        if cached(recipe) is None:
            _build(recipe)
    image = cached(recipe)
    assert image is not None
    return image


def _build(recipe: Recipe) -> None:
    if missing := missing_tools(BUILD_TOOLS):
        raise LabUnavailable(f"not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        raise LabUnavailable("building the guest image needs root (debootstrap)")
    for old in cache_directory().glob(f"{recipe.name}-*"):
        if time.time() - old.stat().st_mtime > KEPT_S:
            shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=cache_directory()) as temporary:
        make(recipe, Path(temporary, "root"), Path(temporary, "image"))
        Path(temporary, "image").rename(cache_directory() / f"{recipe.name}-{recipe.digest}")


@contextmanager
def _lock() -> Iterator[None]:
    cache_directory().mkdir(parents=True, exist_ok=True)
    with (cache_directory() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
