"""Remove what a run left behind when it was killed: directories, trace instances, databases, laboratories."""

from pathlib import Path

import msgspec

from fstui.databases import existing, programs
from fstui.databases.connections import Connection
from fstui.databases.sql import address
from fstui.measure.wire.own_directory import POWER_CUT_PREFIX, PREFIX
from fstui.model.errors import Refused
from fstui.simulate.lab import laboratory
from fstui.state import ledger
from fstui.state.ledger import delete_entry_in_child
from fstui.state.workspace import remove_left_behind
from fstui.trace import child as tracing


async def remove(entry: ledger.LedgerEntry) -> str | None:
    """Remove the file, database or other object of a ledger entry. Return None, or why it was not removed."""
    if not _belongs_to_run(entry):
        return f"{label(entry)}: not removed: run {entry.run} does not use such a name"
    removers = {
        "database": _drop,
        "server": _remove_run_directory,  # the server ends together with fstui, so only its files are left
        "trace": tracing.remove_left_behind,
        "lab": laboratory.remove_left_behind,
    }
    return await removers.get(entry.kind, remove_left_behind)(entry)


def label(entry: ledger.LedgerEntry) -> str:
    """Return the name for the user: a path, or ``database fstui_k3f9a1 on db7:3306``."""
    if entry.kind != "database":
        return entry.what
    connection = _connection(entry)
    return f"database {connection.database} on {address(connection)}" if connection else f"database {entry.what}"


def _belongs_to_run(entry: ledger.LedgerEntry) -> bool:
    """Return whether the run of the entry would have chosen this name. The user chooses the name of a laboratory."""
    path, run = Path(entry.what), entry.run
    match entry.kind:
        case "database":
            connection = _connection(entry)
            return connection is not None and connection.database == existing.database_name(run)
        case "server":
            return path.parent.name == f"{PREFIX}{run}"
        case "lab":
            return True  # the laboratory has a record of its own, which names its run
        case "trace":
            return path.name == Path(tracing.instance_path(run)).name
        case _:
            return path.name in (f"{PREFIX}{run}", f"{POWER_CUT_PREFIX}{run}")


def _connection(entry: ledger.LedgerEntry) -> Connection | None:
    try:
        return msgspec.json.decode(entry.what, type=Connection)
    except msgspec.MsgspecError:
        return None


async def _remove_run_directory(entry: ledger.LedgerEntry) -> str | None:
    directory = msgspec.structs.replace(entry, kind="directory", what=str(Path(entry.what).parent))
    problem = await remove_left_behind(directory)
    if problem is None:
        await delete_entry_in_child(entry)
    return problem


async def _drop(entry: ledger.LedgerEntry) -> str | None:
    """Drop a database with the current password, because the ledger stores none."""
    connection = _connection(entry)
    assert connection is not None
    try:
        sysbench = await programs.find_sysbench()
        connection = await existing.with_current_password(connection)
    except Refused as problem:
        return f"{label(entry)}: not dropped: {problem}"
    return await existing.drop(sysbench, connection, entry)
