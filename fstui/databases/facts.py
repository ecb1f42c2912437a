"""What a server says of itself, and what its process shows: kept in the run document, judged by the judge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from fstui.databases.connection import Connection
from fstui.databases.families import FAMILIES
from fstui.databases.in_force import differences
from fstui.databases.sql import DatabaseError, ask
from fstui.measure.kinds.server_kinds import KINDS
from fstui.measure.kinds.servers import Server
from fstui.storage.process import mapped_stubs


async def described(
    sysbench: str,
    kind: str,
    connection: Connection,
    pid: int | None,
    *,
    where: str,
    workspace: str,
    title: str = "",
    asked: Mapping[str, Any] = MappingProxyType({}),
    within: Sequence[str] = (),
    making: Sequence[str] = (),
) -> Server:
    """Kind, title, where it is, the variables that decide its durability.

    ``asked``: what it was started with; ``making``: statements that come first. Raises DatabaseError, also where it has
    not taken what was asked.
    """
    family = FAMILIES[kind]
    rows = await ask(sysbench, connection, [*making, *family.questions(asked)], within)
    variables = {name.lower(): value for name, value in rows}
    if refused := list(differences(asked, variables)):
        raise DatabaseError(f"{title or KINDS[kind].title} has not taken its options: {'; '.join(refused)}")
    version = variables.get("server_version") or variables.get("version", "")
    if KINDS[kind].driver == "mysql" and (found := _product(variables)) != kind:
        raise DatabaseError(f"the server is {KINDS[found].title}, not {KINDS[kind].title}: use --set server={found}")
    data = (variables.get("data_directory") or variables.get("datadir") or _working_directory(pid) or "").rstrip("/")
    return Server(
        kind=kind,
        title=title or f"{KINDS[kind].title} {version.split('-')[0].split(' ')[0]}",
        where=where,
        reached=connection.where,
        data_directory=data or None,
        on_target=where == "throwaway"
        or (bool(data and pid) and _one_filesystem(_directories(family, pid, data, variables), workspace)),
        located=pid is not None,
        variables=dict(sorted(variables.items())),
        preloads=tuple(library.value for library in mapped_stubs(pid)) if pid else (),
    )


def _product(variables: Mapping[str, str]) -> str:
    """MariaDB and MySQL share a protocol; MariaDB names itself in one of these variables."""
    named = f"{variables.get('version', '')} {variables.get('version_comment', '')}"
    return "mariadb" if "mariadb" in named.lower() else "mysql"


def asking(server: Server) -> dict[str, Any]:
    """What sysbench's probe wants to ask it on its own."""
    family = FAMILIES[server.kind]
    version = server.variables.get("server_version") or server.variables.get("version", "")
    scripts = {name: (files(__package__) / name).read_text() for name in ("sql.lua", "schemas.lua")}
    return {"scripts": scripts, "waits": "\n".join(family.waits(server.kind, version))}


def _working_directory(pid: int | None) -> str | None:
    """Of either family it is the data directory; PostgreSQL tells its own only to an administrator."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink()) if pid else None
    except OSError:
        return None


def _directories(family: ModuleType, pid: int | None, data: str, variables: Mapping[str, str]) -> list[str]:
    """Of its data, and of the logs that a commit waits for: a server in a container has names of its own for them.

    Who may not look into its process takes them for names of this box.
    """
    own, root = f"/proc/{pid}/cwd", f"/proc/{pid}/root"
    places = [data, *(os.path.normpath(Path(data, place)) for place in family.log_directories(variables))]
    if not os.access(own, os.X_OK):
        return places
    return [own + place.removeprefix(data) if _is_in(place, data) else root + place for place in places]


def _is_in(place: str, directory: str) -> bool:
    return place == directory or place.startswith(f"{directory}/")


def _one_filesystem(directories: Iterable[str], workspace: str) -> bool:
    try:
        here = Path(workspace).stat().st_dev
        return all(Path(directory).stat().st_dev == here for directory in directories)
    except OSError:
        return False
