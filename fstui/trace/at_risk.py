"""Start the child program of ``fstui watch --at-risk``, and describe its reports in sentences."""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from fstui.measure.children import Child
from fstui.model.at_risk import AtRisk, ProgramAtRisk, UnsafeMount
from fstui.model.errors import Refused
from fstui.model.quantities import count, counted, rate, seconds, size
from fstui.model.storage import Target
from fstui.state import ledger
from fstui.state.ledger import write_entry_in_child
from fstui.trace.child import READY_TIMEOUT_S, WatchingChild, check_process, device_number, instance_path

MAX_NAMES = 4
"""Name at most this many programs in a sentence."""


class AtRiskChild(WatchingChild):
    """The child program. It also works without the kernel's trace."""

    untraced: str | None = None
    """Why there is no trace; None if there is one."""

    @classmethod
    async def start(cls, target: Target | None, pid: int | None) -> AtRiskChild:
        """Watch one filesystem or all, and one process with its descendants or all. Raises Refused, OSError."""
        check_process(pid)
        name, untraced, entry = secrets.token_hex(3), "only root may trace the kernel", None
        child = await Child.start("trace.reader.at_risk")
        if os.geteuid() == 0:
            try:
                entry = await write_entry_in_child(name, "trace", instance_path(name))
            except Refused as problem:
                # without an entry, nothing would remove the trace instance after kill -9
                untraced = f"the trace cannot be recorded in the state directory: {problem}"
        program = cls(child, entry)
        device = device_number(target.path) if target else None
        entry_path = str(ledger.path_of(entry)) if entry else None
        program._send(name=name if entry else None, entry=entry_path, untraced=untraced, pid=pid, device=device)
        reply = await program._read_reply(READY_TIMEOUT_S)
        if "error" in reply:
            await program.stop()
            raise Refused(f"fstui cannot see what is at risk: {reply['error']}.")
        program.untraced = reply["untraced"]
        return program

    async def reports(self) -> AsyncIterator[AtRisk]:
        """Yield what is at risk every second, and once more after ``end()`` was called. Raises OSError."""
        async for line in self._lines():
            yield msgspec.convert(line.get("second") or line["whole"], AtRisk)
            if "whole" in line:
                return
        raise OSError(None, "the program that counts what is at risk has ended or prints nothing")


def sentences(risk: AtRisk, *, counts_all: bool = True) -> tuple[str, ...]:
    """Return a sentence for each program. Programs with the same figures, such as a shell and its children, share one.

    ``counts_all``: False if a filesystem can lose synced data, which is not counted.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for program in risk.programs:
        condition = _condition(program, risk.elapsed_s, "at risk" if counts_all else "unsynced")
        names[condition].append(program.program_label)
    return tuple(f"{_joined(labels)}: {condition}." for condition, labels in names.items())


def _joined(labels: Sequence[str]) -> str:
    others = len(labels) - MAX_NAMES
    rest = (f"{count(others)} more",) if others > 0 else ()
    return ", ".join((*labels[:MAX_NAMES], *rest))


def _condition(program: ProgramAtRisk, elapsed_s: float, state: str) -> str:
    if program.bytes:
        shared = program.shared_files if program.files > 1 else 0
        note = f" ({'all' if shared == program.files else count(shared)} shared)" if shared else ""
        files = "1 shared file" if program.files == program.shared_files == 1 else counted(program.files, "file")
        condition = "not durable" if state == "at risk" else state
        amount = f"up to {size(program.bytes)} {condition}, in {files}{note}; oldest {program.age_text}"
        amount += f"; {in_log}" if (in_log := bytes_in_log(program)) else ""
    elif program.most_bytes:
        most, longest = size(program.most_bytes), seconds(program.longest_s)
        amount = f"nothing {state} now; since the watch began, at most {most} at the same time, for at most {longest}"
    elif program.direct_files:
        amount = f"no counted file is {state}"
    else:
        amount = f"no bytes {state}" if program.names else f"nothing {state}"
    names = ""
    if program.names:
        age = seconds(program.oldest_name_s or 0.0)
        joined_by = ", but" if amount.startswith("no bytes") else ";"
        number = counted(program.names, "new, renamed or linked name")
        names = f"{joined_by} {number} in directories that are not synced, oldest {age}"
    direct = f"; {writes}" if (writes := direct_writes(program)) else ""
    return f"{amount}{names}{_sync_rate(program, elapsed_s)}{direct}"


def bytes_in_log(program: ProgramAtRisk) -> str:
    """Return how many of the bytes are in the file that the program syncs most. If all are in it, return nothing."""
    if program.log is None or program.log_bytes == program.bytes:
        return ""
    amount, path = size(program.log_bytes) if program.log_bytes else "none", "/".join(program.log.split("/")[-2:])
    return f"{amount} of its unsynced bytes are in …/{path}, the file that it syncs most often"


def direct_writes(program: ProgramAtRisk) -> str:
    """Return a clause about the program's O_DIRECT writes; empty if there are none."""
    if not program.direct_files:
        return ""
    files, amount = counted(program.direct_files, "file"), size(program.direct_bytes)
    return f"O_DIRECT writes to {files} are not counted: at most {amount} in the disk's cache is not flushed"


def _sync_rate(program: ProgramAtRisk, elapsed_s: float) -> str:
    if program.syncs is None:
        return ""
    if not program.syncs:
        return f"; no sync in {seconds(elapsed_s)}"
    if program.syncs > elapsed_s:
        return f"; it syncs {rate(program.syncs / elapsed_s)} times per second"
    if program.sync_every_s and program.sync_every_s >= 1:
        return f"; it syncs every {seconds(program.sync_every_s)}"
    return f"; it synced {counted(program.syncs, 'time')} in {seconds(elapsed_s)}"


def limits(risk: AtRisk, untraced: str | None, unsafe: Sequence[UnsafeMount] = ()) -> Iterator[str]:
    """Yield sentences about what fstui could not see, and what the figures do not include."""
    if unsafe:
        mount_points = ", ".join(mount.mount_point for mount in unsafe)
        yield f"Not counted: synced bytes on {mount_points}. They may be lost, too."
    if untraced:
        yield f"Not traced by the kernel: {untraced}. fstui cannot see how often programs sync or which names are new."
    if risk.unsupported:
        yield f"Bytes are not counted: {risk.unsupported}. Only syncs are."
        return
    if risk.unreadable:
        processes = counted(risk.unreadable, "process")
        yield f"{processes} cannot be examined: run fstui as root, and not in a container."
    for fstype, descriptors in sorted(risk.not_covered.items()):
        number = counted(descriptors, "descriptor")
        yield f"Not counted: {number} open for writing on {fstype}, whose unwritten pages fstui cannot count."
    if risk.seconds_per_round > 1:
        yield f"There are many open files: each is examined every {seconds(risk.seconds_per_round)}."
    if untraced is None and not risk.names_recorded:
        yield "Not all new names are listed: the kernel's trace has no event for them, or there are too many."
    if risk.lost:
        yield f"The kernel's buffers lost {counted(risk.lost, 'event')}: syncs are missing."
    if risk.rest_bytes:
        yield (
            f"Another {size(risk.rest_bytes)} is not written yet: files that no program has open, files that are only "
            "mapped, and the filesystems' own data."
        )
