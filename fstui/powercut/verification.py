"""After the power cut: the witness's log against the records that are there, as a judged run of one step.

Nothing is written to the storage, and nothing is saved before all was read: an interrupted check changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from asyncio.subprocess import DEVNULL, PIPE
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from fstui import __version__
from fstui.judge import judge
from fstui.measure.children import Child, NoAnswer
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.documents import sealed
from fstui.model.errors import Refused
from fstui.model.host import Host, Inventory
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.powercut import log as lines
from fstui.powercut.figures import Declared, ReadBack, Witnessed, figures
from fstui.powercut.header import Header, decode_header
from fstui.powercut.log import BadLog, Log
from fstui.powercut.power_cuts import Earlier
from fstui.powercut.records import PREFIX
from fstui.state.workspace import Place
from fstui.storage.survey import target_of

READ_S = 30.0
REAP_S = 0.5


class Box(Protocol):
    """Where the records are."""

    def survey(self) -> Inventory:
        """Every filesystem with its stack."""

    async def inspect(self, directory: str) -> Place:
        """Resolve a directory. Raises Refused."""


class Verified(NamedTuple):
    """The run, and where it is saved already: a cut that was decided before and whose records are gone by now."""

    run: Run
    saved_to: str | None = None


async def verify(directory: str, witnessed: Witnessed, earlier: Earlier, box: Box, declared: Declared) -> Verified:
    """The run of this cut, judged and not yet saved. Raises Refused with a sentence for the user."""
    began = time.monotonic()
    header = witnessed.header
    if declared.unmountable:
        await _see_that_it_is_not_there(directory, header, box)
        read, target = ReadBack(), header.target
    else:
        read, target = await _looked_at(directory, witnessed, box, declared, known=earlier.decided is not None)
        if earlier.decided and not read.found:
            return Verified(earlier.decided.run, str(earlier.decided.path))
    step = _step(witnessed, figures(witnessed, read, declared, earlier.survived))
    return Verified(_judged(step, header, target, box.survey().host, began))


async def _looked_at(
    directory: str, witnessed: Witnessed, box: Box, declared: Declared, *, known: bool
) -> tuple[ReadBack, Target]:
    """What became of the records, and the stack that they are on. ``known``: this cut was decided before."""
    header = witnessed.header
    place = await _place(directory, box)
    inventory = box.survey()
    now = target_of(place.path, inventory)
    _see_that_it_is_this_box(header, inventory.host, declared)
    read = await _records(place, witnessed)
    if not read.found and not known:
        _see_that_it_is_this_filesystem(header, now, place)
    read.read_only = "ro" in now.mount_options
    return read, _with_state_of(header.target, now)


async def read_file(file: str) -> bytes:
    """The log in that file, by a child: its disk may hang as well. Raises Refused."""
    path = os.path.expanduser(file)  # noqa: ASYNC240, PTH111  a name: nothing is touched here
    child = await asyncio.create_subprocess_exec("cat", "--", path, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    try:
        data, trouble = await asyncio.wait_for(child.communicate(), READ_S)
    except TimeoutError:
        child.kill()
        raise NoAnswer(file, READ_S) from None
    if child.returncode:
        raise Refused(trouble.decode(errors="surrogateescape").strip().removeprefix("cat: "))
    return data


def read_log(data: bytes) -> Witnessed:
    """The witness's log. Raises Refused where it is empty, of something else, damaged, or acknowledges nothing."""
    try:
        log = lines.parse(data)
        header = decode_header(log.header)
        _see_that_it_is_whole(log, header)
    except BadLog as bad:
        raise Refused(f"the witness's log: {bad}. Nothing was verified.") from None
    if not log.acknowledged:
        raise Refused(
            "the witness's log: not one record was acknowledged before it ended, so there is nothing to verify. "
            "Cut the power after the witness has shown acknowledgements."
        )
    return Witnessed(log, header, cut_off=not data.endswith(b"\n"))


def _see_that_it_is_whole(log: Log, header: Header) -> None:
    for number, writer in log.writers.items():
        if number >= len(header.streams):
            raise BadLog(f"writer {number} is not in its header: it is not the log of one run")
        if writer.first != header.streams[number].first:
            raise BadLog(f"writer {number} begins with record {writer.first}: lines are missing")


async def _place(directory: str, box: Box) -> Place:
    try:
        return await box.inspect(directory)
    except Refused as refusal:
        raise Refused(
            f"{refusal} If its filesystem is not mounted, mount it first; if it cannot be mounted any more since the "
            "cut, say so: --unmountable"
        ) from None


async def _see_that_it_is_not_there(directory: str, header: Header, box: Box) -> None:
    try:
        place = await box.inspect(directory)
    except Refused:
        return
    if (await _read_back(place, header, {})).found:
        raise Refused(f"--unmountable, but {place.path} is mounted and holds the records: verify without it")


def _see_that_it_is_this_box(header: Header, host: Host, declared: Declared) -> None:
    if header.host.hostname != host.hostname and not declared.storage_was_cut:
        raise Refused(
            f"the log is of {header.host.hostname}, and this is {host.hostname}. Verify there; or, where "
            "the disk was moved here after its power was cut, add --storage-was-cut."
        )


def _see_that_it_is_this_filesystem(header: Header, now: Target, place: Place) -> None:
    then = header.target
    if now.identity == then.identity or (now.fstype, place.fsid) == (then.fstype, header.fsid):
        return
    raise Refused(
        f"the log is of {then.fstype} {then.source} on {then.mount_point}, and "
        f"{place.path} is on {now.fstype} {now.source}: mount the former, and name the directory "
        "that was written to. If it cannot be mounted any more since the cut, say so: --unmountable"
    )


async def _records(place: Place, witnessed: Witnessed) -> ReadBack:
    """What became of them. Raises Refused where they cannot be read."""
    log, header, _ = witnessed
    read = await _read_back(place, header, {number: writer.last for number, writer in log.writers.items()})
    if read.error is not None:
        raise Refused(
            f"{place.path}: the records cannot be read: {read.error}. Verify as the user that wrote them; "
            "if the filesystem is damaged, have it checked (fsck) and verify again; if it is beyond that: --unmountable"
        )
    if read.found and read.sums.keys() != log.writers.keys():
        raise Refused("the records could not be read to the end; nothing was saved. Verify again.")
    return read


async def _read_back(place: Place, header: Header, last: dict[int, int]) -> ReadBack:
    """Have it read by a child, which is killed where this is cancelled. ``last``: the newest record of each writer."""
    read = ReadBack()
    child = await Child.start("powercut.readback")
    try:
        asked = {
            "directory": str(Path(place.path) / (PREFIX + header.run)),
            "run": header.run,
            "streams": header.streams,
            "last": last,
        }
        child.send(json.dumps(asked))
        while line := await child.read_line():
            read.hear(json.loads(line))
    finally:
        if await child.reap(REAP_S) is None:
            child.abandon()
    return read


def _step(witnessed: Witnessed, measured: PowerCutFigures) -> Step:
    log, header, _ = witnessed
    elapsed_s = log.last_ms / 1e3
    return Step(
        name="power cut",
        settings=header.asked,
        ops=log.acknowledged,
        syncs=log.acknowledged,
        bytes=sum(len(acks.at_ms) * header.streams[number].block_bytes for number, acks in log.writers.items()),
        writers=len(header.streams),
        elapsed_s=elapsed_s,
        rate_per_s=log.acknowledged / elapsed_s if elapsed_s else 0.0,
        figures=measured,
    )


def _judged(step: Step, header: Header, target: Target, host: Host, began: float) -> Run:
    run = Run(
        id=secrets.token_hex(3),
        started_at=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        elapsed_s=round(time.monotonic() - began, 3),
        version=__version__,
        host=host,
        target=target,
        scenario=header.scenario,
        steps=(step,),
    )
    return sealed(run.judged(judge(run)))


def _with_state_of(then: Target, now: Target) -> Target:
    """The stack as it was written to, with what is wrong with its layers today."""
    states = {node.id: node.state for node in now.stack}
    stack = tuple(msgspec.structs.replace(node, state=states.get(node.id, ())) for node in then.stack)
    return msgspec.structs.replace(then, stack=stack)
