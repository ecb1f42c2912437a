"""Rule ``commits-without-flushes``: a database whose commits promise durability, and do not reach the device.

A commit is at least one sync of a log that grows. It is followed down as one; that the storage passes such syncs on is
known from a step with the same flags on the same filesystem. Many clients share a sync: their commits are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fstui.judge import promises, words
from fstui.judge.counting import ENOUGH, Arrival, arrivals
from fstui.judge.owed import call
from fstui.judge.steps import MIN_SYNCS, measured, names, syncs, time_measured
from fstui.model import Evidence, Finding, Step, SyncWrites, Target
from fstui.quantities import count, plain, rate, ratio

_OPEN_METHODS = frozenset({"o_dsync", "open_datasync", "open_sync"})


class Commits(NamedTuple):
    """A step of commits by one client, and the level of the stack at which their flushes were counted."""

    step: Step
    arrival: Arrival
    owed: float
    """Flushes per commit, at the least."""

    @property
    def lacking(self) -> bool:
        """Fewer than 0.9 of what is owed arrived."""
        return self.arrival.per_sync < ENOUGH * self.owed


def commits_without_flushes(evidence: Evidence) -> Iterator[Finding]:
    """Commits that are not durable: against the server's word, or by its own settings."""
    target = evidence.target
    if target is None:
        return
    counted = [commits for step in evidence.steps if _counts(step) and (commits := _commits(evidence, target, step))]
    lacking = [commits for commits in counted if commits.lacking]
    against = [commits for commits in lacking if _promised(commits.step)]
    if against:
        yield _against_its_word(evidence, target, against)
    theirs = [step for step in evidence.steps if _is_theirs(step) and _broken(step) and step.ops]
    if theirs:
        yield _by_setting(theirs, counted, scope="process")
    ours = [commits.step for commits in lacking if not _promised(commits.step) and not _is_theirs(commits.step)]
    if ours:
        yield _by_setting(ours, counted, scope="step")


def _counts(step: Step) -> bool:
    """One client, whose operations are commits on this filesystem."""
    if not promises.is_database(step.probe) or step.status in {"failed", "skipped"} or step.ops < MIN_SYNCS:
        return False
    read_only = step.settings.get("workload") in promises.READ_ONLY
    return step.writers == 1 and not read_only and promises.is_on_target(_server(step))


def _server(step: Step) -> dict[str, Any]:
    found: dict[str, Any] = step.figures.get("server") or {}
    return found


def _promised(step: Step) -> bool:
    return promises.promised(step.probe, step.settings, step.figures)


def _commits(evidence: Evidence, target: Target, step: Step) -> Commits | None:
    """The step's commits at the topmost level that counts; None where nobody knows what they owe."""
    settings = _as_sync(step)
    reference = _reference(evidence, target, settings)
    for arrival in arrivals(target, _as_commits(step), settings):
        if arrival.flushes is None:
            continue
        if arrival.owed is not None:
            # without a sync that arrived, only a library in the server's own memory tells who is to blame
            known = reference is not None or bool(_server(step).get("preloads"))
            return Commits(step, arrival, arrival.owed.low) if known and arrival.owed.low > 0 else None
        return Commits(step, arrival, min(1.0, reference)) if reference else None
    return None


def _as_commits(step: Step) -> Step:
    """Every operation of the step as one sync, whatever it promised."""
    return Step(
        name=step.name,
        probe=step.probe,
        status=step.status,
        ops=step.ops,
        syncs=step.ops,
        bytes=0,
        elapsed_s=step.elapsed_s,
        counters=step.counters,
    )


def _as_sync(step: Step) -> SyncWrites:
    """The sync of one commit: of the binary log or the WAL, by a call or by the flags that it was opened with."""
    have: dict[str, str] = _server(step).get("variables") or {}
    logged = have.get("log_bin", "off").lower() == "on"
    method = have.get("wal_sync_method") or ("" if logged else have.get("innodb_flush_method", ""))
    if method.lower() not in _OPEN_METHODS:
        return SyncWrites(offsets="append", prefill="none", sync="fdatasync")
    direct = have.get("innodb_log_file_buffering", "on").lower() == "off"
    return SyncWrites(
        offsets="append", prefill="none", sync="none", open_flags=("direct", "dsync") if direct else ("dsync",)
    )


def _reference(evidence: Evidence, target: Target, wanted: SyncWrites) -> float | None:
    """Flushes per sync of a step with the same flags whose flushes arrived; None where there is none."""
    for step, settings in measured(evidence):
        alike = call(settings) == call(wanted) and ("direct" in settings.open_flags) == ("direct" in wanted.open_flags)
        if not alike or syncs(step, settings) < MIN_SYNCS:
            continue
        counted = [arrival for arrival in arrivals(target, step, settings) if arrival.flushes]
        if counted and counted[0].per_sync >= ENOUGH and not any(arrival.lacks_flushes for arrival in counted):
            return counted[0].per_sync
    return None


def _against_its_word(evidence: Evidence, target: Target, found: list[Commits]) -> Finding:
    worst = min(found, key=lambda commits: commits.arrival.per_sync)
    step, where = worst.step, words.devices(worst.arrival.devices)
    server = _server(step)
    kept = ", ".join(promises.stated(server)) or f"synchronous = {step.settings.get('synchronous')}"
    stubs = [str(path) for path in server.get("preloads") or ()]
    cause = f"{', '.join(stubs)} is loaded into it and answers its syncs." if stubs else "Something answers its syncs."
    return Finding(
        rule="commits-without-flushes",
        verdict="not-durable",
        confidence="high",
        scope="process",
        title=f"{ratio(worst.arrival.per_sync)} flushes per commit at {where}, {worst.owed:g} owed",
        sentence=plain(
            f"{_title(step)} promises durable commits ({kept}), and {count(step.ops)} of them ({step.name}) reached "
            f"{where} as {count(worst.arrival.flushes.low if worst.arrival.flushes else 0)} flushes in "
            f"{time_measured([step])}: {ratio(worst.arrival.per_sync)} each, where {worst.owed:g} is owed. {cause}"
        ),
        steps=names(commits.step for commits in found),
        because=(
            *map(_line, found),
            *(plain(f"{_title(step)}: {stub} in /proc/PID/maps") for stub in stubs),
            *_passing(evidence, target, _as_sync(step)),
        ),
        next=(
            "Look at the server's process: grep -E 'eatmydata|nosync' /proc/PID/maps; grep Seccomp /proc/PID/status.",
        ),
    )


def _passing(evidence: Evidence, target: Target, wanted: SyncWrites) -> Iterator[str]:
    share = _reference(evidence, target, wanted)
    if share is not None:
        yield f"{call(wanted)} by fstui: {ratio(share)} flushes each, on the same filesystem"


def _by_setting(steps: list[Step], counted: list[Commits], *, scope: Literal["process", "step"]) -> Finding:
    """Its own settings say so: of a server that is there a verdict, of a throwaway one what was asked for."""
    found = [commits for commits in counted if commits.step in steps]
    settings = list(dict.fromkeys(setting for step in steps for setting in _broken(step)))
    step = min(found, key=lambda commits: commits.arrival.per_sync).step if found else steps[0]
    seen = next((_came_to(commits) for commits in found if commits.step == step), "")
    asked = "These settings were asked for. " if scope == "step" else "They were read from the server, not changed. "
    return Finding(
        rule="commits-without-flushes",
        verdict="not-durable",
        confidence="high",
        scope=scope,
        title=plain(f"commits do not wait: {', '.join(settings)}"),
        sentence=plain(
            f"{_title(step)} does not wait until a commit is on the disk ({', '.join(_broken(step))}){seen}. "
            f"{asked}A power cut loses the newest ones, here {rate(step.rate_per_s)} for every second not yet written."
        ),
        steps=names(steps),
        because=(*(f"{_title(step)}: {setting}" for setting in _broken(step)), *map(_line, found)),
        next=(_cure(settings),),
    )


def _came_to(commits: Commits) -> str:
    step, where = commits.step, words.devices(commits.arrival.devices)
    return (
        f": {count(step.ops)} commits ({step.name}) came to {ratio(commits.arrival.per_sync)} flushes each at {where} "
        f"in {time_measured([step])}"
    )


def _is_theirs(step: Step) -> bool:
    return _server(step).get("where") == "existing"


def _broken(step: Step) -> list[str]:
    if step.probe == "sqlite_commits":
        return [f"synchronous = {step.settings.get('synchronous')}"]
    return promises.broken_promises(_server(step))


def _cure(settings: list[str]) -> str:
    stated = " ".join(settings)
    if "innodb" in stated or "sync_binlog" in stated:
        return (
            "Durable: sync_binlog = 1 and innodb_flush_log_at_trx_commit = 1; on a managed service, in its parameters."
        )
    if "synchronous =" in stated:
        return "Durable: PRAGMA synchronous = FULL; with journal_mode DELETE, EXTRA."
    return "Durable: fsync = on and synchronous_commit = on; on a managed service, in its parameters."


def _title(step: Step) -> str:
    return str(_server(step).get("title") or f"SQLite {step.figures.get('sqlite', '')}".strip())


def _line(commits: Commits) -> str:
    arrival = commits.arrival
    flushes = arrival.flushes.low if arrival.flushes else 0
    return plain(
        f"{commits.step.name}: {count(flushes)} flushes for {count(arrival.syncs)} commits at "
        f"{words.devices(arrival.devices)} ({ratio(arrival.per_sync)}, {commits.owed:g} owed)"
    )
