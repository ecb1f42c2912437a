"""*not-durable, high confidence; for the server's process, or for one step only*

## What it means
A database acknowledged commits before they were durable. There are two cases:

- Its settings require durable commits, but its syncs never reach the device.
- Its settings let it acknowledge a commit before the flush: `sync_binlog`, `innodb_flush_log_at_trx_commit`, `fsync`,
  `synchronous_commit`, SQLite's `synchronous`. For an existing server this is the verdict; for a throwaway server that
  fstui started with these settings, it concerns that step only.

## How it was measured
Steps with one client and at least 20 commits. A commit is expected to send as many flushes as one sync of a growing log
does on this filesystem. A step of the same run with the same system call or open flags shows that such syncs arrive.
Settings were read from the server, libraries from its `/proc/PID/maps`.

## What it proves, and what it does not
Other processes only add flushes, so a shortage is certain. Many clients share one flush (group commit), so their
commits are not judged. A server whose data is on another filesystem is not judged either.

## What to do next
Check the server: `grep eatmydata /proc/PID/maps`, `grep Seccomp /proc/PID/status`. Or set it to durable commits and
compare the rates.
"""

from __future__ import annotations

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
        yield _despite_settings(case, durable)
    of_existing = (commits for commits in case.commits.all if commits.settings.existing and commits.step.ops)
    if existing := [commits for commits in of_existing if commits.settings.lossy]:
        yield _by_settings(case, existing, throwaway=False)
    if throwaway := [commits for commits in missing if not (commits.settings.durable or commits.settings.existing)]:
        yield _by_settings(case, throwaway, throwaway=True)


def _despite_settings(case: Case, missing: Sequence[CountedCommits]) -> Conclusion:
    worst = min(missing, key=lambda commits: commits.arrival.per_sync)
    step, promised, where = worst.step, worst.settings, words.devices(worst.arrival.devices)
    per_commit, libraries = ratio(worst.arrival.per_sync), promised.preloads
    cause = "A layer above answers them."
    if libraries:
        cause = f"{', '.join(libraries)} is loaded into it and answers its syncs."
    return Conclusion(
        title=f"{per_commit} flushes per commit at {where}, {worst.expected:g} expected",
        sentence=f"{promised.database} is set to durable commits ({', '.join(promised.settings)}), and "
        f"{count(step.ops)} of them ({step.name}) produced {count(worst.arrival.flushes)} flushes at {where} in "
        f"{words.time_measured([step])}: {per_commit} each, {worst.expected:g} expected. {cause}",
        verdict="not-durable",
        scope="process",
        steps=[commits.step for commits in missing],
        evidence=(
            *(commits.evidence for commits in missing),
            *(f"{promised.database}: {library} in /proc/PID/maps" for library in libraries),
            *case.commits.comparison(worst),
        ),
        next=(
            words.LOOK_AT_LIBRARIES,
            "Look for a filter of the server's system calls: 'grep Seccomp /proc/PID/status'.",
        ),
    )


def _by_settings(case: Case, all_commits: Sequence[CommitStep | CountedCommits], *, throwaway: bool) -> Conclusion:
    """Conclude from the server's own settings: about an existing server, or about the step of a throwaway one."""
    steps = [commits.step for commits in all_commits]
    counted = [commits for commits in case.commits.counted if commits.step in steps]
    worst = min(counted, key=lambda commits: commits.arrival.per_sync, default=None)
    example = worst or all_commits[0]
    step, promised = example.step, example.settings
    settings = tuple(dict.fromkeys(setting for commits in all_commits for setting in commits.settings.lossy))
    origin = "The step was run with these settings." if throwaway else "They were read from the server, not changed."
    return Conclusion(
        title=f"commits do not wait: {', '.join([step.name for step in steps] if throwaway else settings)}",
        sentence=f"{promised.database} does not wait until a commit is on the disk ({', '.join(promised.lossy)})"
        f"{_flushes_clause(case, worst)}. {origin} A power cut loses the newest commits: at this rate "
        f"{rate(step.rate_per_s)} for every second of log that is not yet on the disk.",
        verdict="not-durable",
        scope="step" if throwaway else "process",
        steps=steps,
        evidence=(
            *(f"{promised.database}: {setting}" for setting in promised.lossy),
            *(commits.evidence for commits in counted),
        ),
        next=(words.durable_commits(settings),),
    )


def _flushes_clause(case: Case, commits: CountedCommits | None) -> str:
    if commits is None:
        return ""
    at_most = "at most " if StepCounts(case).shared_with_others(commits.step) else ""
    return (
        f": {count(commits.step.ops)} commits ({commits.step.name}) sent {at_most}{ratio(commits.arrival.per_sync)} "
        f"flushes each to {words.devices(commits.arrival.devices)} in {words.time_measured([commits.step])}"
    )
