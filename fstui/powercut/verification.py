"""Verification after a power cut: compare the witness's log with the records, and return a judged run of one step.

Nothing is written to the tested storage. The run is saved only after everything was read, so an interrupted
verification changes nothing.
"""

import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from fstui import __version__, proc
from fstui.judge import judge
from fstui.measure.children import Child, call_in_child
from fstui.measure.kinds.powercut import CutKind, PowerCutFigures
from fstui.model.documents import with_digest
from fstui.model.errors import Refused, local_time
from fstui.model.host import Host, Inventory
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.powercut.header import PowerCutHeader, decode_header
from fstui.powercut.log import BadLog, Log, parse
from fstui.powercut.power_cuts import EarlierCuts
from fstui.powercut.records import DATABASE_METHODS, LOSS_KINDS, directory_of
from fstui.state.workspace import NotInspected, TargetDirectory, Workspace
from fstui.storage.survey import target_of

READ_TIMEOUT_S = 30.0
REAP_TIMEOUT_S = 0.5
_COUNT_NAMES = ("checked", "present", "newer", "in_flight", "unpromised", "reordered", *LOSS_KINDS)


class WitnessLog(NamedTuple):
    log: Log
    header: PowerCutHeader
    is_truncated: bool
    """Whether the log ended within a line, which was ignored."""


class CutDeclaration(NamedTuple):
    """What the user declares about the cut. ``unmountable``: since the cut, the filesystem cannot be mounted."""

    storage_was_cut: bool = False
    unmountable: bool = False
    cut_kind: CutKind = "power"


class Readback:
    def __init__(self) -> None:
        self.has_answered = False
        self.error: str | None = "the program that reads the records has ended"
        """Why the records could not be read; None if they could."""
        self.directory_exists = False
        self.end_reason: str | None = None
        """Why the writer stopped by itself; None if it did not."""
        self.read_only = False
        self.writers: dict[int, dict[str, Any]] = {}
        self.leftover: str | None = None
        """Why the directory for copies of databases could not be removed."""

    def add(self, line: dict[str, Any]) -> None:
        self.has_answered = True
        if "writer" in line:
            self.writers[line["writer"]] = line
        elif "error" in line:
            self.error = line["error"]
        else:
            self.error, self.directory_exists, self.end_reason = None, line["found"], line["ended"]


class RecordsHost(Protocol):
    def survey(self) -> Inventory:
        """Return every filesystem with its stack."""

    async def inspect(self, directory: str) -> TargetDirectory:
        """Resolve a directory. Raises Refused."""


class Verification(NamedTuple):
    run: Run
    saved_to: str | None = None
    """The path of the saved run, if this cut was verified earlier and its records have been removed."""


async def verify(
    directory: str,
    witness_log: WitnessLog,
    earlier: EarlierCuts,
    machine: RecordsHost,
    declaration: CutDeclaration,
    *,
    servers: Mapping[str, Any],
) -> Verification:
    """Return the judged run of this cut, not yet saved. Raises Refused with a sentence for the user."""
    began = time.monotonic()
    header = witness_log.header
    if declaration.unmountable:
        await _check_unmountable(directory, header, machine)
        readback, target = Readback(), header.target
    else:
        inspected = await _inspect(directory, machine)
        inventory = machine.survey()
        current = target_of(inspected.path, inventory)
        _check_host(header, inventory.host, declaration)
        readback = await _read_records(inspected, witness_log, servers)
        if earlier.same_cut and not readback.directory_exists:
            return Verification(earlier.same_cut.run, str(earlier.same_cut.path))
        if not readback.directory_exists:
            _check_filesystem(header, current, inspected)
        readback.read_only = "ro" in current.mount_options
        target = _with_current_state(header.target, current)
    step = _power_cut_step(witness_log, _figures(witness_log, readback, declaration, earlier.survived_cuts))
    run = Run(
        id=secrets.token_hex(3),
        started_at=local_time().isoformat(timespec="seconds"),
        version=__version__,
        host=machine.survey().host,
        target=target,
        scenario=header.scenario,
        steps=(step,),
        elapsed_s=round(time.monotonic() - began, 3),
        left_behind=(readback.leftover,) if readback.leftover else (),
    )
    return Verification(with_digest(run.with_judgement(judge(run))))


async def read_file(file: str) -> bytes:
    """Read the log file in a child process, because the disk of the log may hang, too. Raises Refused."""
    path = Path(os.path.expanduser(file))  # noqa: ASYNC240, PTH111  does not access the disk
    try:
        return await call_in_child(Path.read_bytes, path, timeout_s=READ_TIMEOUT_S, where=file)
    except OSError as error:
        raise Refused(f"cannot read {file}: {error.strerror}") from None


def read_log(data: bytes) -> WitnessLog:
    """Parse the witness's log. Raises Refused if it is empty, damaged, or contains no acknowledgement."""
    try:
        log = parse(data)
        header = decode_header(log.header)
        _check_complete(log, header)
    except BadLog as bad:
        raise Refused(f"the witness's log: {bad}. Nothing was verified.") from None
    if not log.ack_count:
        raise Refused(
            "the witness's log contains no acknowledgement, so there is nothing to verify. "
            "Cut the power after the witness has shown acknowledgements."
        )
    return WitnessLog(log, header, is_truncated=not data.endswith(b"\n"))


def _check_complete(log: Log, header: PowerCutHeader) -> None:
    for number, writer in log.writers.items():
        if number >= len(header.streams):
            raise BadLog(f"the header does not list writer {number}: this is not the log of a single test")
        if writer.first_sequence != header.streams[number].first_sequence:
            raise BadLog(f"writer {number} begins with record {writer.first_sequence}: lines are missing")


async def _inspect(directory: str, machine: RecordsHost) -> TargetDirectory:
    try:
        return await machine.inspect(directory)
    except Refused as refusal:
        raise Refused(
            f"{refusal} Mount its filesystem first. If it cannot be mounted any more since the cut, add --mount-fails."
        ) from None


async def _check_unmountable(directory: str, header: PowerCutHeader, machine: RecordsHost) -> None:
    """Raise Refused if the directory contains the records, or if this cannot be determined."""
    try:
        inspected = await machine.inspect(directory)
    except NotInspected as refusal:
        raise Refused(f"{refusal} If its filesystem hangs, unmount it (umount -l) and verify again.") from None
    except Refused:
        return
    readback = await _read_back(inspected, header, {}, {})
    if not readback.has_answered:
        raise Refused(
            f"{inspected.path} may contain the records: the program that looks for them was killed. Nothing was saved. "
            "Verify again."
        )
    if readback.directory_exists:
        raise Refused(f"{inspected.path} is mounted and contains the records: verify without --mount-fails")


def _check_host(header: PowerCutHeader, host: Host, declaration: CutDeclaration) -> None:
    if header.host.hostname != host.hostname and not declaration.storage_was_cut:
        raise Refused(
            f"the log is from {header.host.hostname}, and this host is {host.hostname}. Verify there. If the disk was "
            "moved here after its power was cut, add --storage-was-cut."
        )


def _check_filesystem(header: PowerCutHeader, current: Target, inspected: TargetDirectory) -> None:
    original = header.target
    # if the cut undid a mkfs, the filesystem from before the mkfs is back, with another f_fsid
    if current.identity == original.identity or (current.fstype, inspected.fsid) == (original.fstype, header.fsid):
        if _path_in_filesystem(current) == _path_in_filesystem(original):
            return
        raise Refused(
            f"{inspected.path} does not contain the records, which were written to {original.path} on "
            f"{original.mount_point}. Mount that filesystem there, or give the directory that was written to."
        )
    raise Refused(
        f"the log is from {original.fstype} {original.source} on {original.mount_point}, but {inspected.path} is on "
        f"{current.fstype} {current.source}. Mount the filesystem of the log, and give the directory that was "
        "written to. If it cannot be mounted any more since the cut, add --mount-fails."
    )


def _path_in_filesystem(target: Target) -> str:
    return os.path.relpath(target.path, target.mount_point)


async def _read_records(inspected: TargetDirectory, witness_log: WitnessLog, servers: Mapping[str, Any]) -> Readback:
    log, header, _ = witness_log
    last_acks = {number: writer.last_sequence for number, writer in log.writers.items()}
    readback = await _read_back(inspected, header, last_acks, servers)
    if readback.error is not None:
        raise Refused(
            f"{inspected.path}: the records cannot be read: {readback.error}. Verify as the user that wrote them. If "
            "the filesystem is damaged, repair it (fsck) and verify again, or add --mount-fails if that is impossible."
        )
    if readback.directory_exists and readback.writers.keys() != log.writers.keys():
        raise Refused("the records could not be read completely, and nothing was saved. Verify again.")
    return readback


async def _read_back(
    inspected: TargetDirectory, header: PowerCutHeader, last_acks: dict[int, int], servers: Mapping[str, Any]
) -> Readback:
    """Read the records in a child, which is killed on cancellation. ``last_acks``: the last record of each writer."""
    readback = Readback()
    with_acks = [stream for stream in header.streams if stream.writer in last_acks]
    has_database = any(stream.write_method in DATABASE_METHODS for stream in with_acks)
    # a database server writes to its files during recovery, so it is started on a copy
    copies = await Workspace.create_temporary() if has_database else None
    try:
        request = {
            "directory": directory_of(inspected.path, header.run),
            "run": header.run,
            "streams": header.streams,
            "last": last_acks,
            "servers": servers,
            "copies": copies and copies.held_directory.as_settings,
        }
        child = await Child.start("powercut.readback")
        try:
            child.send(json.dumps(request))
            while line := await child.read_line():
                readback.add(json.loads(line))
        finally:
            await child.reap(REAP_TIMEOUT_S)
    finally:
        readback.leftover = await copies.remove() if copies else None
    return readback


def _figures(
    witness_log: WitnessLog, readback: Readback, declaration: CutDeclaration, cuts_before: int
) -> PowerCutFigures:
    log, header, is_truncated = witness_log
    boot_id = proc.boot_id()
    oldest = [(writer, counts["oldest"]) for writer, counts in readback.writers.items() if counts["oldest"] is not None]
    ages_ms = [log.last_ms - log.writers[writer].time_ms(sequence) for writer, sequence in oldest]
    return PowerCutFigures(
        cut=header.run,
        identity=header.target.identity,
        cuts_before=cuts_before,
        cut_kind=declaration.cut_kind,
        rebooted=bool(boot_id and header.boot) and boot_id != header.boot,
        storage_was_cut=declaration.storage_was_cut,
        unmountable=declaration.unmountable,
        gone=not readback.directory_exists and not declaration.unmountable,
        ended=readback.end_reason or (None if log.has_failed and declaration.storage_was_cut else log.end_reason),
        read_only=readback.read_only,
        log_cut_off=is_truncated,
        acknowledged=log.ack_count,
        oldest_lost_s=max(ages_ms, default=0) / 1e3,
        by_claim=_by_claim(log, header, readback),
        not_recovered=" ".join(filter(None, (counts["not_recovered"] for counts in readback.writers.values()))),
        **{name: sum(counts[name] for counts in readback.writers.values()) for name in _COUNT_NAMES},
    )


def _by_claim(log: Log, header: PowerCutHeader, readback: Readback) -> dict[str, dict[str, int]]:
    """Return the counts of each combination of sync and write method."""
    claims: dict[str, Counter[str]] = {}
    for stream in header.streams:
        sums = claims.setdefault(f"{stream.sync}, {stream.write_method}", Counter())
        writer = log.writers.get(stream.writer)
        sums["acknowledged"] += len(writer.at_ms) if writer else 0
        if counts := readback.writers.get(stream.writer):
            sums["checked"] += counts["checked"]
            sums["lost"] += sum(counts[name] for name in LOSS_KINDS)
    return {claim: dict(sums) for claim, sums in claims.items()}


def _power_cut_step(witness_log: WitnessLog, figures: PowerCutFigures) -> Step:
    log, header, _ = witness_log
    elapsed_s = log.last_ms / 1e3
    return Step(
        name="power cut",
        settings=header.settings,
        ops=log.ack_count,
        syncs=log.ack_count,
        bytes=sum(len(acks.at_ms) * header.streams[number].block_bytes for number, acks in log.writers.items()),
        writers=len(header.streams),
        elapsed_s=elapsed_s,
        rate_per_s=log.ack_count / elapsed_s if elapsed_s else 0.0,
        figures=figures,
    )


def _with_current_state(original: Target, current: Target) -> Target:
    """Return the stack as it was before the cut, with the current faults of its layers."""
    states = {node.id: node.state for node in current.stack}
    stack = tuple(msgspec.structs.replace(node, state=states.get(node.id, ())) for node in original.stack)
    return msgspec.structs.replace(original, stack=stack)
