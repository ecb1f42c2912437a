"""A question to many boxes: look at each, carry the file where it is missing, run, gather."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from fstui.fleet import answers, gathered, remote
from fstui.fleet.answers import Said
from fstui.fleet.asked import Asked
from fstui.fleet.boxes import Box, boxes_of
from fstui.fleet.fanout import Fanout
from fstui.fleet.gathered import About, Fleet
from fstui.fleet.ssh import Ssh
from fstui.model.errors import Refused

Phase = Literal["waiting", "looking", "copying", "running", "done", "trouble"]
LOOK_S = 30.0
"""So long the first look at a box may take: the others wait for it."""
_STOPPED = "stopped before it was asked"
_ENDED = ("0", "1", "3", "129", "130", "143")
"""Exit statuses of fstui beside which there is a document."""


class State(NamedTuple):
    """Where one box is."""

    phase: Phase
    since: float
    words: str = ""


class Campaign:
    """One question, and what has been answered so far."""

    def __init__(
        self, asked: Asked, nodes: Iterable[str], directory: Path, file: Path | None, tick: Callable[[], object]
    ) -> None:
        self._asked = asked
        self._directory = directory
        self._file = file
        self._digest = _digest(file) if file else ""
        self._mark = f"fstui-fleet-{secrets.token_hex(8)}"
        self._stands: dict[str, tuple[str, ...]] = {}
        self._to_copy: list[str] = []
        self._ready: list[str] = []
        self._began = time.monotonic()
        self._started_at = datetime.now().astimezone().isoformat(timespec="seconds")
        self._remarks: dict[str, str] = {}
        self._shut: dict[str, str] = {}
        self._ssh = Ssh(asked, directory)
        self.boxes: list[Box] = []
        self.states = {node: State("waiting", self._began) for node in nodes}
        self.fanout = Fanout(asked, tick)

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def go(self) -> Fleet:
        """Ask all of them; the documents are in the directory then. Raises OSError where that cannot be written."""
        try:
            self._open_gateways()
            reached = [node for node, state in self.states.items() if state.phase != "trouble"]
            if self._asked.installed and not self._asked.directory:
                self._ready = reached
            else:
                self._each(reached, remote.look, "looking", self._looked)
                self._each(self._to_copy, remote.receive, "copying", self._copied, self._file)
            for wave in waves({node: self._stands.get(node, ()) for node in self._ready}, self._asked.at_once):
                self._each(wave, remote.run, "running", self._ran)
        finally:
            self._ssh.close()
        return self._concluded()

    def _open_gateways(self) -> None:
        """Those that are reached from here first; where one fails, all behind it are in trouble."""
        chains = {way[:depth] for way in self._asked.hops.values() for depth in range(1, len(way) + 1)}
        for depth in sorted(set(map(len, chains))):
            open_ = [chain for chain in chains if len(chain) == depth and not self._shut.keys() & set(chain)]
            lines = {chain[-1]: self._ssh.opened(chain) for chain in open_}
            self.fanout.each(lines, lambda _: None, self._opened, timeout_s=LOOK_S)
        for node, way in self._asked.hops.items():
            if gateway := next((one for one in way if one in self._shut), None):
                self._now(node, "trouble", f"its gateway {gateway}: {self._shut[gateway]}")

    def _opened(self, gateway: str, said: Said) -> None:
        if said.code != 0 and not self.fanout.stopped:
            self._shut[gateway] = answers.no_connection(said)

    def _each(
        self,
        nodes: Iterable[str],
        script: Callable[[Asked, str, str], str],
        phase: Phase,
        heard: Callable[[str, Said], None],
        stdin: Path | None = None,
    ) -> None:
        told = script(self._asked, self._mark, self._digest)
        ways = {node: self._asked.hops.get(node, ()) for node in nodes}
        by_way = {way: self._ssh.to(way, told, stdin) for way in set(ways.values())}
        timeout_s = min(LOOK_S, self._asked.timeout_s) if phase == "looking" else self._asked.timeout_s
        began = partial(self._now, phase=phase)
        self.fanout.each({node: by_way[way] for node, way in ways.items()}, began, heard, timeout_s=timeout_s)

    def _now(self, node: str, phase: Phase, words: str = "") -> None:
        self.states[node] = State(phase, time.monotonic(), words)

    def _looked(self, node: str, said: Said) -> None:
        if self._is_troubled(node, said):
            return
        self._stands[node] = tuple(
            line.removeprefix("stands ")[:200] for line in said.lines(self._mark) if line.startswith("stands ")
        )
        self._now(node, "waiting")
        (self._ready if said.word(self._mark, "ready") is not None else self._to_copy).append(node)

    def _copied(self, node: str, said: Said) -> None:
        if not self._is_troubled(node, said):
            self._now(node, "waiting")
            self._ready.append(node)

    def _is_troubled(self, node: str, said: Said) -> bool:
        trouble = answers.trouble(said, self._mark)
        if not trouble and not {"ready", "copy"} & {line.partition(" ")[0] for line in said.lines(self._mark)}:
            trouble = "what it answers makes no sense"
        if trouble:
            self._now(node, "trouble", trouble)
        return bool(trouble)

    def _ran(self, node: str, said: Said) -> None:
        document = said.document(self._mark)
        trouble = "" if document and said.code == 0 else answers.trouble(said, self._mark)
        if not trouble and not document:
            trouble = answers.refusal(said, self._mark)
        if trouble or document is None:
            self._now(node, "trouble", trouble)
            return
        try:
            found = boxes_of(node, self._asked.command, document)
        except Refused as refusal:
            self._now(node, "trouble", f"what it answered is no document: {str(refusal)[:200]}")
            return
        gathered.keep(self._directory, node, document)
        self.boxes += found
        if not found or said.word(self._mark, "end") not in _ENDED:
            self._remarks[node] = answers.refusal(said, self._mark)
        self._now(node, "done")

    def _concluded(self) -> Fleet:
        troubles = {node: one.words for node, one in self.states.items() if one.phase == "trouble"}
        troubles |= {node: _STOPPED for node, one in self.states.items() if one.phase not in ("done", "trouble")}
        about = About(
            command=self._asked.command,
            arguments=self._asked.arguments,
            started_at=self._started_at,
            elapsed_s=self.elapsed_s,
            nodes=tuple(self.states),
            troubles=troubles,
            remarks=self._remarks,
        )
        gathered.conclude(self._directory, about)
        return Fleet(about=about, boxes=tuple(self.boxes))


def waves(stands: Mapping[str, tuple[str, ...]], at_once: int) -> Iterator[list[str]]:
    """All boxes, in as few turns as there can be: of those that share a device, so many in each."""
    turns: list[tuple[list[str], Counter[str]]] = []
    for node, devices in stands.items():
        room = (turn for turn in turns if all(turn[1][device] < at_once for device in devices))
        if (found := next(room, None)) is None:
            found = ([], Counter())
            turns.append(found)
        found[0].append(node)
        found[1].update(set(devices))
    yield from (nodes for nodes, _ in turns)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise Refused(f"--pyz {file}: {error.strerror}") from None
