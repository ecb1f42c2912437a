"""Start the recorder, and report what happened while it recorded."""

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
from math import inf
from pathlib import Path

from fstui import __version__
from fstui.judge import incidents, moments
from fstui.judge.incidents import Records
from fstui.measure.children import command
from fstui.model.errors import Refused
from fstui.model.forms import seconds_of, size_of
from fstui.model.quantities import counted, duration_ns, percent, seconds
from fstui.model.recording import Bucket, Gap, Header, Incident, Record, Second, WhatHappened, Window, is_outside, span
from fstui.runs import startup
from fstui.state import ledger, recording, ring
from fstui.state.files import create_private_directory
from fstui.state.paths import call_in_state_dir
from fstui.state.recording import Recording
from fstui.trace.child import instance_path

READ_TIMEOUT_S = 20.0
MARGIN_S = 300.0
"""If the user names a single time, the period begins this long before it and ends this long after it."""
DAY_S = 86400.0
BASELINE_MARGIN_S = 1800.0
"""Records from this long before and after the period show what is typical."""
MAX_WINDOW_S = 30.0
"""A window lasts ten seconds, or longer if the host was too busy to end it in time."""
MIN_GAP_S, MIN_JUMP_S = 2.5, 2.0
"""A gap is a period of at least MIN_GAP_S without records. A clock that gained or lost more than MIN_JUMP_S was set."""
MAX_INCIDENTS = 10
MIN_PRESSURE = 0.5
"""If some process waited for a CPU, I/O or memory for at least this share of the time, the report mentions it."""
_DAYS_AGO = {"today": 0, "yesterday": 1}
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")

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


def systemd_unit() -> str:
    """Return a systemd unit that starts this program. Raises Refused."""
    return UNIT.format(program=_program_command())


def _program_command() -> str:
    """Return the command of this program: ``fstui`` on the PATH if it is this installation, otherwise this script."""
    installed, script = shutil.which("fstui"), Path(sys.argv[0])
    with suppress(OSError):
        if installed and Path(installed).resolve() == script.resolve():
            return _quote(installed)
    if script.name == "__main__.py":
        return f"{_quote(sys.executable)} -m fstui"
    return _quote(str(script.absolute()))


def _quote(path: str) -> str:
    """Quote a path for ExecStart (systemd.service(5), systemd.syntax(7))."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if re.search(r"[\s\"'\\;]", path) else escaped


def parse_size(text: str) -> int:
    """Return the bytes of ``--size``. Raises Refused."""
    with suppress(OverflowError):
        max_bytes = size_of(text)
        if max_bytes is not None and ring.MIN_BYTES <= max_bytes <= 1 << 40:
            return max_bytes
    raise Refused(f"--size {text} is not a size from 1M to 1T. Example: --size 24M")


async def recorder_argv(*, max_bytes: int, seconds_: float | None, anonymous: bool) -> list[str]:
    """Prepare the directory and the ledger for a recorder, and return its command line. Raises Refused, OSError."""
    directory = await call_in_state_dir(create_private_directory, recording.directory())
    for entry in (await startup.left_behind()).removable:
        if entry.kind == "trace":  # of a recorder that was killed
            await startup.remove(entry)
    name = entry_path = None
    if os.geteuid() == 0:
        name = secrets.token_hex(3)
        entry_path = str(ledger.path_of(await ledger.write_entry_in_child(name, "trace", instance_path(name))))
    settings = {
        "directory": str(directory), "max_bytes": max_bytes, "seconds": seconds_, "anonymous": anonymous, "name": name,
        "entry": entry_path, "version": __version__,
    }  # fmt: skip
    return command("trace.reader.recorder", json.dumps(settings))


def period_of(words: Sequence[str], now_s: float | None = None) -> tuple[float, float] | None:
    """Return the start and end that words describe, in seconds since 1970; None without words. Raises Refused."""
    text = " ".join(words).strip()
    now = time.time() if now_s is None else now_s
    if not text:
        return None
    if text.startswith("last "):
        with suppress(ValueError):
            if 0 < (length_s := seconds_of(text[5:])) <= now:
                return now - length_s, now
        raise _not_a_time(text)
    first_text, dots, last_text = text.partition("..")
    first = _instant(first_text.strip(), now, None)
    start = max(first.timestamp(), 0.0)
    if dots:
        end = _instant(last_text.strip(), now, first.date()).timestamp()
        if end < start and end + DAY_S <= now and _TIME_OF_DAY.fullmatch(last_text.strip()):
            end += DAY_S
    elif text in _DAYS_AGO or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        end = start + DAY_S
    else:
        start, end = start - MARGIN_S, start + MARGIN_S
    if start > now:
        raise Refused(f"{text} is in the future.")
    if end <= start:
        raise Refused(f"{text} {'is empty: it ends when it begins' if end == start else 'ends before it begins'}.")
    return start, min(end, now)


def _instant(text: str, now: float, day: date | None) -> datetime:
    """Return the time in the text. Without a day, it is on ``day``, or else in the last 24 hours. Raises Refused."""
    today = datetime.fromtimestamp(now)
    if text == "now":
        return today
    day_name, _, time_text = text.partition(" ")
    if day_name in _DAYS_AGO:
        day, text = today.date() - timedelta(days=_DAYS_AGO[day_name]), time_text or "00:00"
    try:
        if not _TIME_OF_DAY.fullmatch(text):
            return datetime.fromisoformat(text).astimezone()
        hours, _, rest = text.partition(":")
        instant = datetime.combine(day or today.date(), clock.fromisoformat(f"{hours:0>2}:{rest}"))
    except (ValueError, OverflowError):
        raise _not_a_time(text) from None
    return instant - timedelta(days=1) if day is None and instant > today else instant


def _not_a_time(text: str) -> Refused:
    return Refused(
        f"'{text}' is not a time. Examples: 03:12, 03:12..now, 'yesterday 03:00..03:30', 'last 2h', "
        "2026-11-25T03:12:00Z"
    )


async def read_what_happened(period: tuple[float, float] | None) -> WhatHappened:
    """Return what happened in the period, by default in the whole recording. Raises Refused, OSError."""
    return await call_in_state_dir(_read_what_happened, period, timeout_s=READ_TIMEOUT_S)


async def read_overview(start: float, end: float, cell_s: float, device: str = "") -> list[Bucket]:
    """Return a row for each interval of ``cell_s`` seconds that has records. Raises Refused, OSError.

    ``device``: the device of all rows; empty: each row has its own, see ``incidents.buckets``.
    """
    return await call_in_state_dir(_read_overview, start, end, cell_s, device, timeout_s=READ_TIMEOUT_S)


def _read_overview(start: float, end: float, cell_s: float, device: str) -> list[Bucket]:
    records = incidents.collect_records(recording.read(start, end + MAX_WINDOW_S).records)
    return incidents.buckets(records, start, end, cell_s, device)


async def read_moment(start: float, end: float) -> tuple[Second | None, Window | None]:
    """Return the sums of the records between two times. Raises Refused, OSError."""
    return await call_in_state_dir(_read_moment, start, end, timeout_s=READ_TIMEOUT_S)


def _read_moment(start: float, end: float) -> tuple[Second | None, Window | None]:
    def has_most_within(record: Second | Window) -> bool:
        return start <= record.at - record.elapsed_s / 2 < end

    records = incidents.collect_records(recording.read(start, end + MAX_WINDOW_S).records)
    second = moments.sum_of_seconds(list(filter(has_most_within, records.seconds)))
    return second, moments.sum_of_windows(list(filter(has_most_within, records.windows)))


def _read_what_happened(period: tuple[float, float] | None) -> WhatHappened:
    start, end = period or (0.0, inf)
    source = recording.read(start - BASELINE_MARGIN_S, end + BASELINE_MARGIN_S)
    if not source.extent:
        permission, sudo = ("", "") if os.geteuid() == 0 else (", which only root may read", "sudo ")
        raise Refused(
            f"Nothing is recorded in {source.directory} or {recording.SYSTEM_DIRECTORY}{permission}. "
            f"For what is slow now: 'fstui watch'. For later questions: '{sudo}fstui record'."
        )
    return what_happened(source, period)


def what_happened(source: Recording, period: tuple[float, float] | None) -> WhatHappened:
    headers = [record for record in source.records if isinstance(record, Header)]
    extent = source.extent or (source.records[0].at, source.records[-1].at)
    start, end = period or extent
    recorded = max(start, extent[0]), min(end, extent[1])
    records = incidents.collect_records(source.records)
    worst_incidents = tuple(incidents.incidents(records, *recorded, MAX_INCIDENTS))
    gaps = tuple(gap for gap in _gaps(source.records) if gap.start < end and gap.end > start)
    excerpt = Records(
        [second for second in records.seconds if start < second.at <= end + second.elapsed_s],
        [window for window in records.windows if start < window.at <= end + window.elapsed_s],
        records.typical_write_ms,
        records.typical_sync_us,
    )
    return WhatHappened(
        version=__version__,
        host=headers[-1].host if headers else "",
        start=start,
        end=end,
        recorded=extent,
        sentence=_sentence(excerpt, worst_incidents, (start, end), recorded),
        incidents=worst_incidents,
        gaps=gaps,
        notes=tuple(_notes(source, excerpt, headers, start, end)),
        buckets=tuple(incidents.buckets(records, *recorded)),
    )


def _sentence(
    excerpt: Records, worst_incidents: Sequence[Incident], period: tuple[float, float], recorded: tuple[float, float]
) -> str:
    """``recorded``: the part of the period that was recorded, as in the table."""
    if worst_incidents:
        incident = worst_incidents[0]
        return f"{span(incident.start, incident.end)}: {incident.sentence}"
    if not excerpt.seconds:
        next_steps = "For what is recorded: 'fstui what-happened'. For what is slow now: 'fstui watch'."
        return f"Nothing was recorded in {span(*period)}. {next_steps}"
    when = span(*period)
    if is_outside(period, recorded):
        when = f"the {seconds(recorded[1] - recorded[0])} recorded ({span(*recorded)})"
    text = f"No unusual wait for a sync in {when}"
    waits = incidents.waits_between(excerpt.windows, *recorded)
    longest = max(waits, key=lambda timed: timed.ms, default=None)
    if longest and longest.ms:
        time_text, wait = span(longest.start, longest.end), longest.wait
        text += f": the longest wait for a sync was {duration_ns(longest.ms * 1e6)} "
        text += f"({time_text}, {wait.program_label}, {wait.file_label})"
    elif any(window.traced_s is not None for window in excerpt.windows):
        text += ": no program waited long for a sync"
    else:
        text = f"No device became slow in {when}; the recording does not show which programs waited"
    return f"{text}.{''.join(_pressures(excerpt.seconds))}"


def _pressures(seconds_: Sequence[Second]) -> Iterator[str]:
    for index, resource in ((incidents.CPU, "a CPU"), (incidents.IO, "I/O"), (incidents.MEMORY, "memory")):
        share = incidents.pressure_share(seconds_, index)
        if share is not None and share >= MIN_PRESSURE:
            yield f" Some process waited for {resource} for {percent(share)} of the time."


def _gaps(records: Sequence[Record]) -> Iterator[Gap]:
    """Yield the periods without records. A record covers ``elapsed_s`` before its time."""
    boot = next((record.boot for record in records if isinstance(record, Header)), "")
    for before, after in pairwise(records):
        is_restart = False
        if isinstance(after, Header):
            is_restart, boot = after.boot != boot, after.boot
        begin = after.at - after.elapsed_s
        if begin - before.at < MIN_GAP_S and after.boot_s - after.elapsed_s - before.boot_s < MIN_GAP_S:
            continue
        reason = "the host was suspended, or records are missing"
        if after.dropped:
            reason = f"{counted(after.dropped, 'record')} could not be written: {after.trouble}"
        elif is_restart:
            reason = "the host was restarted"
        elif isinstance(after, Header) and after.started:
            reason = "the recorder did not run"
        yield Gap(start=before.at, end=max(begin, before.at), reason=reason)


def _notes(source: Recording, excerpt: Records, headers: Sequence[Header], start: float, end: float) -> Iterator[str]:
    period_headers = [header for header in headers if start <= header.at <= end] or headers[-1:]
    for reason in dict.fromkeys(header.untraced for header in period_headers if header.untraced):
        yield f"The recording does not show which programs waited: {reason}."
    if any(header.anonymous for header in period_headers):
        yield "File names were not recorded (--anonymous)."
    traced_windows = [(window.traced_s, window.elapsed_s) for window in excerpt.windows if window.traced_s is not None]
    share = sum(traced_s for traced_s, _ in traced_windows) / (sum(elapsed_s for _, elapsed_s in traced_windows) or 1.0)
    if traced_windows and share < 0.95:
        yield f"Some programs were traced for only {percent(share)} of the time, so some of their waits may be missing."
    lost_events = sum(window.lost for window in excerpt.windows)
    if lost_events:
        yield f"The kernel's buffers were full and lost {counted(lost_events, 'event')}."
    for before, after in pairwise(source.records):
        jump = (after.at - before.at) - (after.boot_s - before.boot_s)
        if abs(jump) > MIN_JUMP_S and after.boot_s >= before.boot_s and start <= after.at <= end:
            direction = "forward" if jump > 0 else "back"
            yield f"The clock was set {direction} by {seconds(abs(jump))} at {span(before.at, after.at)}."
