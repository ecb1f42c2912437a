"""The bytes between a probe and the engine."""

import struct
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.measure.wire.frames import (
    KINDS,
    PIPE_BUF,
    BadFrame,
    Decoder,
    Frame,
    Samples,
    encode,
    encode_samples,
    encode_samples_with_pauses,
)

TIMES = st.integers(min_value=0, max_value=2**62)
FIELDS = st.dictionaries(
    st.text(max_size=20), st.one_of(st.none(), st.booleans(), TIMES, st.text(max_size=50)), max_size=8
)
JSON_KINDS = [kind for kind in KINDS if kind != "samples"]


def made_up(kind: str, payload: bytes) -> bytes:
    return struct.pack("IB3x", len(payload), KINDS.index(kind)) + payload


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Return the frames of the same bytes in pieces, as a pipe delivers them."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[first:after] for first, after in pairwise(edges)]


def decoded(pieces: list[bytes]) -> list[Frame | Samples]:
    decoder = Decoder()
    return [frame for piece in pieces for frame in decoder.feed(piece)]


@given(st.lists(st.tuples(st.sampled_from(JSON_KINDS), FIELDS), max_size=6), st.lists(st.integers(min_value=0)))
def test_json_frames_are_decoded_from_any_pieces(said: list[tuple[str, dict[str, object]]], places: list[int]) -> None:
    data = b"".join(encode(kind, **{"kind_": 0, **fields}) for kind, fields in said)
    assert decoded(cut(data, places)) == [Frame(kind, {"kind_": 0, **fields}) for kind, fields in said]


@given(
    st.integers(min_value=0, max_value=63),
    st.sampled_from([1, 2]),
    st.integers(min_value=0, max_value=2**61),
    st.lists(st.integers(min_value=0, max_value=2**61), max_size=1500).map(sorted),
    st.lists(st.integers(min_value=0)),
)
def test_samples_are_split_into_frames_of_pipe_buf(
    writer: int, parts: int, start_ns: int, times: list[int], places: list[int]
) -> None:
    marks = array("q", (start_ns + time for time in times[: len(times) // 2 * 2]))
    pieces = list(encode_samples(writer, parts, start_ns, marks))
    assert all(len(piece) <= PIPE_BUF for piece in pieces)
    back = [frame for frame in decoded(cut(b"".join(pieces), places)) if isinstance(frame, Samples)]
    assert [mark for samples in back for mark in samples.readings_ns[1:]] == list(marks)
    assert {(samples.writer, samples.parts, samples.has_pauses) for samples in back} <= {(writer, parts, False)}
    spans = [span for samples in back for span in samples.spans_ns]
    assert spans == [after - before for before, after in pairwise([start_ns, *marks])]


@given(
    st.sampled_from([1, 2]),
    st.lists(st.integers(min_value=0, max_value=2**61), max_size=1500).map(sorted),
    st.lists(st.integers(min_value=0)),
)
def test_pauses_between_operations_are_not_decoded(parts: int, times: list[int], places: list[int]) -> None:
    readings = times[: len(times) // (parts + 1) * (parts + 1)]
    ops = [readings[at : at + parts + 1] for at in range(0, len(readings), parts + 1)]
    pieces = list(encode_samples_with_pauses(7, parts, readings))
    assert all(len(piece) <= PIPE_BUF for piece in pieces)
    back = [frame for frame in decoded(cut(b"".join(pieces), places)) if isinstance(frame, Samples)]
    assert [begin for samples in back for begin in samples.begins_ns] == [op[0] for op in ops]
    assert [end for samples in back for end in samples.ends_ns] == [op[-1] for op in ops]
    for part in range(parts):
        lengths = [length for samples in back for length in samples.durations_ns(part)]
        assert lengths == [op[part + 1] - op[part] for op in ops]
    assert {(samples.writer, samples.parts, samples.has_pauses) for samples in back} <= {(7, parts, True)}


@pytest.mark.parametrize("marks", [[20, 19, 30, 40], [20, 30, 40, 38], [20, 2**61, 40, 50]])
def test_clock_that_goes_back_counts_as_zero(marks: list[int]) -> None:
    samples = Samples.from_part_ends(0, 1, 10, marks)
    assert list(samples.spans_ns) == [max(0, after - before) for before, after in pairwise([10, *marks])]


def test_operation_begins_when_the_previous_one_ended() -> None:
    samples = Samples.from_part_ends(3, 2, 10, [12, 17, 18, 40])
    assert (samples.durations_ns(0), samples.durations_ns(1)) == ((2, 1), (5, 22))
    assert (list(samples.begins_ns), list(samples.ends_ns)) == ([10, 17], [17, 40])


def test_operations_of_a_second_frame_begin_correctly() -> None:
    marks = array("q", range(1, 1401))
    back = decoded(list(encode_samples(0, 2, 0, marks)))
    assert len(back) > 1
    last = 0
    for samples in back:
        assert isinstance(samples, Samples)
        assert samples.begins_ns[0] == last
        assert len(samples.readings_ns) % 2 == 1  # an operation is never split
        last = samples.ends_ns[-1]


def test_frame_is_at_most_pipe_buf() -> None:
    room = PIPE_BUF - len(encode("figures", text=""))
    assert len(encode("figures", text="x" * room)) == PIPE_BUF
    with pytest.raises(ValueError, match="exceeds 4096"):
        encode("figures", text="x" * (room + 1))


@pytest.mark.parametrize(
    "printed",
    [
        b"Traceback (most recent call last)",
        b"\xff" * 8,
        b"\x00\x20\x00\x00\x00\x00\x00\x00",
        made_up("figures", b"{"),
        made_up("figures", b"3"),
        made_up("figures", b"[" * 4000),
        made_up("figures", b'{"ops": NaN}'),
        *encode_samples(0, 3, 0, [1, 2, 3]),
        *encode_samples(0, 2, 0, [1, 2, 3]),
        *encode_samples(0, 1, 5, [4]),
        *encode_samples(0, 1, 0, [4, 3]),
        *encode_samples_with_pauses(0, 2, [0, 1, 2, 3]),
        *encode_samples_with_pauses(0, 1, [4, 3]),
        made_up("samples", struct.pack("IBB2xqqq", 0, 2, 2, 0, 1, 2)),
        made_up("samples", b"\0" * 9),
        made_up("samples", b"\0\1" + b"\0" * 20),
    ],
)
def test_other_bytes_are_a_bad_frame(printed: bytes) -> None:
    with pytest.raises(BadFrame, match="not a frame"):
        decoded([printed])
