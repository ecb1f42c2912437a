"""One request to many hosts: look at each, carry the file where it is missing, run, gather the documents."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from fstui.fleet import answers, gathered, remote
from fstui.fleet.answers import Said
from fstui.fleet.asked import Asked
from fstui.fleet.boxes import Box, boxes_of
from fstui.fleet.fanout import Fanout, line_of
from fstui.fleet.gathered import About, Fleet
from fstui.model.errors import Refused

LOOK_S = 30.0
"""Seconds for the first connection to a host: the others wait for it."""
_STOPPED = "stopped before it was asked"
_ENDED = ("0", "1", "3", "129", "130", "143")
"""Exit statuses with which fstui prints a document."""
_LONGEST_PATH = 4096


class Campaign:
    """One request, and the answers so far."""

    def __init__(
        self,
        asked: Asked,
        nodes: Iterable[str],
        directory: Path,
        file: Path | None,
        heard: Callable[[str, str], object],
    ) -> None:
        """``heard`` is called with each host that has answered and its answer in a few words."""
        self._asked = asked
        self._directory = directory
        self._file = file
        self._digest = _digest(file) if file else ""
        self._mark = f"fstui-fleet-{secrets.token_hex(8)}"
        self._places: dict[str, str] = {}
        self._to_copy: list[str] = []
        self._began = time.monotonic()
        self._started_at = datetime.now().astimezone().isoformat(timespec="seconds")
        self._heard = heard
        self._nodes = tuple(nodes)
        self._boxes: list[Box] = []
        self._troubles: dict[str, str] = {}
        self._remarks: dict[str, str] = {}
        self.fanout = Fanout(asked)

    def go(self) -> Fleet:
        """Ask all hosts and save their documents in the directory. Raises OSError."""
        asked, mark, digest = self._asked, self._mark, self._digest
        if asked.installed:
            self._places = dict.fromkeys(self._nodes, "")
        else:
            looking = line_of(asked, remote.look(asked, mark, digest))
            look_s = min(LOOK_S, asked.timeout_s)
            self.fanout.each(dict.fromkeys(self._nodes, looking), self._looked, timeout_s=look_s)
            copying = line_of(asked, remote.receive(asked, mark, digest), self._file)
            self.fanout.each(dict.fromkeys(self._to_copy, copying), self._copied, timeout_s=asked.timeout_s)
        lines = {place: line_of(asked, remote.run(asked, mark, digest, place)) for place in set(self._places.values())}
        running = {node: lines[place] for node, place in self._places.items()}
        self.fanout.each(running, self._ran, timeout_s=asked.timeout_s)
        return self._concluded()

    def _trouble(self, node: str, words: str) -> None:
        self._troubles[node] = words
        self._heard(node, words)

    def _looked(self, node: str, said: Said) -> None:
        if not answers.trouble(said, self._mark) and said.word(self._mark, "copy") is not None:
            self._to_copy.append(node)
        else:
            self._copied(node, said)

    def _copied(self, node: str, said: Said) -> None:
        place = said.word(self._mark, "ready") or ""
        if trouble := answers.trouble(said, self._mark):
            self._trouble(node, trouble)
        elif place.startswith("/") and len(place) < _LONGEST_PATH:
            self._places[node] = place
        else:
            self._trouble(node, "what it answers makes no sense")

    def _ran(self, node: str, said: Said) -> None:
        document = said.document(self._mark)
        trouble = "" if document and said.code == 0 else answers.trouble(said, self._mark)
        if not trouble and not document:
            trouble = answers.refusal(said, self._mark)
        if trouble or document is None:
            self._trouble(node, trouble)
            return
        try:
            found = boxes_of(node, self._asked.command, document)
        except Refused as refusal:
            self._trouble(node, f"what it answered is no document: {str(refusal)[:200]}")
            return
        gathered.keep(self._directory, node, document)
        self._boxes += found
        if not found or said.word(self._mark, "end") not in _ENDED:
            self._remarks[node] = answers.refusal(said, self._mark)
        self._heard(node, ", ".join(dict.fromkeys(box.verdict or box.sentence for box in found)))

    def _concluded(self) -> Fleet:
        answered = {box.node for box in self._boxes} | self._remarks.keys() | self._troubles.keys()
        about = About(
            command=self._asked.command,
            arguments=self._asked.arguments,
            started_at=self._started_at,
            elapsed_s=time.monotonic() - self._began,
            nodes=self._nodes,
            troubles=self._troubles | {node: _STOPPED for node in self._nodes if node not in answered},
            remarks=self._remarks,
        )
        gathered.conclude(self._directory, about)
        return Fleet(about=about, boxes=tuple(self._boxes))


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise Refused(f"--pyz {file}: {error.strerror}") from None
