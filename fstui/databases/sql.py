"""SQL without a client program: sysbench speaks to either kind of server, and is needed anyway."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from fstui.databases.connection import Connection
from fstui.databases.programs import output_of

_FATAL = re.compile(r"^(?:FATAL|ALERT): (.*)$", re.MULTILINE)
_NO_REASON = re.compile(r"`.*' function failed: |failed query was: ")
_LED_UP = re.compile(r"error |PQ\w+\(\) failed: \d+ |Connection to database failed: (?:.*FATAL:  )?")
"""What sysbench and libpq put before the server's own words."""


class DatabaseError(Exception):
    """What the server or the way to it said, in a sentence."""


async def ask(
    program: str, connection: Connection, statements: Sequence[str], within: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """Run the statements, each of one line; the rows of all of them. Raises DatabaseError.

    ``within``: the words before sysbench's, for a server whose socket is reached from the run's directory alone.
    """
    with as_file(files(__package__) / "sql.lua") as script, TemporaryDirectory(prefix="fstui-") as directory:
        _lay_out(connection.tls_files(), directory)
        first, *words = (*within, program)
        status, text = await output_of(
            first,
            *words,
            str(script),
            *connection.words(),
            "--config-file=/dev/stdin",
            "ask",
            stdin=connection.secrets(),
            directory=directory if connection.tls else None,
            environment={"FSTUI_SQL": "\n".join(statements), **connection.environment()},
        )
    if status:
        raise DatabaseError(said(text) or f"sysbench ended with status {status}")
    return [tuple(line.split("\t")[1:]) for line in text.splitlines() if line.startswith("row\t")]


def _lay_out(files: Mapping[str, str], directory: str) -> None:
    for name, path in files.items():
        Path(directory, name).symlink_to(path)


def said(text: str) -> str:
    """The reason in sysbench's own output: the last FATAL line that is not about its script or the statement."""
    reasons = [reason for reason in _FATAL.findall(text) if not _NO_REASON.match(reason)]
    return _LED_UP.sub("", reasons[-1], count=1) if reasons else ""
