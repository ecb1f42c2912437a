"""What hypervisors and storage services do with a flush. The data, with its sources, is in platforms.toml.

The data is not in models.toml, because the first screen needs it to name the host and must not wait for the models.
"""

import re
from functools import cache

import msgspec

from fstui.model import shipped


class Platform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hypervisor or a storage service, and what it is known to do with a flush."""

    name: str
    """As in ``Host.virtualization``, if it is a hypervisor that can be recognised."""
    title: str
    dmi: str | None = None
    release: str | None = None
    kinds: tuple[str, ...] = ()
    source_pattern: str | None = None
    """Regular expression that the mount source of a filesystem in ``kinds`` must match."""
    model: str | None = None
    recognised_by: str
    """How fstui recognises the platform, as a phrase."""
    flush_default: str
    """What it does with a flush by default."""
    drops_flushes: bool = False
    """It is documented to acknowledge flushes by default, without passing them on."""
    skips_drive_flush: bool = False
    """By default, it may write flushed data to the drive without flushing the drive's cache. Such a flush takes time,
    so its duration proves nothing."""
    documented_durability: str | None = None
    """What its documentation says about an acknowledged write or flush."""
    how_to_check: str
    """A sentence for the user: on which machine, and with which command, to look up how it is configured."""
    source: str


@cache
def table() -> tuple[Platform, ...]:
    return shipped.packaged_table(__package__, "platforms.toml", dict[str, tuple[Platform, ...]])["platform"]


def find(name: str | None) -> Platform | None:
    return next((platform for platform in table() if platform.name == name), None)


def hypervisor(*, dmi: str = "", release: str = "") -> str | None:
    """Return the name of the hypervisor that matches the DMI strings or the kernel release, or None."""
    for platform in table():
        for pattern, text in ((platform.dmi, dmi), (platform.release, release)):
            if pattern and re.search(pattern, text):
                return platform.name
    return None


def service(kind: str, source: str, model: str | None = None) -> Platform | None:
    """Return the service that provides a filesystem of this kind and source, or a device of this kind or model."""
    for platform in table():
        if platform.model and model and re.search(platform.model, model):
            return platform
        if kind in platform.kinds and (platform.source_pattern is None or re.search(platform.source_pattern, source)):
            return platform
    return None
