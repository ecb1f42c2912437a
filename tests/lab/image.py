"""The guest images, made once and kept outside the checkout."""

from __future__ import annotations

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
KEPT_S = 86400
"""An image that is not of today's recipe is kept so long: another checkout may be using it."""


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """What QEMU boots."""

    root: Path
    kernel: Path
    initrd: Path


def cache_directory() -> Path:
    """Where images are kept: FSTUI_LAB_CACHE, else in the XDG cache directory."""
    if given := os.environ.get("FSTUI_LAB_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fstui-lab"


def missing_tools(tools: Sequence[str] = RUN_TOOLS) -> list[str]:
    return [tool for tool in tools if shutil.which(tool) is None and not Path("/usr/sbin", tool).exists()]


def cached(recipe: Recipe) -> Image | None:
    """The image of that recipe, or None where it has not been built yet."""
    directory = cache_directory() / f"{recipe.name}-{recipe.digest}"
    image = Image(root=directory / "root.img", kernel=directory / "vmlinuz", initrd=directory / "initrd.gz")
    return image if directory.is_dir() else None


def build(recipe: Recipe) -> Image:
    """The image, built now if it is not there. Raises LabUnavailable."""
    if (image := cached(recipe)) is not None:
        return image
    with _lock():  # whoever builds another image is not waited for by those whose image is there
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
