import pytest

from fstui.probes.acks import BadLog, parse

HEADER = b'{"fstui":"powercut/1","run":"00112233445566ff"}\n'


def test_a_log_knows_what_each_writer_acknowledged_and_when() -> None:
    log = parse(HEADER + b"alive 0\nack 0 8 10\nack 1 0 11\nack 0 9 20\nalive 1000\n")
    assert log.acknowledged == 3
    assert (log.writers[0].first, log.writers[0].last) == (8, 9)
    assert (log.writers[0].when(9), log.writers[1].when(0)) == (20, 11)
    assert (log.last_ms, log.heard_ms, log.ended) == (20, 1000, None)


def test_the_writers_own_end_is_told_from_a_broken_connection() -> None:
    assert parse(HEADER + b"ack 0 0 1\nend 900 stopped by SIGINT\n").ended == "stopped by SIGINT"
    assert parse(HEADER + b"ack 0 0 1\n").ended is None


def test_a_last_line_that_was_cut_off_is_not_read() -> None:
    assert parse(HEADER + b"ack 0 8 10\nack 0 9 1").writers[0].last == 8
    assert parse(HEADER + b"ack 0 8 10\nend 9").ended is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
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
    ],
)
def test_what_is_no_log_says_why(data: bytes, why: str) -> None:
    with pytest.raises(BadLog, match=why):
        parse(data)
