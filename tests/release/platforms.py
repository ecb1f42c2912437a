"""The platforms of the file, as wheel tags and environment markers for pip and pex."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from packaging.tags import compatible_tags, cpython_tags

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
MACHINES = ("x86_64", "aarch64")
LIBCS = {
    "glibc": [f"manylinux_2_{minor}" for minor in range(34, 16, -1)] + ["manylinux2014"],
    "musl": ["musllinux_1_2", "musllinux_1_1"],
}
"""glibc 2.34 is older than any distribution's that has Python 3.11 of its own; musl 1.2 is of 2020."""


class Platform(NamedTuple):
    """One platform."""

    python: tuple[int, int]
    machine: str
    libc: str

    @property
    def name(self) -> str:
        return f"cp{self.python[0]}{self.python[1]}-{self.libc}-{self.machine}"

    @property
    def tags(self) -> list[str]:
        """Return the tags of usable wheels, the best first."""
        platforms = [f"{libc}_{self.machine}" for libc in LIBCS[self.libc]] + [f"linux_{self.machine}"]
        interpreter = f"cp{self.python[0]}{self.python[1]}"
        own = cpython_tags(self.python, [interpreter], platforms)
        return [str(tag) for tag in (*own, *compatible_tags(self.python, interpreter, platforms))]

    @property
    def complete(self) -> dict[str, Any]:
        """Return the platform for ``pex --complete-platform``."""
        version = f"{self.python[0]}.{self.python[1]}"
        markers = {
            "implementation_name": "cpython",
            "implementation_version": f"{version}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{version}.0",
            "python_version": version,
            "sys_platform": "linux",
        }
        return {"marker_environment": markers, "compatible_tags": self.tags}


def every() -> Iterator[Platform]:
    """Return all supported platforms."""
    for python in PYTHONS:
        for machine in MACHINES:
            for libc in LIBCS:
                yield Platform(python, machine, libc)
