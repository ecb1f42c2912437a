"""SQL without a client program: sysbench speaks to either kind of server, and is needed anyway."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import as_file, files

from fstui.databases.connection import Connection
from fstui.databases.programs import output_of
from fstui.quantities import plain

_FATAL = re.compile(r"^(?:FATAL|ALERT): (.*)$", re.MULTILINE)
_OWN = re.compile(r"^`.*' function failed: ")


class DatabaseError(Exception):
    """What the server or the way to it said, in a sentence."""


async def ask(program: str, connection: Connection, statements: Sequence[str]) -> list[tuple[str, ...]]:
    """Run the statements, each of one line; the rows of all of them. Raises DatabaseError."""
    with as_file(files(__package__) / "sql.lua") as script:
        status, text = await output_of(
            program,
            str(script),
            *connection.words(),
            "--config-file=/dev/stdin",
            "ask",
            stdin=connection.secrets(),
            environment={"FSTUI_SQL": "\n".join(statements), **connection.environment()},
        )
    if status:
        raise DatabaseError(said(text) or f"sysbench ended with status {status}")
    return [tuple(line.split("\t")[1:]) for line in text.splitlines() if line.startswith("row\t")]


def said(text: str) -> str:
    """The reason in sysbench's own output: the last FATAL line that is not about its script."""
    reasons = [reason for reason in _FATAL.findall(text) if not _OWN.match(reason)]
    return plain(reasons[-1].removeprefix("error ")) if reasons else ""
