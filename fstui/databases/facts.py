"""Read what a server reports about itself, and what /proc shows about its process, for the run document."""

import os
import re
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fstui import proc
from fstui.databases.connections import Connection, DatabaseError
from fstui.databases.sql import Family, address, client_settings, family_of, query
from fstui.measure.kinds.servers import KINDS, Server, kind_of_version
from fstui.state.workspace import HeldDirectory
from fstui.storage.process import mapped_stubs
from fstui.storage.tree import Tree

SERVERS = frozenset(program for kind in KINDS.values() for program in kind.programs) | {"postmaster"}
"""Names of the servers' processes in /proc/PID/comm."""
_CONNECT_TIMEOUT_S = 5.0
_UCRED = struct.Struct("3i")
_BOOLEANS = {"on": "1", "off": "0", "true": "1", "false": "0", "yes": "1", "no": "0"}
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?) ?([a-z]*)")
_UNITS = {
    "": 1.0, "b": 1.0, "k": 2.0**10, "kb": 2.0**10, "m": 2.0**20, "mb": 2.0**20, "g": 2.0**30, "gb": 2.0**30,
    "t": 2.0**40, "tb": 2.0**40, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
"""Factors of the units in options: https://dev.mysql.com/doc/refman/8.4/en/program-variables.html,
https://www.postgresql.org/docs/current/config-setting.html"""


async def read_facts(
    sysbench: str,
    kind: str,
    connection: Connection,
    pid: int | None,
    *,
    workspace: str,
    title: str = "",
    options: Mapping[str, Any] = MappingProxyType({}),
    directory: HeldDirectory | None = None,
    first_statements: Sequence[str] = (),
) -> Server:
    """Return the server's kind, title, location and the variables that decide its durability.

    ``workspace``: the run's directory. ``options``: the options on the server's command line. ``first_statements``:
    statements to execute before the queries. ``directory``: that of a server which fstui started, see ``query``; None
    for an existing server. Raises DatabaseError, also if an option is not in force or the server is of another kind.
    """
    family = family_of(connection)
    rows = await query(sysbench, connection, [*first_statements, *family.variable_queries(options)], directory)
    variables = {name.lower(): value for name, value in rows}
    if ignored := list(ignored_options(options, variables)):
        raise DatabaseError(f"{title or KINDS[kind].title} did not accept its options: {'; '.join(ignored)}")
    version = _version(variables)
    actual = kind_of_version(connection.driver, f"{version} {variables.get('version_comment', '')}")
    if actual != kind:
        raise DatabaseError(f"the server is {KINDS[actual].title}, not {KINDS[kind].title}: use --set server={actual}")
    # PostgreSQL reports its data directory only to an administrator, but it is also the server's working directory
    data = (variables.get("data_directory") or variables.get("datadir") or _working_directory(pid) or "").rstrip("/")
    has_known_directory = bool(data and pid)
    return Server(
        kind=kind,
        title=title or f"{KINDS[kind].title} {version.split('-')[0].split(' ')[0]}",
        where="throwaway" if directory else "existing",
        reached=address(connection),
        data_directory=data or None,
        on_target=directory is not None
        or (has_known_directory and _are_on_filesystem_of(_directories(family, pid, data, variables), workspace)),
        located=pid is not None,
        variables=dict(sorted(variables.items())),
        preloads=tuple(library.value for library in mapped_stubs(Tree(), pid)) if pid else (),
    )


def _version(variables: Mapping[str, str]) -> str:
    return variables.get("server_version") or variables.get("version", "")


def probe_settings(sysbench: str, connection: Connection, server: Server) -> dict[str, Any]:
    family = family_of(connection)
    return {
        **client_settings(sysbench, connection),
        "scripts": {name: (files(__package__) / name).read_text() for name in ("sql.lua", "schemas.lua")},
        "waits": "\n".join(family.file_io_queries(server.kind, _version(server.variables))),
    }


def server_pid(connection: Connection) -> int | None:
    """Return the pid of the server that listens on the unix socket (unix(7), SO_PEERCRED) or on a port of this host.

    Return None if the server is on another host, if this user is not allowed to see it, or if the listening process
    only forwards the connection, to a container or through a tunnel.
    """
    if connection.socket:
        pid = _socket_owner(family_of(connection).socket_path(connection))
    else:
        pid = _listener(connection.host, connection.port or family_of(connection).port)
    stat = proc.stat(pid) if pid else None
    return pid if stat and stat.name in SERVERS else None


def _socket_owner(path: str) -> int | None:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            pid: int = _UCRED.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]
            return pid or None
    except OSError:
        return None


def _listener(host: str, port: int) -> int | None:
    import psutil  # noqa: PLC0415  only needed for a server that is reached by a port

    try:
        with socket.create_connection((host, port), _CONNECT_TIMEOUT_S) as client:
            address = client.getpeername()[0]
            # a connection to this host has the same address at both ends
            if address != client.getsockname()[0]:
                return None
        listeners = [socket for socket in psutil.net_connections("tcp") if socket.status == psutil.CONN_LISTEN]
    except (OSError, psutil.Error):
        return None
    by_address = {tuple(socket.laddr): socket.pid for socket in listeners}
    # the kernel prefers the listener at the exact address
    addresses = ((address, port), ("0.0.0.0", port), ("::", port))
    return next((by_address[candidate] for candidate in addresses if candidate in by_address), None)


def _working_directory(pid: int | None) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink()) if pid else None
    except OSError:
        return None


def _directories(family: Family, pid: int | None, data: str, variables: Mapping[str, str]) -> list[str]:
    """Return the directories of the server's data and of the logs that a commit waits for.

    The paths of a server in a container differ from those of this host, so the returned paths lead through /proc/PID.
    If fstui is not permitted to do that, it assumes that the server's paths are paths of this host.
    """
    cwd, root = f"/proc/{pid}/cwd", f"/proc/{pid}/root"
    paths = [data, *(os.path.normpath(Path(data, log)) for log in family.log_directories(variables))]
    if not os.access(cwd, os.X_OK):
        return paths
    return [cwd + path.removeprefix(data) if Path(path).is_relative_to(data) else root + path for path in paths]


def _are_on_filesystem_of(directories: Iterable[str], workspace: str) -> bool:
    try:
        device = Path(workspace).stat().st_dev
        return all(Path(directory).stat().st_dev == device for directory in directories)
    except OSError:
        return False


def ignored_options(options: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[str]:
    """Yield a phrase for each option that is not in force: servers clamp and ignore options without an error."""
    for name, value in options.items():
        current = variables.get(name.lower())
        if current is not None and not _is_in_force(str(value).lower(), current.lower()):
            yield f"{name} = {value} was requested, {current} is in force"


def _is_in_force(requested: str, current: str) -> bool:
    """Return whether the server uses the requested value. This is assumed for -1, because the server then chooses the
    value, and if only the server's value has a unit. Values with unknown units are compared as text."""
    requested, current = _BOOLEANS.get(requested, requested), _BOOLEANS.get(current, current)
    requested_size, current_size = _QUANTITY.fullmatch(requested), _QUANTITY.fullmatch(current)
    if not requested_size or not current_size or {requested_size[2], current_size[2]} - _UNITS.keys():
        return requested == current
    if requested_size[1] == "-1" or (current_size[2] and not requested_size[2]):
        return True
    return float(requested_size[1]) * _UNITS[requested_size[2]] == float(current_size[1]) * _UNITS[current_size[2]]
