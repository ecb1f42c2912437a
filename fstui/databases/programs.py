"""Find sysbench and the database servers on PATH and in the usual directories, with their versions."""

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

from fstui.measure.children import NoReply, call_in_child
from fstui.measure.kinds.servers import KINDS, kind_of_version
from fstui.measure.wire.stdio import die_with_parent
from fstui.model.errors import Refused

TOOL_TIMEOUT_S = 15.0
MIN_SYSBENCH_VERSION = (1, 0)
_Result = TypeVar("_Result")
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


async def find_installed() -> Programs:
    try:
        return await _call(_find_installed)
    except NoReply:
        return NO_PROGRAMS


async def server_and_sysbench(kind: str) -> tuple[ServerProgram, str]:
    """Return both programs. Raises Refused if one was removed since the run was planned."""
    return await _call(_server_and_sysbench, kind)


async def find_sysbench() -> str:
    """Return the path of sysbench. Raises Refused if it is missing, prints no version, or is too old."""
    return await _call(_find_sysbench)


async def _call(function: Callable[..., _Result], *arguments: object) -> _Result:
    """Call a function in a child process, because a directory in PATH may hang, or a program in it."""
    return await call_in_child(function, *arguments, timeout_s=2 * TOOL_TIMEOUT_S, where="a directory in PATH")


def _find_installed() -> Programs:
    try:
        _find_sysbench()
    except Refused as refusal:
        return Programs(frozenset(), sysbench=shutil.which("sysbench") is not None, oltp_refusal=str(refusal))
    return Programs(frozenset(filter(find_server, KINDS)), sysbench=True, as_root=os.geteuid() == 0)


def find_server(kind: str) -> ServerProgram | None:
    """Return the newest server of that kind, or None. Further program names are tried only if the first has none."""
    directories = KINDS[kind].directories
    for name in KINDS[kind].programs:  # further names would cost time: mysqld --version takes a second
        if servers := list(filter(None, (_identify(kind, path) for path in _candidates(name, directories)))):
            return max(servers, key=lambda server: server.version)
    return None


def _server_and_sysbench(kind: str) -> tuple[ServerProgram, str]:
    sysbench, program = _find_sysbench(), find_server(kind)
    if program is None:
        raise Refused(why_missing(kind))
    return program, sysbench


def _find_sysbench() -> str:
    path = shutil.which("sysbench")
    if path is None:
        raise Refused(NO_SYSBENCH)
    _, text = output_of(path, "--version")
    shown = next(iter(text.strip().splitlines()), "nothing")
    version = _version(text)
    if not version:
        raise Refused(f"{path} does not print its version: {shown}")
    if version < MIN_SYSBENCH_VERSION:
        raise Refused(f"{shown} ({path}) is too old: its OLTP scripts came with 1.0. apt-get install sysbench")
    return path


def output_of(program: str, *arguments: str) -> tuple[int, str]:
    """Run a tool. Return its status (-1 after TOOL_TIMEOUT_S), and stdout and stderr in one text.

    A tool that is a script may leave its own children: ``call_in_child`` kills these.
    """
    import sh  # noqa: PLC0415  slow to import, and only needed for databases

    try:
        finished = sh.Command(program)(
            *arguments,
            _in="",
            _err_to_out=True,
            _tty_out=False,
            _ok_code=_ANY_STATUS,
            _timeout=TOOL_TIMEOUT_S,
            _preexec_fn=die_with_parent,
            _return_cmd=True,
        )
    except sh.TimeoutException:
        return -1, f"FATAL: no answer for {TOOL_TIMEOUT_S:.0f} s"
    return finished.exit_code, finished.stdout.decode(errors="replace")


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


def _identify(kind: str, path: str) -> ServerProgram | None:
    status, text = output_of(path, *KINDS[kind].version_arguments)
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
