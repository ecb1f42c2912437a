"""The options with which a database server was started, from its command line and its option files.

Option names use underscores. As in the servers, the last value of an option wins:
https://dev.mysql.com/doc/refman/8.4/en/option-files.html, https://www.postgresql.org/docs/current/config-setting.html
"""

import ctypes
import errno
import os
import re
import stat
from collections.abc import Iterator
from itertools import pairwise

MYSQL_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")
MYSQL_GROUP = re.compile(r"(mysqld|server|mariadb|mariadbd)([-.]\d.*)?$")
MAX_DEPTH = 4
"""Maximum depth of includes, because files may include each other."""
MAX_BYTES = 1 << 20
OPENAT2, RESOLVE_NO_MAGICLINKS, RESOLVE_IN_ROOT = 437, 0x02, 0x10
"""The system call has the same number on every architecture (openat2(2), Linux 5.6)."""


def options(driver: str, argv: list[str], data_directory: str, root: str) -> dict[str, str]:
    """Return the options of a server by name, from its command line and its files. ``root``: its root directory."""
    if driver == "mysql":
        return mysql_options(argv, root)
    return postgresql_options(argv, data_directory, root) if driver == "pgsql" else {}


def mysql_options(argv: list[str], root: str) -> dict[str, str]:
    from_argv = dict(parse_long_options(argv[1:]))
    files = [from_argv["defaults_file"]] if "defaults_file" in from_argv else list(MYSQL_FILES)
    files += [from_argv["defaults_extra_file"]] if "defaults_extra_file" in from_argv else []
    values: dict[str, str] = {}
    if "no_defaults" not in from_argv:
        for file in files:
            values |= dict(read_server_groups(root, file, 0))
    return values | from_argv


def read_server_groups(root: str, file: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the options in the groups for the server, such as [mysqld], in a file and in the files that it includes."""
    group = ""
    for line in read_lines(root, file):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line.startswith("!include") and depth < MAX_DEPTH:
            word, _, path = line.partition(" ")
            files = find_option_files(root, path.strip()) if word == "!includedir" else [path.strip()]
            for included_file in files:
                yield from read_server_groups(root, included_file, depth + 1)
        elif MYSQL_GROUP.match(group):
            name, _, value = line.partition("=")
            yield normalize(name), unquote(value.partition("#")[0])


def postgresql_options(argv: list[str], data_directory: str, root: str) -> dict[str, str]:
    from_argv = dict(parse_long_options(argv[1:]))
    for flag, word in pairwise(argv):
        if flag == "-c":
            name, _, value = word.partition("=")
            from_argv[normalize(name)] = value
    if "-F" in argv:  # short for fsync=off
        from_argv["fsync"] = "off"
    values: dict[str, str] = {}
    main_file = from_argv.get("config_file", f"{data_directory}/postgresql.conf")
    for file in (main_file, f"{data_directory}/postgresql.auto.conf"):
        for line in read_lines(root, file):
            name, value = re.match(r"(\w*)\s*=?\s*(.*)", line).groups()  # type: ignore[union-attr]
            values[normalize(name)] = unquote(value.partition("#")[0])
    return values | from_argv


def parse_long_options(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each ``--name=value``. The value of ``--name`` is ON."""
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield normalize(name), value if equals else "ON"


def normalize(name: str) -> str:
    return name.strip().lower().replace("-", "_").removeprefix("loose_")


def unquote(value: str) -> str:
    return value.strip().strip("'\"")


def find_option_files(root: str, directory: str) -> list[str]:
    try:
        fd = open_in_root(root, directory)
        try:
            names = sorted(os.listdir(f"/proc/self/fd/{fd}"))
        finally:
            os.close(fd)
    except OSError:
        return []
    return [f"{directory}/{name}" for name in names if name.endswith(".cnf")]


def read_lines(root: str, file: str) -> list[str]:
    try:
        fd = open_in_root(root, file)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):  # opening a FIFO would hang
                return []
            with open(f"/proc/self/fd/{fd}", "rb") as stream:
                text = stream.read(MAX_BYTES).decode(errors="replace")
        finally:
            os.close(fd)
    except OSError:
        return []
    return [line for line in map(str.strip, text.split("\n")) if line and line[0] not in "#;"]


def open_in_root(root: str, path: str) -> int:
    """Open a path (O_PATH) below the root directory of a container. Raises OSError, also if the path is relative.

    Symbolic links never lead out of the container, even if a process in the container changes them at that moment.
    Before Linux 5.6, the call fails with ENOSYS.
    """
    if not path.startswith("/"):
        raise OSError(errno.EINVAL, "it is relative to an unknown directory", path)
    root_fd = os.open(root or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
        libc = ctypes.CDLL(None, use_errno=True)
        fd: int = libc.syscall(OPENAT2, root_fd, os.fsencode(path), how, ctypes.sizeof(how))
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        return fd
    finally:
        os.close(root_fd)
