"""* not-durable, high confidence, for the server's process: the flushes of its commits do not arrive
* not-durable, high confidence, for the server's process: it was already running with settings that allow the loss of
  commits
* not-durable, high confidence, for one step: fstui itself started the server with such settings

## What it means
A database acknowledged commits before they were durable. Possible reasons:

- Its settings require durable commits, but its syncs do not reach the device.
- Its settings let it acknowledge a commit before the log is flushed: `sync_binlog`,
  `innodb_flush_log_at_trx_commit`, `fsync`, `synchronous_commit`, or SQLite's `synchronous`.

## How it was measured
fstui counted the flushes of each step with one client and at least 20 commits. A commit is expected to send as many
flushes as one sync of a growing log file. Fewer than 90 % of these flushes arrived.

As a control, fstui itself made syncs in the same run, with the same system call or open flags. The flushes of these
syncs arrived. The control is not needed if a library that stubs syncs is loaded into the server (`/proc/PID/maps`).
fstui reads the settings from the database. If a server was already running, unsafe settings are enough for the verdict,
even if all counted flushes arrived.

## What it proves, and what it does not
Other processes only add flushes, so it is certain that flushes are missing. If there are several clients, fstui
does not count flushes, because commits share them (group commit). It also does not count them if the server stores
its data on a filesystem other than the tested one.

## What to do next
If the settings are the cause, change them, run again, and compare the rates. If the flushes do not arrive, look for a
library or a filter in the server's process: `grep eatmydata /proc/PID/maps`, `grep Seccomp /proc/PID/status`.
"""

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.commits import CommitStep, CountedCommits
from fstui.judge.facts.step_counts import StepCounts
from fstui.model.quantities import count, rate, ratio


@rule(order=10)
def commits_without_flushes(case: Case) -> Iterator[Conclusion]:
    if case.evidence.target is None:
        return
    missing = case.commits.missing_flushes
    durable = [commits for commits in missing if commits.settings.durable]
    if durable:
        yield _missing_flushes(case, durable)
    on_existing = (commits for commits in case.commits.all if commits.settings.existing and commits.step.ops)
    if existing := [commits for commits in on_existing if commits.settings.lossy]:
        yield _unsafe_settings(case, existing, throwaway=False)
    if throwaway := [commits for commits in missing if not (commits.settings.durable or commits.settings.existing)]:
        yield _unsafe_settings(case, throwaway, throwaway=True)


def _missing_flushes(case: Case, missing: Sequence[CountedCommits]) -> Conclusion:
    worst = min(missing, key=lambda commits: commits.arrival.per_sync)
    step, settings, arrival, where = worst.step, worst.settings, worst.arrival, words.devices(worst.arrival.devices)
    per_commit, libraries = ratio(arrival.per_sync), settings.preloads
    cause = f"A layer above {where} drops flushes."
    if libraries:
        cause = f"{', '.join(libraries)} is loaded into the server and stubs its syncs."
    return Conclusion(
        title=f"{per_commit} flushes per commit at {where}, {worst.expected:g} expected",
        sentence=f"{settings.database} is configured for durable commits ({', '.join(settings.settings)}), and "
        f"{arrival.operations(step, 'commits')} ({step.name}) produced {count(arrival.flushes)} flushes at {where} "
        f"in {words.time_measured([arrival.part(step)])}: {per_commit} each, {worst.expected:g} expected. {cause}",
        verdict="not-durable",
        scope="process",
        steps=[commits.step for commits in missing],
        evidence=(
            *(commits.evidence for commits in missing),
            *(f"{settings.database}: {library} in /proc/PID/maps" for library in libraries),
            *case.commits.comparison(worst),
        ),
        next=(
            words.LOOK_AT_LIBRARIES,
            "Look for a filter of the server's system calls: 'grep Seccomp /proc/PID/status'.",
        ),
    )


def _unsafe_settings(case: Case, all_commits: Sequence[CommitStep | CountedCommits], *, throwaway: bool) -> Conclusion:
    """Conclude from the server's own settings: about an existing server, or about the step of a throwaway one."""
    steps = [commits.step for commits in all_commits]
    counted = [commits for commits in case.commits.counted if commits.step in steps]
    worst = min(counted, key=lambda commits: commits.arrival.per_sync, default=None)
    example = worst or all_commits[0]
    step, settings = example.step, example.settings
    all_lossy = tuple(dict.fromkeys(setting for commits in all_commits for setting in commits.settings.lossy))
    origin = "fstui read these settings from the server, and did not change them."
    if throwaway:
        origin = "The step was run with these settings."
    return Conclusion(
        title=f"unsynced commits: {', '.join([step.name for step in steps] if throwaway else all_lossy)}",
        sentence=f"{settings.database} does not wait until a commit is on the disk ({', '.join(settings.lossy)})"
        f"{_flushes_clause(case, worst)}. {origin} A power cut loses the newest commits: at this rate "
        f"{rate(step.rate_per_s)} for every second of log that is not yet on the disk.",
        verdict="not-durable",
        scope="step" if throwaway else "process",
        steps=steps,
        evidence=(
            *(f"{settings.database}: {setting}" for setting in settings.lossy),
            *(commits.evidence for commits in counted),
        ),
        next=(words.durable_commits_advice(all_lossy),),
    )


def _flushes_clause(case: Case, commits: CountedCommits | None) -> str:
    if commits is None:
        return ""
    at_most = "at most " if StepCounts(case).shared_with_others(commits.step) else ""
    return (
        f": {count(commits.step.ops)} commits ({commits.step.name}) sent {at_most}{ratio(commits.arrival.per_sync)} "
        f"flushes each to {words.devices(commits.arrival.devices)} in {words.time_measured([commits.step])}"
    )
