"""Gathered directories as an SQLite database: thousands of runs, for questions that no table here answers.

``boxes`` has a row for each document, or for a box without one; ``steps`` and ``facts`` belong to a row of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from fstui.fleet import gathered
from fstui.fleet.boxes import Box
from fstui.fleet.gathered import About
from fstui.model.errors import Refused

_TABLES = """
CREATE TABLE boxes (id INTEGER PRIMARY KEY, directory TEXT, started_at TEXT, box TEXT, target TEXT, run TEXT,
    verdict TEXT, confidence TEXT, speed TEXT, sentence TEXT, layers TEXT, model TEXT, cache TEXT, kernel TEXT,
    cloud TEXT, stopped TEXT, altered INTEGER, trouble TEXT);
CREATE TABLE steps (box INTEGER REFERENCES boxes, step TEXT, per_s REAL, p99_ns INTEGER, synced INTEGER);
CREATE TABLE facts (box INTEGER REFERENCES boxes, fact TEXT, value TEXT);
"""
_MOST_INTEGER = (1 << 63) - 1
"""SQLite has no larger one; a document from another box may."""


def export(directories: Iterable[Path], file: Path) -> int:
    """Write them into a new file; the number of its boxes. Raises Refused, also where something is there already."""
    try:
        import sqlite3  # noqa: PLC0415  a Python may be built without it, and only this wants it
    except ImportError:
        raise Refused("this Python was built without SQLite") from None
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise Refused(f"{file}: {error.strerror}; name a new file") from None
    try:
        with closing(sqlite3.connect(file)) as database, database:
            database.executescript(_TABLES)
            number = 0
            for number, (row, box) in enumerate(_rows(directories), 1):
                database.execute(f"INSERT INTO boxes VALUES (?{', ?' * 17})", (number, *row))
                steps = ((number, *step) for step in _steps(box))
                database.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", steps)
                facts = ((number, fact, value) for fact, value in box.facts.items())
                database.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
            return number
    except BaseException as error:
        file.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise Refused(f"{file}: {error}") from None
        raise


def _rows(directories: Iterable[Path]) -> Iterator[tuple[tuple[object, ...], Box]]:
    for directory in directories:
        fleet = gathered.read(directory)
        silent = (Box(node=node) for node in fleet.about.troubles)
        for box in (*fleet.boxes, *silent):
            yield _row(directory, fleet.about, box), box


def _row(directory: Path, about: About, box: Box) -> tuple[object, ...]:
    judged = (box.verdict, box.confidence if box.verdict else None, box.speed, box.sentence)
    stands_on = (box.layers, box.model, box.cache, box.kernel, box.cloud)
    trouble = about.troubles.get(box.node)
    return (
        *(str(directory), about.started_at, box.node, box.place, box.run),
        *(*judged, *stands_on, box.stopped, box.altered, trouble),
    )


def _steps(box: Box) -> Iterator[tuple[object, ...]]:
    for one in box.rates:
        yield one.step, one.per_s, None if one.p99_ns is None else min(one.p99_ns, _MOST_INTEGER), one.synced
