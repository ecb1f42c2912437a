"""Start the recorder, and answer what happened in the time that it recorded."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from datetime import time as clock
from itertools import pairwise
from pathlib import Path

from fstui import __version__
from fstui.judge import incidents
from fstui.judge.incidents import Records
from fstui.measure.children import command
from fstui.model.errors import Refused
from fstui.model.forms import seconds_of, size_of
from fstui.model.quantities import counted, duration_ns, percent, seconds
from fstui.model.recording import Bucket, Gap, Header, Incident, Record, Second, WhatHappened, Window, is_outside, span
from fstui.runs import startup
from fstui.state import ledger, recording, ring
from fstui.state.files import make_private
from fstui.state.paths import in_home
from fstui.state.recording import Recording
from fstui.trace.child import instance_path

READ_S = 20.0
AROUND_S = 300.0
"""A single time means this long before and after it."""
DAY_S = 86400.0
BASELINE_S = 1800.0
"""How long before and after the period to look for what is typical."""
WINDOW_S = 30.0
"""A window is longer than ten seconds if the host was too busy to take it in time."""
GAP_S, JUMP_S = 2.5, 2.0
"""A longer time without records is a gap. If the clock gained or lost more than this, it was set."""
MAX_INCIDENTS = 10
PRESSED = 0.5
"""A wait of some process for a CPU, I/O or memory is mentioned from this share of the time on."""
_DAYS = {"today": 0, "yesterday": 1}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")

UNIT = """\
[Unit]
Description=fstui: record what storage does, and which programs wait for it

[Service]
ExecStart={program} record
Environment=XDG_STATE_HOME=/var/lib
StateDirectory=fstui
StateDirectoryMode=0700
Restart=on-failure
RestartPreventExitStatus=2
CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectControlGroups=yes
ProtectKernelModules=yes
PrivateNetwork=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
"""


def unit() -> str:
    """Return a systemd unit that starts this program. Raises Refused."""
    return UNIT.format(program=_program())


def _program() -> str:
    """Return the command of this program: the one on the PATH if it is this installation."""
    named, here = shutil.which("fstui"), Path(sys.argv[0])
    with suppress(OSError):
        if named and Path(named).resolve() == here.resolve():
            return _quoted(named)
    if here.name == "__main__.py":
        return f"{_quoted(sys.executable)} -m fstui"
    return _quoted(str(here.absolute()))


def _quoted(path: str) -> str:
    """Quote a path for ExecStart (systemd.service(5), systemd.syntax(7))."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if re.search(r"[\s\"'\\;]", path) else escaped


def size(text: str) -> int:
    """Return the bytes of ``--size``. Raises Refused."""
    with suppress(OverflowError):
        found = size_of(text)
        if found is not None and ring.MIN_BYTES <= found <= 1 << 40:
            return found
    raise Refused(f"--size {text} is not a size of at least 1M. Example: --size 24M")


async def recorder_argv(*, max_bytes: int, seconds_: float | None, anonymous: bool) -> list[str]:
    """Return the command line of the recorder, which replaces this process. Raises Refused, OSError."""
    directory = await in_home(_prepared)
    for entry in await startup.left_behind():
        if entry.kind == "trace":  # that of a recorder that was killed
            await startup.remove(entry)
    name = entry_path = None
    if os.geteuid() == 0:
        name = secrets.token_hex(3)
        entry_path = str(ledger.path_of(await ledger.enter_in_child(name, "trace", instance_path(name))))
    settings = {
        "directory": directory, "max_bytes": max_bytes, "seconds": seconds_, "anonymous": anonymous, "name": name,
        "entry": entry_path, "version": __version__,
    }  # fmt: skip
    return command("trace.reader.recorder", json.dumps(settings))


def _prepared() -> str:
    return str(make_private(recording.directory()))


def period_of(words: Sequence[str], now_s: float | None = None) -> tuple[float, float] | None:
    """Return the period that words name, in seconds since 1970; None without words. Raises Refused."""
    text = " ".join(words).strip()
    now = time.time() if now_s is None else now_s
    if not text:
        return None
    if text.startswith("last "):
        with suppress(ValueError):
            if 0 < (length_s := seconds_of(text[5:])) <= now:
                return now - length_s, now
        raise _unknown(text)
    first, dots, last = text.partition("..")
    begin = _instant(first.strip(), now, None)
    start = max(begin.timestamp(), 0.0)
    if dots:
        end = _instant(last.strip(), now, begin.date()).timestamp()
        if end < start and end + DAY_S <= now and _CLOCK.fullmatch(last.strip()):
            end += DAY_S
    elif text in _DAYS or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        end = start + DAY_S
    else:
        start, end = start - AROUND_S, start + AROUND_S
    if start > now:
        raise Refused(f"{text} is in the future.")
    if end <= start:
        raise Refused(f"{text} {'is empty: it ends when it begins' if end == start else 'ends before it begins'}.")
    return start, end


def _instant(text: str, now: float, day: date | None) -> datetime:
    """Return a time, on ``day`` or the last such time that has passed if the text names no day. Raises Refused."""
    today = datetime.fromtimestamp(now)
    if text == "now":
        return today
    word, _, rest = text.partition(" ")
    if word in _DAYS:
        day, text = today.date() - timedelta(days=_DAYS[word]), rest or "00:00"
    try:
        if not _CLOCK.fullmatch(text):
            return datetime.fromisoformat(text).astimezone()
        found = datetime.combine(day or today.date(), clock.fromisoformat(text.rjust(5, "0")))
    except (ValueError, OverflowError):
        raise _unknown(text) from None
    return found - timedelta(days=1) if day is None and found > today else found


def _unknown(text: str) -> Refused:
    return Refused(
        f"'{text}' is not a time. Examples: 03:12, 'yesterday 03:00..03:30', 'last 2h', 2026-11-25T03:12:00Z"
    )


async def answer(period: tuple[float, float] | None) -> WhatHappened:
    """Return what happened, or without a period the worst of the whole recording. Raises Refused, OSError."""
    return await in_home(_answer, period, timeout_s=READ_S)


async def overview(start: float, end: float, cell_s: float) -> list[Bucket]:
    """Return a row for each stretch of ``cell_s`` between two times that has records. Raises Refused, OSError."""
    return await in_home(_overview, start, end, cell_s, timeout_s=READ_S)


def _overview(start: float, end: float, cell_s: float) -> list[Bucket]:
    records = incidents.records_of(recording.read(start, end + WINDOW_S).records)
    return incidents.buckets(records, start, end, cell_s)


async def moment(at: float) -> tuple[Second | None, Window | None]:
    """Return the second and the window that contain a time. Raises Refused, OSError."""
    return await in_home(_moment, at, timeout_s=READ_S)


def _moment(at: float) -> tuple[Second | None, Window | None]:
    records = incidents.records_of(recording.read(at, at + WINDOW_S).records)
    second = next((one for one in records.seconds if one.at - one.elapsed_s <= at), None)
    return second, next((one for one in records.windows if one.at - one.elapsed_s <= at), None)


def _answer(period: tuple[float, float] | None) -> WhatHappened:
    found = recording.read(period[0] - BASELINE_S, period[1] + BASELINE_S) if period else recording.read()
    if not found.extent:
        readable = "" if os.geteuid() == 0 else ", which only root may read"
        places = f"{found.directory} or {recording.SYSTEM}{readable}"
        raise Refused(f"Nothing is recorded in {places}. Start 'fstui record', as root for programs and files.")
    return what_happened(found, period)


def what_happened(found: Recording, period: tuple[float, float] | None) -> WhatHappened:
    headers = [record for record in found.records if isinstance(record, Header)]
    whole = found.extent or (found.records[0].at, found.records[-1].at)
    start, end = period or whole
    records = incidents.records_of(found.records)
    listed = tuple(incidents.incidents(records, start, end, MAX_INCIDENTS))
    gaps = tuple(gap for gap in _gaps(found.records) if gap.start < end and gap.end > start)
    inside = Records(
        [one for one in records.seconds if start < one.at <= end + one.elapsed_s],
        [one for one in records.windows if start < one.at <= end + one.elapsed_s],
        records.typical_write_ms,
        records.typical_sync_us,
    )
    return WhatHappened(
        version=__version__,
        host=headers[-1].host if headers else "",
        start=start,
        end=end,
        recorded=whole,
        sentence=_sentence(inside, listed, (start, end), whole),
        incidents=listed,
        gaps=gaps,
        notes=tuple(_notes(found, inside, headers, start, end)),
        buckets=tuple(incidents.buckets(records, start, end)),
    )


def _sentence(
    inside: Records, listed: Sequence[Incident], period: tuple[float, float], whole: tuple[float, float]
) -> str:
    if listed:
        first = listed[0]
        return f"{span(first.start, first.end)}: {first.sentence}"
    if not inside.seconds:
        return f"Nothing was recorded in {span(*period)}."
    words = f"No unusual wait for storage in {span(*period)}"
    if is_outside(period, whole):
        start, end = max(period[0], whole[0]), min(period[1], whole[1])
        words = f"No unusual wait for storage in the {seconds(end - start)} recorded ({span(start, end)})"
    longest = incidents.longest(inside.windows)
    if longest and (ms := longest.longest_so_far_ms):
        words += f": the longest wait for a sync was {duration_ns(ms * 1e6)} ({longest.who}, {longest.where})"
    elif any(window.traced_s is not None for window in inside.windows):
        words += ": no program waited long for a sync"
    else:
        words += ": no device was slow; which programs waited was not recorded"
    return f"{words}.{''.join(_pressures(inside.seconds))}"


def _pressures(found: Sequence[Second]) -> Iterator[str]:
    for which, what in ((incidents.CPU, "a CPU"), (incidents.IO, "I/O"), (incidents.MEMORY, "memory")):
        share = incidents.pressure(found, which)
        if share is not None and share >= PRESSED:
            yield f" Some process waited for {what} for {percent(share)} of the time."


def _gaps(records: Sequence[Record]) -> Iterator[Gap]:
    """Yield the times without records. A record covers the time before it."""
    boot = next((record.boot for record in records if isinstance(record, Header)), "")
    for before, after in pairwise(records):
        restarted = False
        if isinstance(after, Header):
            restarted, boot = after.boot != boot, after.boot
        since = after.at - after.elapsed_s
        if since - before.at < GAP_S and after.boot_s - after.elapsed_s - before.boot_s < GAP_S:
            continue
        reason = "the host was suspended, or records are missing"
        if after.dropped:
            reason = f"{counted(after.dropped, 'record')} could not be written: {after.trouble}"
        elif restarted:
            reason = "the host was restarted"
        elif isinstance(after, Header) and after.started:
            reason = "the recorder did not run"
        yield Gap(start=before.at, end=max(since, before.at), reason=reason)


def _notes(found: Recording, inside: Records, headers: Sequence[Header], start: float, end: float) -> Iterator[str]:
    of_period = [one for one in headers if start <= one.at <= end] or headers[-1:]
    for reason in dict.fromkeys(header.untraced for header in of_period if header.untraced):
        yield f"Which programs waited was not recorded: {reason}."
    if any(header.anonymous for header in of_period):
        yield "File names were not recorded (--anonymous)."
    traced = [(window.traced_s, window.elapsed_s) for window in inside.windows if window.traced_s is not None]
    part = sum(one for one, _ in traced) / (sum(whole for _, whole in traced) or 1.0)
    if traced and part < 0.95:
        yield f"The busiest programs were traced for {percent(part)} of the time: some of their waits may be missing."
    lost = sum(window.lost for window in inside.windows)
    if lost:
        yield f"The kernel's buffers were full and lost {counted(lost, 'event')}."
    for before, after in pairwise(found.records):
        jump = (after.at - before.at) - (after.boot_s - before.boot_s)
        if abs(jump) > JUMP_S and after.boot_s >= before.boot_s and start <= after.at <= end:
            way = "forward" if jump > 0 else "back"
            yield f"The clock was set {way} by {seconds(abs(jump))} at {span(before.at, after.at)}."
