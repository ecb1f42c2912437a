"""What a killed run left: its directories, and its database on an existing server."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fstui.databases import existing, programs
from fstui.databases.connection import Connection
from fstui.model import Refused
from fstui.quantities import plain
from fstui.state import ledger
from fstui.workspace import remove_left_behind


async def remove(entry: ledger.Entry) -> str | None:
    """Remove what an entry names. Returns None, or the sentence that says why it is still there."""
    if entry.kind == "database":
        return await _drop(entry)
    if entry.kind == "server":
        return await _with_its_directory(entry)  # it died with its keeper; its files are in the run's directory
    return await remove_left_behind(entry)


async def _with_its_directory(entry: ledger.Entry) -> str | None:
    directory = msgspec.structs.replace(entry, kind="directory", what=str(Path(entry.what).parent))
    problem = await remove_left_behind(directory)
    if problem is None:
        ledger.settled(entry)
    return problem


async def _drop(entry: ledger.Entry) -> str | None:
    """With the password of now: none is kept."""
    try:
        connection = msgspec.json.decode(entry.what, type=Connection)
        sysbench = await programs.find_sysbench()
    except (msgspec.MsgspecError, Refused) as problem:
        return f"database {plain(entry.what)}: not dropped: {plain(str(problem))}"
    return await existing.drop(sysbench, existing.with_password(connection), entry)
