import json
import struct
import zlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.powercut.records import MAX_FILE_BYTES, Stream, WriteMethod, unpack
from fstui.powercut.server import decode_block
from tests.powercut.honest import BLOCK, RUN, stream


def test_record_fills_its_block_and_names_its_writer() -> None:
    found = unpack(stream(writer=3).pack(RUN, 77))
    assert (found.kind, found.run_id, found.writer, found.sequence) == ("intact", RUN, 3, 77)
    assert len(stream().pack(RUN, 77)) == BLOCK


def test_record_layout_is_as_documented() -> None:
    block = stream(writer=3, records=8).pack(RUN, 77)
    magic, run, writer, length, sequence, generation, crc = struct.unpack_from("<8s8sIIQQI", block)
    assert (magic, run.hex(), writer, length, sequence, generation) == (b"fstuiPC1", RUN, 3, BLOCK, 77, 9)
    assert crc == zlib.crc32(block[:40] + block[44:])


def test_no_two_records_have_equal_sectors() -> None:
    sectors = [
        of.pack(run, sequence)[at : at + 512]
        for of in (stream(writer=0), stream(writer=1))
        for run in (RUN, RUN[::-1])
        for sequence in range(4)
        for at in range(512, BLOCK, 512)
    ]
    assert len(set(sectors)) == len(sectors)


@given(byte=st.integers(0, BLOCK - 1), change=st.integers(1, 255))
def test_any_changed_byte_is_detected(byte: int, change: int) -> None:
    block = bytearray(stream().pack(RUN, 9))
    block[byte] ^= change
    assert unpack(bytes(block)).kind == "torn"


@pytest.mark.parametrize("sectors", range(1, 8))
def test_half_old_half_new_block_is_torn(sectors: int) -> None:
    old, new = stream().pack(RUN, 1), stream().pack(RUN, 9)
    cut = sectors * 512
    assert unpack(new[:cut] + old[cut:]).kind == "torn"
    assert unpack(old[:cut] + new[cut:]).kind == "torn"


def test_unwritten_block_is_empty_foreign_block_is_torn() -> None:
    assert unpack(bytes(BLOCK)).kind == "empty"
    assert unpack(bytes(BLOCK - 1) + b"x").kind == "torn"
    assert unpack(stream().pack(RUN, 1)[:100]).kind == "torn"
    assert unpack(b"").kind == "empty"


@pytest.mark.parametrize("writes", get_args(WriteMethod))
@pytest.mark.parametrize("block", [4096, 65536])
@pytest.mark.parametrize("file", [131_072, MAX_FILE_BYTES])
def test_every_setting_gives_a_possible_stream(writes: WriteMethod, block: int, file: int) -> None:
    assert Stream.make(0, "fsync", writes, block, file).is_possible


def test_overwrite_reuses_one_filled_file() -> None:
    of = stream("overwrite", records=8)
    assert of.first_sequence == 8
    assert [of.position(sequence) for sequence in (8, 9, 16)] == [(0, 0), (0, BLOCK), (0, 0)]


@pytest.mark.parametrize(("writes", "records_per_file", "kept"), [("append", 8, 2), ("create", 1, 8)])
def test_append_continues_in_new_files(writes: WriteMethod, records_per_file: int, kept: int) -> None:
    of = stream(writes, records=8)
    assert (of.first_sequence, of.records_per_file, of.kept_files) == (0, records_per_file, kept)
    assert of.position(9) == (9 // records_per_file, 9 % records_per_file * BLOCK)


def test_only_create_no_dirsync_skips_the_directory() -> None:
    assert [writes for writes in get_args(WriteMethod) if not stream(writes).syncs_directory] == ["create-no-dirsync"]


def test_stream_survives_the_header() -> None:
    assert Stream(*json.loads(json.dumps(stream("append", writer=2)))) == stream("append", writer=2)


@pytest.mark.parametrize(("row", "kind"), [("", "empty"), ("not a record", "torn"), ("00ff", "torn")])
def test_row_that_is_no_record_is_torn(row: str, kind: str) -> None:
    assert unpack(decode_block(row)).kind == kind
