"""*not-durable, high confidence; for the server's process, or for one step only*

## What it means
A database answered commits for which nothing was flushed. Either it promises that they are durable and its syncs never
reach the device, or its own settings say that it does not wait: `sync_binlog`, `innodb_flush_log_at_trx_commit`,
`fsync`, `synchronous_commit`, SQLite's `synchronous`. Of an existing server the latter counts against it; of a
throwaway server, which was asked to run so, it is said about the step only.

## How it was measured
Steps with one client and at least 20 commits. A commit is expected to send what one sync of a growing log sends on this
filesystem; that such a sync arrives is known from a step of the same run with the same call or flags. Flushes are field
16 of `/sys/block/X/stat`, where commits through O_DIRECT and O_DSYNC on a device with FUA send none; as root also the
flushes and FUA writes that anybody asked for beneath the filesystem, by the kernel's trace. The settings were read from
the server, the libraries from its `/proc/PID/maps`.

## What it proves, and what not
Other writers only add flushes, so too few stays too few. Many clients share one flush (group commit): they are not
judged. Nothing is said of a server whose data is on another filesystem.

## What to do next
`grep eatmydata /proc/PID/maps` and `grep Seccomp /proc/PID/status` of the server; or set it to durable commits and
compare what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.commits import CommitStep, CountedCommits
from fstui.model.judgement import Finding
from fstui.model.quantities import count, rate, ratio


@rule(place=10)
def commits_without_flushes(case: Case) -> Iterator[Finding]:
    """Commits that are not durable: against the server's word, or by its own settings."""
    if case.evidence.target is None:
        return
    lacking = case.commits.lacking
    against = [commits for commits in lacking if commits.promised.durable]
    if against:
        yield _against_its_word(case, against)
    theirs = [each for each in case.commits.all if each.promised.existing and each.promised.lossy and each.step.ops]
    if theirs:
        yield _by_setting(case, theirs, "process")
    ours = [
        CommitStep(commits.step, commits.promised)
        for commits in lacking
        if not commits.promised.durable and not commits.promised.existing
    ]
    if ours:
        yield _by_setting(case, ours, "step")


def _against_its_word(case: Case, found: list[CountedCommits]) -> Finding:
    worst = min(found, key=lambda commits: commits.each)
    step, promised, where = worst.step, worst.promised, words.devices(worst.devices)
    each, stubs = ratio(worst.each), promised.preloads
    cause = f"{', '.join(stubs)} is loaded into it and answers its syncs." if stubs else "Something answers its syncs."
    return Finding(
        rule="commits-without-flushes",
        verdict="not-durable",
        confidence="high",
        scope="process",
        title=f"{each} flushes per commit at {where}, {worst.expected:g} expected",
        sentence=f"{promised.database} promises durable commits ({', '.join(promised.settings)}), and "
        f"{count(step.ops)} of them ({step.name}) reached {where} as {count(worst.flushes)} flushes in "
        f"{words.time_measured([step])}: {each} each, where {worst.expected:g} is expected. {cause}",
        steps=words.names(commits.step for commits in found),
        because=(
            *(commits.because for commits in found),
            *(f"{promised.database}: {stub} in /proc/PID/maps" for stub in stubs),
            *case.commits.comparison(worst),
        ),
        next=(
            "Look at the server's process: grep -E 'eatmydata|nosync' /proc/PID/maps; grep Seccomp /proc/PID/status.",
        ),
    )


def _by_setting(case: Case, steps: Sequence[CommitStep], scope: Literal["process", "step"]) -> Finding:
    """Its own settings say so: of a server that is there a verdict, of a throwaway one what was asked for."""
    asked_of = [each.step for each in steps]
    found = [commits for commits in case.commits.counted if commits.step in asked_of]
    worst = min(found, key=lambda commits: commits.each, default=None)
    step, promised = (worst.step, worst.promised) if worst else steps[0]
    settings = tuple(dict.fromkeys(setting for each in steps for setting in each.promised.lossy))
    asked = "These settings were asked for. " if scope == "step" else "They were read from the server, not changed. "
    return Finding(
        rule="commits-without-flushes",
        verdict="not-durable",
        confidence="high",
        scope=scope,
        title=f"commits do not wait: {', '.join(settings)}",
        sentence=f"{promised.database} does not wait until a commit is on the disk ({', '.join(promised.lossy)})"
        f"{_came_to(case, worst)}. {asked}A power cut loses the newest ones, here {rate(step.rate_per_s)} for every "
        "second not yet written.",
        steps=words.names(asked_of),
        because=(
            *(f"{promised.database}: {setting}" for setting in promised.lossy),
            *(commits.because for commits in found),
        ),
        next=(words.durable_commits(settings),),
    )


def _came_to(case: Case, commits: CountedCommits | None) -> str:
    if commits is None:
        return ""
    most = "at most " if case.shared_with_others(commits.step) else ""
    return (
        f": {count(commits.step.ops)} commits ({commits.step.name}) came to {most}{ratio(commits.each)} flushes each "
        f"at {words.devices(commits.devices)} in {words.time_measured([commits.step])}"
    )
