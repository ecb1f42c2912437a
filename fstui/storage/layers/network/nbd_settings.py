"""What nbd-server was told of syncs (nbd-server(5)): ``sync`` makes each write durable before it is answered.

Read where the server reads it: the file that its command line names, else the usual one, and those of its
``includedir``; only where all of them are older than the server, and mean the same files to it as to us.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fstui.model.storage import Node, Reading
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import claims, processes
from fstui.storage.layers.sources.claims import Command, Question
from fstui.storage.layers.sources.files import Tree, integer

_SETTINGS = "server_settings"
_USUAL = "/etc/nbd-server/config"
_PROGRAM = "nbd-server"
_LINE = re.compile(r"\s*(?:\[(.*)\]|([\w ]+?)\s*=\s*(.*?))\s*")
_YES = frozenset({"true", "1"})


def changed(path: str) -> Command:
    """When the file was written or put there, in seconds."""
    return ("stat", "--dereference", "--format=%Z", "--", path)


def questions(node: Node) -> Iterator[Question]:
    """When the settings of its server were written."""
    settings = (reading.value for reading in node.readings if reading.what == _SETTINGS)
    return (Question(changed(path), root=True) for path in settings)


def readings(sources: Sources, server: str, program: str, file: str) -> Iterator[Reading]:
    """``server_settings``, and ``server_syncs`` of a server that offers no flush."""
    settings, said = _settings(sources.tree, server, file) if program == _PROGRAM else ((), None)
    yield from (Reading(what=_SETTINGS, value=each, path=f"/proc/{server}/cmdline") for each in settings)
    older = said is not None and _older(sources, server, settings)
    yield Reading(what="server_syncs", value=said if older and said else "unknown", path=" ".join(settings) or file)


def _settings(tree: Tree, server: str, file: str) -> tuple[tuple[str, ...], str | None]:
    """The files and directories that it read, and whether they have it sync that file at each write."""
    words = processes.words(tree, server)
    if file in words[1:]:  # told on the command line, which has no such option
        return (), "no"
    path = _named(words)
    if not path.startswith("/") or not processes.sees_our_files(tree, server):
        return (), None
    first = tree.text(path)
    if first is None:
        return (), None
    sections = list(_sections(first))
    directories = [each["includedir"] for each in sections if "includedir" in each]
    more = [f"{home.rstrip('/')}/{name}" for home in directories for name in tree.names(home) if name.endswith(".conf")]
    texts = [tree.text(each) for each in more]
    if None in texts:
        return (), None
    sections += [each for text in texts for each in _sections(text or "")]
    told = {each.get("sync", "").lower() in _YES for each in sections if each.get("exportname") == file}
    return (path, *directories, *more), ("each write" if told.pop() else "no") if len(told) == 1 else None


def _older(sources: Sources, server: str, settings: Sequence[str]) -> bool:
    """Than the server that read them: the first of its line, of which each client has a child."""
    tree, first = sources.tree, server
    while processes.program(tree, above := processes.parent(tree, first)) == _PROGRAM:
        first = above
    started = processes.started_s(tree, first)
    times = [integer((claims.answer(sources.claims, changed(each)) or "").strip()) for each in settings]
    return started is not None and all(each is not None and each < started for each in times)


def _named(words: Sequence[str]) -> str:
    for place, word in enumerate(words):
        if word in ("-C", "--config-file"):
            return words[place + 1] if len(words) > place + 1 else ""
        if word.startswith(("-C", "--config-file=")):
            return word.removeprefix("--config-file=").removeprefix("-C")
    return _USUAL


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Their settings, by name."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        told = _LINE.fullmatch(line)
        if told and told[1] is not None:
            yield found
            found = {}
        elif told:
            found[told[2]] = told[3]
    yield found
