"""What a database server was told when it was started: its command line, and the option files that it has read.

Names with ``_``, the last word wins, as the servers have it: https://dev.mysql.com/doc/refman/8.4/en/option-files.html,
https://www.postgresql.org/docs/current/config-setting.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from fstui.measure.helpers import within

MYSQL_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")
MYSQL_GROUPS = re.compile(r"(mysqld|server|mariadb|mariadbd)([-.]\d.*)?$")
DEEPEST = 4
"""Files that include files."""


def of(kind: str, words: list[str], data: str, root: str) -> dict[str, str]:
    """By the server's kind; ``root`` is where its own names of files begin. Empty for kinds that nobody reads here."""
    if kind in ("mysql", "mariadb"):
        return mysql(words, root)
    if kind == "postgresql":
        return postgresql(words, data, root)
    return {}


def mysql(words: list[str], root: str) -> dict[str, str]:
    given = dict(long_options(words[1:]))
    files = [given["defaults_file"]] if "defaults_file" in given else list(MYSQL_FILES)
    files += [given["defaults_extra_file"]] if "defaults_extra_file" in given else []
    told: dict[str, str] = {}
    if "no_defaults" not in given:
        for file in files:
            told |= dict(grouped(root, file, 0))
    return told | given


def grouped(root: str, file: str, depth: int) -> Iterator[tuple[str, str]]:
    """Options of the server's groups in a file, and in those that it includes."""
    group = ""
    for line in lines(root, file):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line.startswith("!include") and depth < DEEPEST:
            word, _, place = line.partition(" ")
            for included in listed(root, place.strip()) if word == "!includedir" else [place.strip()]:
                yield from grouped(root, included, depth + 1)
        elif MYSQL_GROUPS.match(group):
            name, _, value = line.partition("=")
            yield plain(name), unquoted(value.partition("#")[0])


def postgresql(words: list[str], data: str, root: str) -> dict[str, str]:
    given = dict(long_options(words[1:]))
    for flag, word in pairwise(words):
        if flag == "-c":
            name, _, value = word.partition("=")
            given[plain(name)] = value
    if "-F" in words:
        given["fsync"] = "off"
    told: dict[str, str] = {}
    for file in (given.get("config_file", f"{data}/postgresql.conf"), f"{data}/postgresql.auto.conf"):
        for line in lines(root, file):
            name, value = re.match(r"(\w*)\s*=?\s*(.*)", line).groups()  # type: ignore[union-attr]
            told[plain(name)] = unquoted(value.partition("#")[0])
    return told | given


def long_options(words: list[str]) -> Iterator[tuple[str, str]]:
    """``--name=value``; one without a value is on."""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            yield plain(name), value if equals else "ON"


def plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").removeprefix("loose_")


def unquoted(value: str) -> str:
    return value.strip().strip("'\"")


def listed(root: str, directory: str) -> list[str]:
    """The option files in it; none where it cannot be read."""
    try:
        return [f"{directory}/{name}" for name in within.names(root, directory) if name.endswith(".cnf")]
    except OSError:
        return []


def lines(root: str, file: str) -> list[str]:
    """Without comments and blanks; none of a file that cannot be read."""
    try:
        text = within.read(root, file).decode(errors="replace")
    except OSError:
        return []
    return [line for line in map(str.strip, text.split("\n")) if line and line[0] not in "#;"]
