"""Saved runs. Each is a document in a file such as ``runs/20261120-031244-k3f9a1.json``."""

import math
import re
import time
from collections.abc import Collection
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fstui.measure.kinds import documents
from fstui.model.documents import encode, is_altered
from fstui.model.errors import Refused
from fstui.model.judgement import Answer, Verdict
from fstui.model.run import Baselines, EarlierRun, Round, Run, RunStatus
from fstui.state import ledger, paths, user_data
from fstui.state.files import sync_directory
from fstui.state.outlines import Outline, OutlineFile, ReplicaCutResult, RunNotFound, decode, read_outlines

_NAME = re.compile(r"(?P<time>\d{8}-\d{6})-(?P<id>[^/]+)\.json")
LAST = "last"
MAX_BASELINES, MAX_SEARCHED_RUNS = 20, 200
"""A run is compared with at most MAX_BASELINES comparable runs. Only the newest MAX_SEARCHED_RUNS are searched."""


class Summary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of the history. If the file could not be read, only ``path``, ``note`` and ``unreadable`` are set."""

    path: str
    id: str = ""
    started_at: str = ""
    elapsed_s: float = 0.0
    status: RunStatus | None = None
    time_limit_s: float | None = None
    """The time limit that ended the run; None if no limit did."""
    verdict: Verdict | None = None
    survived: ReplicaCutResult | None = None
    speed: Answer | None = None
    """None if the run was saved before fstui judged the speed."""
    scenario: str = ""
    settings: dict[str, Any] = {}
    target: str = ""
    hostname: str = ""
    simulated: str | None = None
    limited: bool = False
    """fstui limited its own rate (``--max-rate``, ``--idle``)."""
    round: Round | None = None
    rate_per_s: float = 0.0
    """The rate of the first database step, or else of the first step that synced; 0 without either."""
    rate_of: str = ""
    rates_per_s: dict[str, float] = {}
    """The rate of each step that has one, by its name."""
    identity: str = ""
    """The identity of the target, if it is known."""
    note: str = ""
    altered: bool = False
    """The document does not match its digest."""
    unreadable: str | None = None


def path_of(run: Run) -> Path:
    start = datetime.fromisoformat(run.started_at).strftime("%Y%m%d-%H%M%S")
    return paths.runs_dir() / f"{start}-{run.id}.json"


def document(run: Run) -> bytes:
    return encode(run) + b"\n"


def find(reference: str) -> Path:
    """Return a run's file by its id, the beginning of its id, its name, its path, or ``last``. Raises RunNotFound."""
    if "/" in reference or reference in (".", ".."):
        try:
            return Path(reference).expanduser()
        except RuntimeError:
            raise RunNotFound(f"{reference}: no such user has a home directory") from None
    saved_files = _files()
    if reference == LAST:
        if not saved_files:
            raise RunNotFound(f"no run is saved in {paths.runs_dir()} yet")
        return max(saved_files, key=_save_order)
    exact_matches = [path for path in saved_files if reference in (path.name, path.stem, _id(path))]
    matches = exact_matches or [path for path in saved_files if reference and _id(path).startswith(reference)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        if Path(reference).is_file():
            return Path(reference)
        raise RunNotFound(f"no saved run is called '{reference}': 'fstui history' lists them")
    names = ", ".join(_id(path) for path in matches[:5]) + (" …" if len(matches) > 5 else "")
    raise RunNotFound(f"'{reference}' matches {len(matches)} saved runs ({names}): give more of the id")


def read(path: Path) -> Run:
    """Return the run in that file. Raises RunNotFound if there is no file, or UnreadableRun."""
    return read_document(path)[0]


def read_document(path: Path) -> tuple[Run, bool]:
    """Return the run in that file, and whether its document was altered. Raises what ``read`` raises."""
    return decode(path, documents.decode_run)


def status_now(run: Run) -> RunStatus:
    """Return the status of a saved run, which may still be running."""
    return _status(run, _running_ids())


def read_all(path: Path) -> list[tuple[Run, bool]]:
    """Return all runs in a file, such as the result of a check, and whether each was altered. Raises as ``read``."""
    return decode(
        path, lambda data: [(documents.decode_run(raw), is_altered(raw)) for raw in documents.split_file(data)]
    )[0]


def history(max_count: int | None = None, limit_s: float = math.inf) -> list[Summary]:
    """Return a summary of each saved run, newest first. Raises TimeLimitExpired after ``limit_s``."""
    notes, saved_files, running_ids = user_data.notes(), _files(), _running_ids()
    files = read_outlines(saved_files[:max_count], saved_files, limit_s)
    return [_summary(file, notes.get(_id(file.path), ""), running_ids) for file in files]


def delete(path: Path) -> None:
    """Delete a saved run and its note. Raises OSError, and Refused if the file is not in the runs directory."""
    if path.parent != paths.runs_dir():
        raise Refused(f"{path} is not a saved run of fstui: delete it yourself")
    path.unlink()
    sync_directory(path.parent)
    user_data.forget_notes([_id(path)])


def baselines(run: Run) -> Baselines:
    """Return what to compare this run with: earlier runs and the user's own references."""
    return Baselines(earlier_runs(run), user_data.readable_references())


def earlier_runs(run: Run) -> tuple[EarlierRun, ...]:
    """Return the latest unrestricted runs of the same scenario and settings on the same storage, newest first."""
    if run.target is None or not run.target.identity or run.cgroup_process or run.simulated or run.rate_limit:
        return ()
    saved_files = _files()
    run_files = [path for path in saved_files if _NAME.fullmatch(path.name)][:MAX_SEARCHED_RUNS]
    candidates = (_as_earlier_run(file, run) for file in read_outlines(run_files, saved_files))
    return tuple(islice((earlier for earlier in candidates if earlier and earlier.mean_ns), MAX_BASELINES))


def _as_earlier_run(outline_file: OutlineFile, run: Run) -> EarlierRun | None:
    """Return the run in a file for a comparison, or None if it is not comparable with ``run``."""
    entry = outline_file.entry
    if entry is None or entry.altered or not entry.outline.is_unrestricted:
        return None
    outline = entry.outline
    if _scenario_key(outline) != _scenario_key(run) or _storage_key(outline) != _storage_key(run):
        return None
    means = {step.name: step.latency_ns.mean for step in outline.steps if step.latency_ns and step.is_comparable}
    return EarlierRun(run=outline.id, started_at=outline.started_at, mean_ns=means)


def _scenario_key(run: Outline | Run) -> object:
    """Return the scenario and its settings. The settings are encoded as JSON, because an outline has lists where a run
    has tuples."""
    return run.scenario and (run.scenario.name, msgspec.json.encode(run.scenario.settings, order="sorted"))


def _storage_key(run: Outline | Run) -> object:
    return run.target and (run.target.identity, run.target.mount_point, run.host.hostname)


def _running_ids() -> frozenset[str]:
    return frozenset(entry.run for entry in ledger.entries_of("alive"))


def _status(run: Outline | Run, running_ids: Collection[str]) -> RunStatus:
    # until a run ends, its document says "stopped"
    if run.status not in ("stopped", "running"):
        return run.status
    return "running" if run.id in running_ids else "stopped"


def _summary(outline_file: OutlineFile, note: str, running_ids: Collection[str]) -> Summary:
    entry = outline_file.entry
    if entry is None:
        return Summary(path=str(outline_file.path), note=note, unreadable=outline_file.problem)
    outline = entry.outline
    steps_with_rate = [step for step in outline.steps if step.rate_per_s]
    durable = [step for step in steps_with_rate if step.has_transactions or step.syncs]
    step = max(durable, key=lambda step: step.has_transactions, default=None)
    return Summary(
        path=str(outline_file.path),
        id=outline.id,
        started_at=outline.started_at,
        elapsed_s=outline.elapsed_s,
        status=_status(outline, running_ids),
        time_limit_s=outline.time_limit_s,
        verdict=outline.verdict,
        survived=outline.replica_cut_result,
        speed=outline.speed.answer if outline.speed.title else None,
        scenario=outline.scenario.name if outline.scenario else "",
        settings=outline.scenario.settings if outline.scenario else {},
        target=outline.target.path if outline.target else "",
        hostname=outline.host.hostname,
        simulated=outline.simulated,
        limited=bool(outline.rate_limit),
        round=outline.round,
        rate_per_s=step.rate_per_s if step else 0.0,
        rate_of=step.name if step else "",
        rates_per_s={step.name: step.rate_per_s for step in steps_with_rate},
        identity=outline.target.identity if outline.target else "",
        note=note,
        altered=entry.altered,
    )


def _files() -> list[Path]:
    """Return the files of saved runs, newest first, and then all files with other names."""
    try:
        files = [path for path in paths.runs_dir().iterdir() if path.suffix == ".json" and path.name[0] != "."]
    except OSError:
        return []
    return sorted(files, key=lambda path: (bool(_NAME.fullmatch(path.name)), path.name), reverse=True)


def _save_order(path: Path) -> tuple[bool, bool, float, str]:
    """Return a sort key: other files, then runs from the future, whose clock was wrong, then runs by time of saving."""
    try:
        saved_s = path.stat().st_mtime
    except OSError:
        saved_s = 0.0
    return bool(_NAME.fullmatch(path.name)), saved_s <= time.time(), saved_s, path.name


def _id(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match["id"] if match else path.stem
