"""A mount whose server accepts every request and never answers, in its own mount namespace.

``unshare --mount python silent_fuse.py DIRECTORY``: prints ``mounted`` and stays until its stdin closes. Structures
from linux/fuse.h. Only commands started with ``nsenter --target PID --mount COMMAND`` see the mount.
"""

import ctypes
import os
import select
import struct
import sys

PROTOCOL_MAJOR, PROTOCOL_MINOR = 7, 31
REQUEST_BYTES = 1 << 17
IN_HEADER = struct.Struct("=IIQQIII4x")  # length, opcode, unique, node, uid, gid, pid
OUT_HEADER = struct.Struct("=IiQ")  # length, error, unique
INIT_OUT = struct.Struct("=IIIIHHIIHHII24x")
INIT = 26


def mount(fd: int, directory: str) -> None:
    """Call mount(2) with type fuse.silent. Raise OSError."""
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"silent-server", os.fsencode(directory), b"fuse.silent", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount", directory)


def greet(fd: int) -> None:
    request = os.read(fd, REQUEST_BYTES)
    _, opcode, unique, *_ = IN_HEADER.unpack_from(request)
    assert opcode == INIT, opcode
    answer = INIT_OUT.pack(PROTOCOL_MAJOR, PROTOCOL_MINOR, 0, 0, 0, 0, 4096, 0, 0, 0, 0, 0)
    os.write(fd, OUT_HEADER.pack(OUT_HEADER.size + len(answer), 0, unique) + answer)


if __name__ == "__main__":
    server = os.open("/dev/fuse", os.O_RDWR)
    mount(server, sys.argv[1])
    greet(server)
    print("mounted", flush=True)
    while True:
        readable, _, _ = select.select([0, server], [], [])
        if 0 in readable:
            break
        os.read(server, REQUEST_BYTES)
    # closing the connection ends every call that still waits in it
    os.close(server)
