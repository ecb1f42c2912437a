"""Read the disks of Firecracker and cloud-hypervisor from the API socket, the arguments or the configuration file.

Firecracker offers a flush to its guest only if ``cache_type`` is ``Writeback`` (docs/api_requests/block-caching.md).
Versions before Firecracker's pull request 2702 acknowledged a flush without executing it. cloud-hypervisor executes a
flush as fsync(2) (cloud-hypervisor's pull request 1214).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fstui.model.guests import Guest, GuestDisk
from fstui.storage.guests.sockets import decode_json, get_json

VHOST_USER = "the vhost-user process that backs this disk decides: see that process's arguments"


def firecracker_guest(
    pid: int, argv: Sequence[str], read_file: Callable[[str], bytes | None], resolve_path: Callable[[str], str]
) -> Guest:
    options = _option_values(argv, ("--api-sock", "--config-file", "--id"))
    socket, file = options.get("--api-sock", ["/run/firecracker.socket"])[0], options.get("--config-file", [""])[0]
    config, read_from = get_json(resolve_path(socket), pid, "/vm/config"), f"its API socket {socket}"
    if config is None and file:
        config, read_from = decode_json(read_file(file) or b""), file
    drives = config.get("drives") if isinstance(config, dict) else None
    guest = Guest(pid=pid, hypervisor="firecracker", name=options.get("--id", [""])[0])
    if not isinstance(drives, list):
        trouble = f"its API socket {socket} gave no answer, and its arguments name no readable file"
        return replace(guest, trouble=trouble)
    return replace(guest, disks=tuple(map(_firecracker_disk, _writable_drives(drives))), read_from=read_from)


def _firecracker_disk(drive: Mapping[str, Any]) -> GuestDisk:
    name, path = str(drive.get("drive_id", "")), drive.get("path_on_host")
    if not path:
        return GuestDisk(name=name, image="vhost-user", reason=VHOST_USER)
    cache = str(drive.get("cache_type") or "Unsafe")  # Firecracker's default
    return GuestDisk(
        name=name,
        image=str(path),
        cache=cache,
        flush="passed" if cache == "Writeback" else "ignored",
        reason=f"cache_type={cache}",
    )


def cloud_hypervisor_guest(pid: int, argv: Sequence[str], resolve_path: Callable[[str], str]) -> Guest:
    options = _option_values(argv, ("--api-socket", "--disk"))
    socket = options.get("--api-socket", [""])[0].removeprefix("path=")
    reply = get_json(resolve_path(socket), pid, "/api/v1/vm.info") if socket else None
    config = reply.get("config") if isinstance(reply, dict) else None
    pairs = ((word.partition("=") for word in text.split(",")) for text in options.get("--disk", []))
    drives, read_from = [{key: value for key, _, value in words} for words in pairs], "its arguments"
    trouble = "" if drives else "its API socket gave no answer, and its arguments name no disk"
    if isinstance(config, dict):
        drives, read_from, trouble = config.get("disks") or [], f"its API socket {socket}", ""
    disks = tuple(_cloud_hypervisor_disk(index, drive) for index, drive in enumerate(_writable_drives(drives)))
    return Guest(pid=pid, hypervisor="cloud-hypervisor", disks=disks, read_from=read_from, trouble=trouble)


def _cloud_hypervisor_disk(index: int, drive: Mapping[str, Any]) -> GuestDisk:
    name = str(drive.get("id") or f"disk{index}")
    if is_on(drive.get("vhost_user")):
        return GuestDisk(name=name, image="vhost-user", reason=VHOST_USER)
    image, direct = str(drive.get("path") or ""), is_on(drive.get("direct"))
    # an option of a newer version may change what a flush does
    if flush_options := [key for key, value in drive.items() if "flush" in key and is_on(value)]:
        return GuestDisk(name=name, image=image, reason=f"see cloud-hypervisor's documentation for {flush_options[0]}")
    cache, reason = ("direct", "direct=on") if direct else ("writeback", "direct=off")
    return GuestDisk(name=name, image=image, cache=cache, flush="passed", reason=reason)


def _writable_drives(drives: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    valid_drives = (drive for drive in drives if isinstance(drive, dict))
    return (drive for drive in valid_drives if not (is_on(drive.get("is_read_only")) or is_on(drive.get("readonly"))))


def is_on(value: object, default: bool = False) -> bool:
    """Return whether an option is on; ``default`` if it is missing or ``auto``."""
    if isinstance(value, bool):
        return value
    return default if value in (None, "auto") else value in ("on", "yes", "true", "y")


def _option_values(argv: Sequence[str], options: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of these options: ``--disk A B --disk C``, ``--disk=A``."""
    values: dict[str, list[str]] = {}
    current_option = ""
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            current_option = name
        if current_option in options and (equals or not word.startswith("--")):
            values.setdefault(current_option, []).append(value if word.startswith("--") else word)
    return values
