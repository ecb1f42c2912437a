"""Whether a SCSI disk, or one that is translated to it (libata, a SAS controller), says that its write cache is on now:
WCE in its caching mode page (SBC, 08h), asked by MODE SENSE through the ioctl SG_IO (scsi/sg.h).

The driver asked the same when it found the disk, and repeats since then what it was told instead (cache_type). What is
asked is answered from the drive's memory: a disk that sleeps is left asleep.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os

SG_IO, FROM_DEVICE = 0x2285, -3
PAGE, WCE = 0x08, 0x04
MODE_SENSE_6, MODE_SENSE_10 = 0x1A, 0x5A
ANSWER_BYTES, SENSE_BYTES = 64, 32
TIMEOUT_MS = 30_000
"""As the disk driver's own: a shorter one would have the kernel abort the command of a slow drive, and reset that."""


class Request(ctypes.Structure):
    """struct sg_io_hdr."""

    _fields_ = (
        ("interface_id", ctypes.c_int), ("direction", ctypes.c_int),
        ("command_bytes", ctypes.c_ubyte), ("max_sense_bytes", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort), ("answer_bytes", ctypes.c_uint),
        ("answer", ctypes.c_void_p), ("command", ctypes.c_void_p), ("sense", ctypes.c_void_p),
        ("timeout_ms", ctypes.c_uint), ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int), ("user", ctypes.c_void_p),
        ("status", ctypes.c_ubyte), ("masked_status", ctypes.c_ubyte), ("message_status", ctypes.c_ubyte),
        ("sense_bytes", ctypes.c_ubyte), ("host_status", ctypes.c_ushort), ("driver_status", ctypes.c_ushort),
        ("missing_bytes", ctypes.c_int), ("duration_ms", ctypes.c_uint), ("info", ctypes.c_uint),
    )  # fmt: skip


def is_on(device: str) -> bool:
    """By the drive's own word. Raises OSError where it gives none."""
    file = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        try:
            return in_page(sensed(file, bytes((MODE_SENSE_6, 0, PAGE, 0, ANSWER_BYTES, 0))), 4, 3)
        except OSError:
            return in_page(sensed(file, bytes((MODE_SENSE_10, 0, PAGE, 0, 0, 0, 0, 0, ANSWER_BYTES, 0))), 8, 7)
    finally:
        os.close(file)


def sensed(file: int, command: bytes) -> bytes:
    """What a command that reads answered. Raises OSError where it failed."""
    answer, sense = ctypes.create_string_buffer(ANSWER_BYTES), ctypes.create_string_buffer(SENSE_BYTES)
    sent = ctypes.create_string_buffer(command, len(command))
    request = Request(
        interface_id=ord("S"),
        direction=FROM_DEVICE,
        command_bytes=len(command),
        max_sense_bytes=SENSE_BYTES,
        answer_bytes=ANSWER_BYTES,
        answer=ctypes.addressof(answer),
        command=ctypes.addressof(sent),
        sense=ctypes.addressof(sense),
        timeout_ms=TIMEOUT_MS,
    )
    fcntl.ioctl(file, SG_IO, request)
    if request.status or request.host_status or request.driver_status:
        raise OSError(errno.EIO, "it does not answer MODE SENSE")
    return answer.raw[: ANSWER_BYTES - max(0, request.missing_bytes)]


def in_page(answer: bytes, header_bytes: int, at: int) -> bool:
    """WCE in that answer, whose page stands behind a header and the blocks that this tells of (SPC). Raises OSError.

    ``at``: where the header tells of how many bytes they are; such a disk has few.
    """
    page = answer[header_bytes + answer[at] :] if len(answer) > at else b""
    if len(page) < 3 or page[0] & 0x3F != PAGE:
        raise OSError(errno.ENODATA, "it tells nothing of its cache")
    return bool(page[2] & WCE)
