"""Program: ask an NVMe controller about its volatile write cache, as ``nvme id-ctrl`` and ``nvme get-feature -f 6`` do.

Arguments: those of nvme(1). stdout: ``{"vwc": 1}``, or the value of the feature. Needs root; only reads.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import sys

NVME_IOCTL_ADMIN_CMD = 0xC0484E41
"""_IOWR('N', 0x41, struct nvme_admin_cmd) of include/uapi/linux/nvme_ioctl.h; the structure has 72 bytes."""
COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
"""opcode, flags, rsvd1, nsid, cdw2, cdw3, metadata, addr, metadata_len, data_len, cdw10 … cdw15, timeout_ms, result."""
GET_FEATURES, IDENTIFY = 0x0A, 0x06
CONTROLLER, VOLATILE_WRITE_CACHE = 1, 6
"""The data structure to identify (CNS), and the feature."""
VWC_AT = 525
"""Byte of the volatile write cache in Identify Controller (NVM Express base specification)."""
IDENTIFY_BYTES, TIMEOUT_MS = 4096, 3000


def main() -> None:
    action, device = sys.argv[1:3]
    fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    data = ctypes.create_string_buffer(IDENTIFY_BYTES)
    if action == "id-ctrl":
        submit(fd, IDENTIFY, CONTROLLER, data)
        print(f'{{"vwc": {data.raw[VWC_AT]}}}')
    else:
        print(f"Current value:{submit(fd, GET_FEATURES, VOLATILE_WRITE_CACHE):#010x}")


def submit(fd: int, opcode: int, cdw10: int, data: ctypes.Array[ctypes.c_char] | None = None) -> int:
    """Submit a command and return its result. Raises OSError, also if the controller answers with an error."""
    address, size = (ctypes.addressof(data), len(data)) if data is not None else (0, 0)
    request = bytearray(COMMAND.pack(opcode, 0, 0, 0, 0, 0, 0, address, 0, size, cdw10, 0, 0, 0, 0, 0, TIMEOUT_MS, 0))
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
