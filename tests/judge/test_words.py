"""Words that several findings share."""

from fstui.judge import words
from fstui.model.host import Writer


def writer(name: str, written_bytes: int, pid: int = 1) -> Writer:
    return Writer(pid=pid, name=name, written_bytes=written_bytes)


def test_other_writers_are_named_the_busiest_first_and_the_kernel_s_workers_last() -> None:
    found = [writer("kworker/u8:4+loop4", 900), writer("mysqld", 10), writer("mysqld", 20), writer("kworker/0:1", 90)]
    assert words.writers(found) == "mysqld (2 of them) and kworker (2 of them)"
    assert words.writers([*found, writer("sh", 50)]) == "sh, mysqld (2 of them) and kworker (2 of them)"
