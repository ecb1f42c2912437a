"""The records of the power-cut check: what one looks like, where it goes, and what a block that was read back holds.

Format 1. A record fills one block; numbers are little-endian.

====== ===== ==========================================================================================
offset bytes meaning
====== ===== ==========================================================================================
0      8     ``fstuiPC1``
8      8     run id (16 hexadecimal digits in names and lines)
16     4     writer, from 0
20     4     length of the record in bytes, this header included
24     8     sequence: one more with every record of this writer
32     8     generation: how often its place was written before (overwrite), the number of its file (others)
40     4     CRC-32 (zlib) of all other bytes of the record
44     …     SHAKE-128 of the first 40 bytes, so that no two records share a sector
====== ===== ==========================================================================================

The files of writer N are ``wN/0``, ``wN/1``, … below the run's directory. An *overwrite* goes round one file that was
filled with the records 0, 1, 2 … before the first acknowledgement. *append* and *create* (one record a file) go on to a
new file when one is full and then remove the oldest: a file goes once a record of the ``kept_files``-th after it is
acknowledged.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Literal, NamedTuple

PREFIX = ".fstui-powercut-"
"""Of a run's directory; its id follows."""
ENDED = "ended"
"""A file in the run's directory: the writer stopped in good order, and why. Then no power was cut while it wrote."""
MAGIC = b"fstuiPC1"
_HEAD = struct.Struct("<8s8sIIQQ")
_CRC = struct.Struct("<I")
_BODY_AT = _HEAD.size + _CRC.size

BLOCK_BYTES = range(4096, (1 << 20) + 1, 4096)
MOST_FILE_BYTES = 64 << 20
MOST_WRITERS = 256

Sync = Literal["fsync", "fdatasync", "O_DSYNC", "O_DIRECT+O_DSYNC"]
Writes = Literal["overwrite", "append", "create", "create-no-dirsync"]
"""``create``: one new file per record, and an fsync of the directory; ``create-no-dirsync``: without it."""
Kind = Literal["intact", "empty", "torn", "missing", "no file", "unreadable"]
"""The last three: there was no block to look at."""


class Record(NamedTuple):
    """What stands in a record's place. Only of an intact one do the other fields mean anything."""

    kind: Kind
    run: str = ""
    writer: int = -1
    sequence: int = -1


class Stream(NamedTuple):
    """What one writer does, and where its records go."""

    writer: int
    sync: Sync
    writes: Writes
    block_bytes: int
    per_file: int
    """Records in one file."""
    kept_files: int
    """The newest files that are there at any time."""

    @classmethod
    def of(cls, writer: int, sync: Sync, writes: Writes, block_bytes: int, file_bytes: int) -> Stream:
        """``file_bytes``: what is overwritten, what one file of a log takes, or what all kept new files take."""
        records = max(2, file_bytes // block_bytes)
        one_a_file = writes.startswith("create")
        return cls(
            writer=writer,
            sync=sync,
            writes=writes,
            block_bytes=block_bytes,
            per_file=1 if one_a_file else records,
            kept_files=records if one_a_file else 1 if writes == "overwrite" else 2,
        )

    @property
    def is_possible(self) -> bool:
        """Some writer may have been asked for it. A log comes from outside, and its numbers size what is read."""
        return (
            0 <= self.writer < MOST_WRITERS
            and self.block_bytes in BLOCK_BYTES
            and self.per_file > 0
            and self.kept_files > 0
            and self.per_file * self.kept_files * self.block_bytes <= 2 * MOST_FILE_BYTES
        )

    @property
    def goes_round(self) -> bool:
        """It rewrites one file that is there already."""
        return self.writes == "overwrite"

    @property
    def syncs_directory(self) -> bool:
        """A new file's name is made durable before its first record is acknowledged."""
        return self.writes != "create-no-dirsync"

    @property
    def first(self) -> int:
        """The sequence of the first record that is acknowledged: those before it fill the file."""
        return self.per_file if self.goes_round else 0

    @property
    def most_bytes(self) -> int:
        """What its files take at any time: a new one is begun before the oldest goes."""
        files = self.kept_files if self.goes_round else self.kept_files + 1
        return files * self.per_file * self.block_bytes

    def place(self, sequence: int) -> tuple[int, int]:
        """The number of its file, and its offset there."""
        number, index = divmod(sequence, self.per_file)
        return (0 if self.goes_round else number), index * self.block_bytes

    def pack(self, run: str, sequence: int) -> bytes:
        """The record."""
        generation = sequence // self.per_file
        head = _HEAD.pack(MAGIC, bytes.fromhex(run), self.writer, self.block_bytes, sequence, generation)
        body = hashlib.shake_128(head).digest(self.block_bytes - _BODY_AT)
        return head + _CRC.pack(zlib.crc32(body, zlib.crc32(head))) + body


def unpack(block: bytes | memoryview) -> Record:
    """What the block holds. A block that is partly one record and partly another is torn; so is any foreign data."""
    if len(block) < _BODY_AT or bytes(block[: len(MAGIC)]) != MAGIC:
        return Record("torn" if any(block) else "empty")
    _, run, writer, length, sequence, _ = _HEAD.unpack_from(block)
    (crc,) = _CRC.unpack_from(block, _HEAD.size)
    if length != len(block) or zlib.crc32(block[_BODY_AT:], zlib.crc32(block[: _HEAD.size])) != crc:
        return Record("torn")
    return Record("intact", run.hex(), writer, sequence)
