"""After the power cut: the witness's log against the records that are there, as a run of one step.

Nothing is written to the storage, and nothing is saved before all was read: an interrupted check changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fstui import __version__
from fstui.children import Child
from fstui.engine.machine import Machine
from fstui.engine.powercut import Header, boot_id, decode_header
from fstui.judge import judge
from fstui.model import PowerCutFigures, Refused, Run, Step, Target
from fstui.probes import acks
from fstui.probes.acks import BadLog, Log
from fstui.probes.records import PREFIX, Stream
from fstui.quantities import plain
from fstui.state import cuts, runs
from fstui.workspace import Place

READ_S = 30.0
REAP_S = 0.5
_SUMS = ("checked", "present", "newer", "in_flight", "unpromised", "reordered")


class Checked(NamedTuple):
    """The run, and where it is saved already: a cut that was decided before and whose records are gone by now."""

    run: Run
    saved_to: str | None = None


class Told(NamedTuple):
    """What the user says, because no box can see it."""

    storage_was_cut: bool = False
    unmountable: bool = False


class Answers:
    """What the reader of the records said."""

    def __init__(self) -> None:
        self.error: str | None = None
        self.found = False
        self.ended: str | None = None
        self.others: list[str] = []
        self.sums: dict[int, dict[str, int]] = {}
        self.lost: dict[int, list[tuple[int, str]]] = {}

    def hear(self, line: dict[str, Any]) -> None:
        if "error" in line:
            self.error = line["error"]
        elif "found" in line:
            self.found, self.ended, self.others = line["found"], line["ended"], line["others"]
        elif "lost" in line:
            self.lost.setdefault(line["writer"], []).extend((sequence, kind) for sequence, kind in line["lost"])
        else:
            self.sums[line["writer"]] = {name: line[name] for name in _SUMS}


async def check(directory: str, data: bytes, machine: Machine, told: Told) -> Checked:
    """The run of this cut, judged and not yet saved. Raises Refused with a sentence for the user."""
    began = time.monotonic()
    log, header = read_log(data)
    if told.unmountable:
        await _see_that_it_is_not_there(directory, header, machine)
        figures = _figures(log, header, Answers(), told, gone=False, read_only=False, cut_off=_cut_off(data))
        return Checked(_run(header, log, figures, target=header.target, machine=machine, began=began))
    place = await _place(directory, machine)
    now = machine.target(place.path)
    _see_that_it_is_this_box(header, machine, told)
    answers = await _read_back(place.path, header, log)
    if answers.error is not None:
        raise Refused(
            f"{plain(place.path)}: the records cannot be read: {answers.error}. Verify as the user that wrote them; "
            "if the filesystem is damaged, have it checked (fsck) and verify again; if it is beyond that: --unmountable"
        )
    if not answers.found:
        if decided := cuts.of_cut(header.run):
            return Checked(runs.read(decided.path), str(decided.path))
        _see_that_it_is_this_filesystem(header, now, place)
    figures = _figures(
        log, header, answers, told,
        gone=not answers.found, read_only="ro" in now.mount_options, cut_off=_cut_off(data),
    )  # fmt: skip
    return Checked(_run(header, log, figures, target=_with_state_of(header.target, now), machine=machine, began=began))


async def read_file(file: str) -> bytes:
    """The log in that file, by a child: its disk may hang as well. Raises Refused."""
    child = await asyncio.create_subprocess_exec("cat", "--", _expanded(file), stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        data, trouble = await asyncio.wait_for(child.communicate(), READ_S)
    except TimeoutError:
        child.kill()
        raise Refused(f"{plain(file)}: no answer for {READ_S:.0f} s") from None
    if child.returncode:
        raise Refused(plain(trouble.decode(errors="surrogateescape").strip().removeprefix("cat: ")))
    return data


def _expanded(file: str) -> str:
    return str(Path(file).expanduser())


def read_log(data: bytes) -> tuple[Log, Header]:
    """The witness's log. Raises Refused where it is empty, of something else, damaged, or acknowledges nothing."""
    try:
        log = acks.parse(data)
        header = decode_header(log.header)
        _see_that_it_is_whole(log, header)
    except BadLog as bad:
        raise Refused(f"the witness's log: {plain(str(bad))}. Nothing was verified.") from None
    if not log.acknowledged:
        raise Refused(
            "the witness's log: not one record was acknowledged before it ended, so there is nothing to verify. "
            "Cut the power after the witness has shown acknowledgements."
        )
    return log, header


def _see_that_it_is_whole(log: Log, header: Header) -> None:
    streams = {stream.writer: stream for stream in _streams(header)}
    for number, writer in log.writers.items():
        if number not in streams:
            raise BadLog(f"writer {number} is not in its header: it is not the log of one run")
        if writer.first != streams[number].first:
            raise BadLog(f"writer {number} begins with record {writer.first}: lines are missing")


async def _place(directory: str, machine: Machine) -> Place:
    try:
        return await machine.inspect(directory)
    except Refused as refusal:
        raise Refused(
            f"{refusal} If its filesystem is not mounted, mount it first; if it cannot be mounted any more since the "
            "cut, say so: --unmountable"
        ) from None


async def _see_that_it_is_not_there(directory: str, header: Header, machine: Machine) -> None:
    try:
        place = await machine.inspect(directory)
    except Refused:
        return
    if (await _read_back(place.path, header, None)).found:
        raise Refused(f"--unmountable, but {plain(place.path)} is mounted and holds the records: verify without it")


def _see_that_it_is_this_box(header: Header, machine: Machine, told: Told) -> None:
    here = machine.survey().host.hostname
    if header.host.hostname != here and not told.storage_was_cut:
        raise Refused(
            f"the log is of {plain(header.host.hostname)}, and this is {plain(here)}. Verify there; or, where the disk "
            "was moved here after its power was cut, add --storage-was-cut."
        )


def _see_that_it_is_this_filesystem(header: Header, now: Target, place: Place) -> None:
    then = header.target
    if now.identity == then.identity or (now.fstype, place.fsid) == (then.fstype, header.fsid):
        return
    raise Refused(
        f"the log is of {plain(then.fstype)} {plain(then.source)} on {plain(then.mount_point)}, and "
        f"{plain(place.path)} is on {plain(now.fstype)} {plain(now.source)}: mount the former, and name the directory "
        "that was written to. If it cannot be mounted any more since the cut, say so: --unmountable"
    )


async def _read_back(directory: str, header: Header, log: Log | None) -> Answers:
    """Have it read by a child, which is killed where this is cancelled."""
    answers = Answers()
    child = await Child.start("probes.readback")
    try:
        child.send(
            json.dumps(
                {
                    "directory": str(Path(directory) / (PREFIX + header.run)),
                    "run": header.run,
                    "streams": header.streams if log else (),
                    "last": {number: writer.last for number, writer in log.writers.items()} if log else {},
                }
            )
        )
        while line := await child.read_line():
            answers.hear(json.loads(line))
    finally:
        if await child.reap(REAP_S) is None:
            child.abandon()
    return answers


def _figures(
    log: Log, header: Header, answers: Answers, told: Told, *, gone: bool, read_only: bool, cut_off: bool
) -> PowerCutFigures:
    now = boot_id()
    if not gone and not told.unmountable and answers.sums.keys() != log.writers.keys():
        raise Refused("the records could not be read to the end; nothing was saved. Verify again.")
    kinds = Counter(kind for lost in answers.lost.values() for _, kind in lost)
    ages = [log.last_ms - log.writers[writer].when(lost[0][0]) for writer, lost in answers.lost.items()]
    return PowerCutFigures(
        cut=header.run,
        identity=header.target.identity,
        cuts_before=cuts.survived(header.target.identity, besides=header.run),
        rebooted=bool(now and header.boot) and now != header.boot,
        storage_was_cut=told.storage_was_cut,
        unmountable=told.unmountable,
        gone=gone,
        ended=answers.ended or log.ended,
        read_only=read_only,
        log_cut_off=cut_off,
        acknowledged=log.acknowledged,
        oldest_lost_s=max(ages, default=0) / 1e3,
        by_claim=_by_claim(log, header, answers),
        **{name: sum(sums[name] for sums in answers.sums.values()) for name in _SUMS},
        **{name: kinds[name] for name in ("missing", "stale", "torn", "misplaced", "unreadable")},
    )


def _by_claim(log: Log, header: Header, answers: Answers) -> dict[str, dict[str, int]]:
    claims: dict[str, Counter[str]] = {}
    for stream in _streams(header):
        sums = claims.setdefault(f"{stream.sync}, {stream.writes}", Counter())
        writer = log.writers.get(stream.writer)
        sums["acknowledged"] += len(writer.at_ms) if writer else 0
        sums["checked"] += answers.sums.get(stream.writer, {}).get("checked", 0)
        sums["lost"] += len(answers.lost.get(stream.writer, ()))
    return {claim: dict(sums) for claim, sums in claims.items()}


def _run(header: Header, log: Log, figures: PowerCutFigures, *, target: Target, machine: Machine, began: float) -> Run:
    elapsed_s = log.last_ms / 1e3
    step = Step(
        name="power cut",
        probe="powercut",
        settings=header.scenario.settings,
        ops=log.acknowledged,
        syncs=log.acknowledged,
        bytes=sum(len(log.writers[stream.writer].at_ms) * stream.block_bytes
                  for stream in _streams(header) if stream.writer in log.writers),
        writers=len(header.streams),
        elapsed_s=elapsed_s,
        rate_per_s=log.acknowledged / elapsed_s if elapsed_s else 0.0,
        figures=msgspec.to_builtins(figures),
    )  # fmt: skip
    run = Run(
        id=secrets.token_hex(3),
        started_at=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        elapsed_s=round(time.monotonic() - began, 3),
        version=__version__,
        host=machine.survey().host,
        target=target,
        scenario=header.scenario,
        steps=(step,),
    )
    found = judge(run)
    return msgspec.structs.replace(
        run, findings=found.findings, verdict=found.verdict, confidence=found.confidence, sentence=found.sentence
    )


def _with_state_of(then: Target, now: Target) -> Target:
    """The stack as it was written to, with what is wrong with its layers today."""
    states = {node.id: node.state for node in now.stack}
    stack = tuple(msgspec.structs.replace(node, state=states.get(node.id, ())) for node in then.stack)
    return msgspec.structs.replace(then, stack=stack)


def _streams(header: Header) -> tuple[Stream, ...]:
    return tuple(Stream(*stream) for stream in header.streams)


def _cut_off(data: bytes) -> bool:
    return not data.endswith(b"\n")
