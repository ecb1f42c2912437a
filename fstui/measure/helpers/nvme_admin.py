"""Program: report whether an NVMe controller has a volatile write cache, whether it is on, or the drive's health.

It replaces ``nvme id-ctrl``, ``nvme get-feature -f 6`` and ``nvme smart-log``, and has the same arguments. stdout:
``{"vwc": 1}``, ``Current value:0x00000001``, or the values of the log page as JSON. Requires root.
"""

import ctypes
import fcntl
import json
import os
import struct
import sys

NVME_IOCTL_ADMIN_CMD = 0xC0484E41
"""_IOWR('N', 0x41, struct nvme_admin_cmd) of include/uapi/linux/nvme_ioctl.h; the structure has 72 bytes."""
COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
"""opcode, flags, rsvd1, nsid, cdw2, cdw3, metadata, addr, metadata_len, data_len, cdw10 … cdw15, timeout_ms, result."""
GET_FEATURES, IDENTIFY, GET_LOG_PAGE = 0x0A, 0x06, 0x02
CONTROLLER, VOLATILE_WRITE_CACHE = 1, 6
"""The data structure that IDENTIFY returns (CNS), and the number of the feature that GET_FEATURES returns."""
VWC_OFFSET = 525
"""Offset of the volatile write cache in Identify Controller (NVM Express base specification)."""
HEALTH, HEALTH_BYTES, ALL_NAMESPACES = 2, 512, 0xFFFFFFFF
"""Number and size of the health log page, and the namespace ID that means all namespaces."""
HEALTH_FIELDS = {
    "critical_warning": (0, 1),
    "percent_used": (5, 1),
    "unsafe_shutdowns": (144, 16),
    "media_errors": (160, 16),
}
"""Offset and length of each little-endian value."""
IDENTIFY_BYTES, TIMEOUT_MS = 4096, 3000


def main() -> None:
    action, device = sys.argv[1:3]
    fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    if action == "smart-log":
        data = ctypes.create_string_buffer(HEALTH_BYTES)
        # cdw10: the size in 4-byte words minus 1, and the number of the log page
        submit(fd, GET_LOG_PAGE, (HEALTH_BYTES // 4 - 1) << 16 | HEALTH, data, ALL_NAMESPACES)
        fields = HEALTH_FIELDS.items()
        values = {name: int.from_bytes(data.raw[offset:][:size], "little") for name, (offset, size) in fields}
        print(json.dumps(values))
    elif action == "id-ctrl":
        data = ctypes.create_string_buffer(IDENTIFY_BYTES)
        submit(fd, IDENTIFY, CONTROLLER, data)
        print(f'{{"vwc": {data.raw[VWC_OFFSET]}}}')
    else:
        print(f"Current value:{submit(fd, GET_FEATURES, VOLATILE_WRITE_CACHE):#010x}")


def submit(
    fd: int, opcode: int, cdw10: int, data: ctypes.Array[ctypes.c_char] | None = None, namespace: int = 0
) -> int:
    """Submit a command and return its result. Raises OSError, also if the controller reports an error status."""
    address, size = (ctypes.addressof(data), len(data)) if data is not None else (0, 0)
    request = bytearray(
        COMMAND.pack(opcode, 0, 0, namespace, 0, 0, 0, address, 0, size, cdw10, 0, 0, 0, 0, 0, TIMEOUT_MS, 0)
    )
    status = fcntl.ioctl(fd, NVME_IOCTL_ADMIN_CMD, request)
    if status:
        raise OSError(0, f"NVMe status {status:#x}")
    return int(COMMAND.unpack(request)[-1])


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(error.strerror)
        sys.exit(1)
