"""The programs that a database wants: found on PATH and in the distributions' usual places, and asked who they are."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from fstui.measure.kinds.server_kinds import KINDS, MARIADB
from fstui.model.errors import Refused

ANSWER_S = 15.0
LEAST_SYSBENCH = (1, 0)
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")


def missing(kind: str) -> str:
    """Of a server that is not installed."""
    return f"{KINDS[kind].title} is not installed: apt-get install {KINDS[kind].package}"


NO_SYSBENCH = "sysbench is not installed: apt-get install sysbench"


class Program(NamedTuple):
    """An installed server."""

    kind: str
    path: str
    title: str
    """``MariaDB 10.11.19``, ``Percona Server 8.0.36``."""
    version: tuple[int, ...]


class Installed(NamedTuple):
    """Which of the programs that database steps want are here."""

    servers: frozenset[str]
    """By kind."""
    sysbench: bool
    no_oltp: str | None = None
    """Why sysbench cannot drive a server: the sentence for the user."""
    as_root: bool = True
    """We are, and may mount."""


_ANY_END = tuple(range(-64, 256))
"""Exit statuses and signals: however a tool ends is its caller's affair."""
EVERYTHING = Installed(servers=frozenset(KINDS), sysbench=True)
NOTHING = Installed(frozenset(), sysbench=False, no_oltp="sysbench cannot be found: a directory in PATH hangs")


async def installed() -> Installed:
    """What is installed here, now."""
    try:
        await find_sysbench()
    except Refused as refusal:
        return Installed(frozenset(), sysbench=shutil.which("sysbench") is not None, no_oltp=str(refusal))
    found = await asyncio.gather(*map(find_server, KINDS))
    return Installed(frozenset(program.kind for program in found if program), sysbench=True, as_root=os.geteuid() == 0)


def look() -> Installed:
    """The same, for a child: a directory in PATH may hang."""
    return asyncio.run(installed())


async def find_server(kind: str) -> Program | None:
    """The newest one of that kind, by its own name before by one that others have too; None where none is installed."""
    places = KINDS[kind].places
    for name in KINDS[kind].programs:  # a mysqld takes a second to say its version
        if found := [program for path in _candidates(name, places) if (program := await _identified(kind, path))]:
            return max(found, key=lambda program: program.version)
    return None


async def find_sysbench() -> str:
    """Its path. Raises Refused where it is missing, does not answer, or is too old."""
    path = shutil.which("sysbench")
    if path is None:
        raise Refused(NO_SYSBENCH)
    _, text = await output_of(path, "--version")
    shown = next(iter(text.strip().splitlines()), "nothing")
    version = _version_in(text)
    if not version:
        raise Refused(f"{path} does not say its version: {shown}")
    if version < LEAST_SYSBENCH:
        raise Refused(f"{shown} ({path}) is too old: its OLTP scripts came with 1.0. apt-get install sysbench")
    return path


async def output_of(
    program: str,
    *arguments: str,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
) -> tuple[int, str]:
    """Run a tool to its end, in that directory: status, stdout and stderr together. Ended after 15 s, status -1."""
    import sh  # noqa: PLC0415  it takes longer to import than most of us: only where a database is wanted

    try:
        running = sh.Command(program)(
            *arguments,
            _in=stdin,
            _env={**os.environ, **(environment or {})},
            _cwd=directory,
            _err_to_out=True,
            _tty_out=False,
            _new_session=True,
            _ok_code=_ANY_END,
            _bg=True,
            _bg_exc=False,
        )
    except sh.CommandNotFound:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program) from None
    # sh's own await looks once a second whether a tool that has closed its output has ended too
    ending = asyncio.ensure_future(asyncio.to_thread(running.wait))
    try:
        async with asyncio.timeout(ANSWER_S):
            await asyncio.shield(ending)
    except TimeoutError:
        return -1, f"FATAL: no answer for {ANSWER_S:.0f} s"
    finally:
        if not ending.done():  # nobody waits for it any longer
            with contextlib.suppress(ProcessLookupError):
                running.kill_group()
    return running.exit_code, running.stdout.decode(errors="replace")


def _candidates(name: str, places: Iterable[str]) -> list[str]:
    """Distinct programs, in the order of the places; symbolic links count as what they lead to."""
    found: dict[str, str] = {}
    usual = (match for place in places for match in sorted(Path("/").glob(place.lstrip("/")), reverse=True))
    for directory in (*map(Path, os.get_exec_path()), *usual):
        path = directory / name
        if os.access(path, os.X_OK) and path.is_file():
            found.setdefault(str(path.resolve()), str(path))
    return list(found)


async def _identified(kind: str, path: str) -> Program | None:
    status, text = await output_of(path, *KINDS[kind].version_arguments)
    if status:
        return None
    if (MARIADB.title in text) != (KINDS[kind] is MARIADB):  # it has a program of the name of MySQL's, too
        return None
    version = _version_in(text)
    title = "Percona Server" if "Percona" in text else KINDS[kind].title
    return Program(kind, path, f"{title} {'.'.join(map(str, version))}", version)


def _version_in(text: str) -> tuple[int, ...]:
    match = _VERSION.search(text)
    return tuple(map(int, match[1].split("."))) if match else ()
