import pytest

from fstui.powercut.log import MAX_HEADER, MAX_LINE, BadLog, parse

HEADER = b'{"fstui":"powercut/1","run":"00112233445566ff"}\n'


def test_log_contains_acknowledgements_and_times() -> None:
    log = parse(HEADER + b"alive 0\nack 0 8 10\nack 1 0 11\nack 0 9 20\nalive 1000\n")
    assert log.ack_count == 3
    assert (log.writers[0].first_sequence, log.writers[0].last_sequence) == (8, 9)
    assert (log.writers[0].time_ms(9), log.writers[1].time_ms(0)) == (20, 11)
    assert (log.last_ms, log.end_reason) == (20, None)


def test_writers_end_differs_from_a_broken_connection() -> None:
    assert parse(HEADER + b"ack 0 0 1\nend 900 stopped by SIGINT\n").end_reason == "stopped by SIGINT"
    assert parse(HEADER + b"ack 0 0 1\n").end_reason is None


def test_last_incomplete_line_is_not_parsed() -> None:
    assert parse(HEADER + b"ack 0 8 10\nack 0 9 1").writers[0].last_sequence == 8
    assert parse(HEADER + b"ack 0 8 10\nend 9").end_reason is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "received no acknowledgement"),
        (HEADER[:20], "within its first line"),
        (b"\n", "header"),
        (b"ack 0 1 2\n", "header"),
        (b"Welcome to db7\n" + HEADER, "Welcome to db7"),
        (b'{"schema": "fstui.run/1"}\n', "header"),
        (b"[1]\n", "header"),
        (b'{"fstui":"powercut/9"}\n', "powercut/9"),
        (HEADER + b"ack 0 1 5\nack 0 3 6\n", "line 3.*lines are missing"),
        (HEADER + b"ack 0 1 5\nack 0 1 6\n", "line 3.*lines are missing"),
        (HEADER + b"ack 0 1\n", "line 2"),
        (HEADER + b"ack 0 x 1\n", "line 2"),
        (HEADER + b"\xff\x1b[2J\n", "line 2"),
        (HEADER + b"ack 0 0 1\n\nack 0 1 1\n", "line 3"),
        (HEADER + b"ack 0 1024 " + b"9" * 19 + b"\n", "line 2"),
        (HEADER + b"ack 0 1024 " + b"9" * 5000 + b"\n", "line 2"),
        (HEADER + b"ack 0 " + b"9" * 19 + b" 1\n", "line 2"),
        (HEADER + b"ack -1 0 1\n", "line 2"),
        (HEADER + b"ack 0 -1 1\n", "line 2"),
        (HEADER + b"ack 0 0 -1\n", "line 2"),
        (HEADER + b"ack 0 1_0 1\n", "line 2"),
        (HEADER + b"ack 0 0 1 1\n", "line 2"),
        (HEADER + b"alive\n", "line 2"),
        (HEADER + b"alive -1\n", "line 2"),
        (HEADER + b"end soon\n", "line 2"),
        (HEADER + b"end 1 " + b"x" * MAX_LINE + b"\n", "line 2"),
        (b"[" * 100_000 + b"\n", "header"),
        (b'{"fstui":"powercut/1","run":' + b"9" * 5000 + b"}\n", "header"),
        (b'{"fstui":"powercut/1","run":"' + b"x" * MAX_HEADER + b'"}\n', "header"),
    ],
)
def test_invalid_log_has_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(BadLog, match=why):
        parse(data)
