"""Find sysbench and the database servers on PATH and in the usual directories, with their versions."""

import asyncio
import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from fstui.measure.kinds.servers import KINDS, kind_of_version
from fstui.model.errors import Refused

TOOL_TIMEOUT_S, _KILL_TIMEOUT_S = 15.0, 1.0
MIN_SYSBENCH_VERSION = (1, 0)
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")


def why_missing(kind: str) -> str:
    return f"{KINDS[kind].title} is not installed (package: {KINDS[kind].package})"


NO_SYSBENCH = "sysbench is not installed: apt-get install sysbench"


class ServerProgram(NamedTuple):
    kind: str
    path: str
    title: str
    """``MariaDB 10.11.19``, ``Percona Server 8.0.36``."""
    version: tuple[int, ...]


class Programs(NamedTuple):
    servers: frozenset[str]
    sysbench: bool
    oltp_refusal: str | None = None
    """Why sysbench cannot drive a server, as a sentence for the user."""
    as_root: bool = True
    """fstui runs as root and may mount filesystems."""


_ANY_STATUS = tuple(range(-64, 256))
"""All exit statuses and signals: the caller decides what they mean."""
ALL_PROGRAMS = Programs(servers=frozenset(KINDS), sysbench=True)
NO_PROGRAMS = Programs(frozenset(), sysbench=False, oltp_refusal="sysbench cannot be found: a directory in PATH hangs")


async def _find_installed() -> Programs:
    try:
        await find_sysbench()
    except Refused as refusal:
        return Programs(frozenset(), sysbench=shutil.which("sysbench") is not None, oltp_refusal=str(refusal))
    servers = await asyncio.gather(*map(find_server, KINDS))
    return Programs(frozenset(server.kind for server in servers if server), sysbench=True, as_root=os.geteuid() == 0)


def find_installed() -> Programs:
    """Find the installed programs. Call this in a child process, because a directory in PATH may hang."""
    return asyncio.run(_find_installed())


async def find_server(kind: str) -> ServerProgram | None:
    """Return the newest server of that kind, or None. Further program names are tried only if the first has none."""
    directories = KINDS[kind].directories
    for name in KINDS[kind].programs:  # further names would cost time: mysqld --version takes a second
        if servers := [server for path in _candidates(name, directories) if (server := await _identify(kind, path))]:
            return max(servers, key=lambda server: server.version)
    return None


async def server_and_sysbench(kind: str) -> tuple[ServerProgram, str]:
    """Return both programs. Raises Refused if one was removed since the run was planned."""
    sysbench, program = await find_sysbench(), await find_server(kind)
    if program is None:
        raise Refused(why_missing(kind))
    return program, sysbench


async def find_sysbench() -> str:
    """Return the path of sysbench. Raises Refused if it is missing, prints no version, or is too old."""
    path = shutil.which("sysbench")
    if path is None:
        raise Refused(NO_SYSBENCH)
    _, text = await output_of(path, "--version")
    shown = next(iter(text.strip().splitlines()), "nothing")
    version = _version(text)
    if not version:
        raise Refused(f"{path} does not print its version: {shown}")
    if version < MIN_SYSBENCH_VERSION:
        raise Refused(f"{shown} ({path}) is too old: its OLTP scripts came with 1.0. apt-get install sysbench")
    return path


async def output_of(program: str, *arguments: str) -> tuple[int, str]:
    """Run a tool. Return its status (-1 after TOOL_TIMEOUT_S), and stdout and stderr in one text."""
    import sh  # noqa: PLC0415  slow to import, and only needed for databases

    try:
        running = sh.Command(program)(
            *arguments,
            _in="",
            _err_to_out=True,
            _tty_out=False,
            _new_session=True,
            _ok_code=_ANY_STATUS,
            _bg=True,
            _bg_exc=False,
        )
    except sh.CommandNotFound:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program) from None
    # ``await running`` would check only once a second whether a tool that has closed its output has ended
    waiting = asyncio.ensure_future(asyncio.to_thread(running.wait))
    try:
        async with asyncio.timeout(TOOL_TIMEOUT_S):
            await asyncio.shield(waiting)
    except TimeoutError:
        return -1, f"FATAL: no answer for {TOOL_TIMEOUT_S:.0f} s"
    finally:
        if not waiting.done():
            with contextlib.suppress(ProcessLookupError):
                running.kill_group()
            await asyncio.wait({waiting}, timeout=_KILL_TIMEOUT_S)
    return running.exit_code, running.stdout.decode(errors="replace")


def _candidates(name: str, directories: Iterable[str]) -> list[str]:
    """Return the distinct programs of that name: first those on PATH, then those in ``directories`` (glob patterns)."""
    paths: dict[str, str] = {}
    usual_directories = (
        match for pattern in directories for match in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
    )
    for directory in (*map(Path, os.get_exec_path()), *usual_directories):
        path = directory / name
        if os.access(path, os.X_OK) and path.is_file():
            paths.setdefault(str(path.resolve()), str(path))  # a symbolic link is the same program as its target
    return list(paths)


async def _identify(kind: str, path: str) -> ServerProgram | None:
    status, text = await output_of(path, *KINDS[kind].version_arguments)
    if status:
        return None
    # a program named mysqld may be MariaDB's; the text before "Ver" is the path
    if kind_of_version(KINDS[kind].driver, text.partition(" Ver ")[2] or text) != kind:
        return None
    version = _version(text)
    title = "Percona Server" if "Percona" in text else KINDS[kind].title
    return ServerProgram(kind, path, f"{title} {'.'.join(map(str, version))}", version)


def _version(text: str) -> tuple[int, ...]:
    match = _VERSION.search(text)
    return tuple(map(int, match[1].split("."))) if match else ()
