"""The records of the power-cut test: their format, their place, and the content of a block that was read back.

Format 1. A record fills one block; numbers are little-endian.

====== ===== ==========================================================================================
offset bytes meaning
====== ===== ==========================================================================================
0      8     ``fstuiPC1``
8      8     run id (16 hexadecimal digits in names and lines)
16     4     writer, from 0
20     4     length of the record in bytes, this header included
24     8     sequence number of this writer, from 0
32     8     generation: how many times its place was overwritten (overwrite, databases), or the number of its file
40     4     CRC-32 (zlib) of all other bytes of the record
44     …     SHAKE-128 of the first 40 bytes, so that no two records have equal sectors
====== ===== ==========================================================================================

The files of writer N are ``wN/0``, ``wN/1``, … in the directory of the test; for a database server, ``wN`` is its data
directory. *overwrite* fills one file with the records 0, 1, 2 … before the first acknowledgement, and then rewrites it
again and again. *append* and *create* (one record per file) start a new file when one is full. When the first record of
file K + ``kept_files`` is acknowledged, file K is removed.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Literal, NamedTuple, get_args

from fstui.measure.wire.own_directory import POWER_CUT_PREFIX

END_REASON_FILE = "ended"
"""A file in the test's directory with the reason why the writer stopped by itself, so that no power was cut."""
MAGIC = b"fstuiPC1"
_HEAD = struct.Struct("<8s8sIIQQ")
_CRC = struct.Struct("<I")
_BODY_OFFSET = _HEAD.size + _CRC.size

BLOCK_BYTES = range(4096, (1 << 20) + 1, 4096)
MAX_FILE_BYTES = 64 << 20
MAX_WRITERS = 256
MAX_WAL_BYTES = 16 << 20
"""Maximum size of SQLite's write-ahead log, which is reset after 1000 pages. The table is filled before this log is
used."""

MAX_SERVER_BYTES = 192 << 20
"""Maximum size of a database server's own files: system tables, logs, and old rows until they are removed."""

Sync = Literal["fsync", "fdatasync", "O_DSYNC", "O_DIRECT+O_DSYNC"]
ServerName = Literal["mariadb", "mysql", "postgresql"]
WriteMethod = Literal["overwrite", "append", "create", "create-no-dirsync", "rename", "sqlite", ServerName]
"""``create``: one new file per record, with an fsync of the directory. ``create-no-dirsync``: without that fsync.
``rename``: like create, but the file is written under another name and renamed. ``sqlite`` and the database servers:
one row per record, overwritten like the places of *overwrite*; the database syncs it."""
SERVERS = get_args(ServerName)
DATABASE_METHODS = ("sqlite", *SERVERS)
"""Write methods whose records a database syncs."""
LOSS_KINDS = ("missing", "stale", "torn", "misplaced", "unreadable")
RecordKind = Literal["intact", "empty", "torn", "missing", "no file", "unreadable"]
"""What was found in the place of a record. With the last three kinds, no block could be read in that place."""


def directory_of(parent: str, run: str) -> str:
    """Return the directory of a test's records. ``parent``: the directory that the user chose."""
    return f"{parent.rstrip('/')}/{POWER_CUT_PREFIX}{run}"


class Record(NamedTuple):
    """The record that was found at a place. The other fields are valid only if ``kind`` is intact."""

    kind: RecordKind
    run_id: str = ""
    writer: int = -1
    sequence: int = -1


class Stream(NamedTuple):
    """The work of one writer, and the places of its records."""

    writer: int
    sync: Sync
    write_method: WriteMethod
    block_bytes: int
    records_per_file: int
    kept_files: int
    """How many of the newest files are never removed. One more file exists for a short time."""

    @classmethod
    def make(cls, writer: int, sync: Sync, write_method: WriteMethod, block_bytes: int, file_bytes: int) -> Stream:
        """``file_bytes``: the size of the overwritten file, of an appended file, or of all new files together."""
        records = max(2, file_bytes // block_bytes)
        is_file_per_record = write_method.startswith("create") or write_method == "rename"
        return cls(
            writer=writer,
            sync=sync,
            write_method=write_method,
            block_bytes=block_bytes,
            records_per_file=1 if is_file_per_record else records,
            kept_files=records if is_file_per_record else 2 if write_method == "append" else 1,
        )

    @property
    def is_possible(self) -> bool:
        """Whether the numbers are within the limits. They come from an untrusted log and decide how much is read."""
        return (
            0 <= self.writer < MAX_WRITERS
            and self.block_bytes in BLOCK_BYTES
            and self.records_per_file > 0
            and self.kept_files > 0
            and self.records_per_file * self.kept_files * self.block_bytes <= 2 * MAX_FILE_BYTES
        )

    @property
    def uses_server(self) -> bool:
        return self.write_method in SERVERS

    @property
    def overwrites(self) -> bool:
        return self.write_method == "overwrite" or self.write_method in DATABASE_METHODS

    @property
    def syncs_directory(self) -> bool:
        """Whether the directory is synced before the first record of a new file is acknowledged."""
        return self.write_method != "create-no-dirsync"

    @property
    def first_sequence(self) -> int:
        """The first acknowledged sequence number; earlier records fill the file."""
        return self.records_per_file if self.overwrites else 0

    @property
    def max_stored_bytes(self) -> int:
        # one more file, because a new file is started before the oldest is removed
        files = self.kept_files if self.overwrites else self.kept_files + 1
        # the second time for the table, because its pages are larger than its rows
        database = 2 * MAX_WAL_BYTES if self.write_method == "sqlite" else MAX_SERVER_BYTES if self.uses_server else 0
        return files * self.records_per_file * self.block_bytes + database

    def position(self, sequence: int) -> tuple[int, int]:
        """Return the number of the record's file, and its offset in that file."""
        number, index = divmod(sequence, self.records_per_file)
        return (0 if self.overwrites else number), index * self.block_bytes

    def row(self, run_id: str, sequence: int) -> tuple[int, bytes]:
        """Return the row of a database that holds a record: its place and its bytes."""
        return self.position(sequence)[1], self.pack(run_id, sequence)

    def pack(self, run_id: str, sequence: int) -> bytes:
        generation = sequence // self.records_per_file
        head = _HEAD.pack(MAGIC, bytes.fromhex(run_id), self.writer, self.block_bytes, sequence, generation)
        body = hashlib.shake_128(head).digest(self.block_bytes - _BODY_OFFSET)
        return head + _CRC.pack(zlib.crc32(body, zlib.crc32(head))) + body


def unpack(block: bytes | memoryview) -> Record:
    """Return what the block contains. A mixture of two records is torn, and so is any data that is not a record."""
    if len(block) < _BODY_OFFSET or bytes(block[: len(MAGIC)]) != MAGIC:
        return Record("torn" if any(block) else "empty")
    _, run_id, writer, length, sequence, _ = _HEAD.unpack_from(block)
    (crc,) = _CRC.unpack_from(block, _HEAD.size)
    if length != len(block) or zlib.crc32(block[_BODY_OFFSET:], zlib.crc32(block[: _HEAD.size])) != crc:
        return Record("torn")
    return Record("intact", run_id.hex(), writer, sequence)
