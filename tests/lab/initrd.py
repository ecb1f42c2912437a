"""A small initrd: busybox, the drivers that reach the root image, and one script."""

import gzip
import lzma
import stat
from collections.abc import Sequence
from pathlib import Path

from tests.lab.recipe import GUEST

DIRECTORIES = ("bin", "dev", "proc", "sys", "root", "lib")


def initrd(root: Path, release: str, modules: Sequence[str]) -> bytes:
    """The gzipped archive, made of what the root directory holds. Raises KeyError for a module that is not there."""
    archive = Archive()
    for directory in DIRECTORIES:
        archive.add(directory, stat.S_IFDIR | 0o755)
    archive.add("bin/busybox", stat.S_IFREG | 0o755, (root / "bin/busybox").read_bytes())
    archive.add("init", stat.S_IFREG | 0o755, (GUEST / "initrd-init").read_bytes())
    library = root / "lib/modules" / release
    files = load_order(library, modules)
    for file in files:
        archive.add(_place(file), stat.S_IFREG | 0o644, _module(library / file))
    archive.add("modules", stat.S_IFREG | 0o644, "".join(f"/{_place(file)}\n" for file in files).encode())
    return gzip.compress(archive.end(), 1)


def _place(file: str) -> str:
    return f"lib/{Path(file).name.removesuffix('.xz')}"


def _module(file: Path) -> bytes:
    """As busybox's insmod takes it, which cannot unpack."""
    data = file.read_bytes()
    return lzma.decompress(data) if file.suffix == ".xz" else data


def load_order(library: Path, modules: Sequence[str]) -> list[str]:
    """Files of these modules and of what they depend on, dependencies first."""
    needs = {Path(file).name.split(".ko")[0]: files for file, files in _dependencies(library).items()}
    builtin = {Path(line).stem for line in (library / "modules.builtin").read_text().split()}
    return list(dict.fromkeys(file for module in modules if module not in builtin for file in needs[module]))


def needed_files(library: Path, wanted: Sequence[str]) -> list[str]:
    """Files of the modules in these folders (or of these names), and of all that they depend on."""
    prefixes = tuple(f"kernel/{folder}" for folder in wanted)
    return [file for path, files in _dependencies(library).items() if path.startswith(prefixes) for file in files]


def _dependencies(library: Path) -> dict[str, list[str]]:
    """Each module's file with those that it needs, in the order of loading (modules.dep lists them last)."""
    found = {}
    for line in (library / "modules.dep").read_text().splitlines():
        file, _, dependencies = line.partition(":")
        found[file] = [*reversed(dependencies.split()), file]
    return found


class Archive:
    """A cpio archive in the "newc" format, which is what the kernel unpacks (Documentation/early-userspace)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._entries = 0

    def add(self, name: str, mode: int, data: bytes = b"") -> None:
        self._entries += 1
        fields = (self._entries, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self._parts += [_padded(header + name.encode() + b"\0"), _padded(data)]

    def end(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
