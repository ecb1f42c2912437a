"""The quick check of many filesystems, one after another: which ones, and in which directory of each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fstui.model.counters import Idle
from fstui.model.errors import Refused
from fstui.model.events import Event
from fstui.model.judgement import NOT_TRUSTED, Judgement
from fstui.model.quantities import seconds
from fstui.model.storage import Target
from fstui.runs import caution, scenarios
from fstui.runs.runner import RunInProgress
from fstui.runs.session import Session
from fstui.runs.site import Site, usual_directories
from fstui.storage.layers import kind

CHECK = "check"
FIT = "fit"
ENOUGH_TRACED = 200
"""This many syncs per step are enough if the trace shows who requested each flush."""
MAX_BYTES = {CHECK: caution.SMALL_BYTES, FIT: 200_000_000}
"""The most that is written, and removed again, per filesystem."""
TIMEOUT_S = 20.0
"""Time limit per filesystem. A check measures for two seconds; a slow host also needs time before and after."""
_NO_JUDGEMENTS: Mapping[str, Judgement] = {}
_NAME_IT = "name it to have it checked"


class Subject(NamedTuple):
    name: str
    site: Site
    concerns: tuple[str, ...] = ()


class SkippedFilesystem(NamedTuple):
    name: str
    reason: str
    trouble: bool = False
    """It was named, or does not answer: the exit status must show that it was not checked."""


class Checkup:
    """A check of all filesystems of a machine, or of those that hold the named directories."""

    def __init__(
        self, session: Session, directories: Sequence[str] = (), *, scenario: str = CHECK, traced: bool = True
    ) -> None:
        self._session = session
        self._directories = directories
        self._scenario = scenario
        quick = scenario == CHECK and traced and os.geteuid() == 0
        self._settings = {"syncs": str(ENOUGH_TRACED)} if quick else {}
        self.subjects: list[Subject] = []
        self.left_out: list[SkippedFilesystem] = []
        self.idle = Idle()

    async def find_filesystems(self) -> None:
        """Find the filesystems, and watch their devices for a second. Raises Refused if a directory does not exist."""
        if self._directories:
            await self._named()
        else:
            survey = await self._session.with_space(self._session.judged_filesystems().inventory)
            await self.choose(survey.inventory.filesystems, survey.judgements)
        self.idle = await caution.watched(self._session, (subject.site.surveyed for subject in self.subjects))
        self.subjects = [subject._replace(concerns=self._concerns(subject.site)) for subject in self.subjects]

    def leave_out(self, subject: Subject, reason: str) -> None:
        self.subjects.remove(subject)
        self.left_out.append(SkippedFilesystem(subject.name, reason))

    async def begin(self, subject: Subject) -> RunInProgress:
        """Return the run of a subject, which begins when its events are read. Raises Refused."""
        scenario = await scenarios.named(self._scenario)
        return self._session.start(
            await self._session.plan(scenario, subject.site, self._settings), subject.site, self.idle
        )

    async def _named(self) -> None:
        for directory in dict.fromkeys(self._directories):
            site = await self._session.look_up(directory)
            site.check_writable()
            self.subjects.append(Subject(site.surveyed.path, site))

    async def choose(self, filesystems: Sequence[Target], judgements: Mapping[str, Judgement] = _NO_JUDGEMENTS) -> None:
        """Choose the filesystems that can be written to, each once. ``judgements``: by mount point."""
        mounts = [target.mount_point for target in filesystems]
        seen: dict[object, str] = {}
        fit: list[Target] = []
        for target in filesystems:
            reason = _unfit(target)
            first = target.mount_point if reason else seen.setdefault(_same(target), target.mount_point)
            is_repeated = first != target.mount_point
            if is_repeated:
                reason = f"the same filesystem as {first}"
            if reason:
                silent = target.silent_s is not None and not target.pseudo
                if not is_repeated and (known := _by_configuration(judgements.get(target.mount_point))):
                    reason = f"{known}; {_NAME_IT if reason.endswith(_NAME_IT) else reason}"
                self.left_out.append(SkippedFilesystem(target.mount_point, reason, trouble=silent))
            else:
                fit.append(target)
        for found in await asyncio.gather(*(self._subject_on(target, mounts) for target in fit)):
            (self.subjects if isinstance(found, Subject) else self.left_out).append(found)  # type: ignore[arg-type]

    async def _subject_on(self, target: Target, mounts: Sequence[str]) -> Subject | SkippedFilesystem:
        left_out: SkippedFilesystem | None = None
        for directory in dict.fromkeys([target.mount_point, *usual_directories(target.mount_point, mounts)]):
            try:
                site = await self._session.look_up(directory)
            except Refused as refused:
                return SkippedFilesystem(target.mount_point, str(refused))
            try:
                site.check_writable()
                return Subject(target.mount_point, site)
            except Refused as refused:
                left_out = left_out or SkippedFilesystem(target.mount_point, str(refused))
        assert left_out is not None
        return left_out

    def _concerns(self, site: Site) -> tuple[str, ...]:
        most = MAX_BYTES[self._scenario]
        return caution.concerns(self._session, site, self.idle.busy_shares, most, most)


async def followed(running: RunInProgress) -> AsyncIterator[Event]:
    """Yield a run's events, and stop it if it takes far too long. The steps so far are judged."""
    giving_up = asyncio.get_running_loop().call_later(TIMEOUT_S, running.stop)
    try:
        async for event in running.events():
            yield event
    finally:
        giving_up.cancel()


def grouped(left_out: Iterable[SkippedFilesystem]) -> Iterator[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = {}
    for one in left_out:
        reasons.setdefault(one.reason, []).append(one.name)
    yield from reasons.items()


def _unfit(target: Target) -> str:
    """Return why this filesystem is not checked unless it is named; empty if it is checked."""
    if target.pseudo:
        return "stores no data"
    if target.silent_s is not None:
        return f"does not answer: silent for {seconds(target.silent_s)}"
    if "ro" in target.mount_options or kind(target.fstype).read_only:
        return "read-only"
    if kind(target.fstype).in_memory:
        return f"in memory ({target.fstype}): {_NAME_IT}"
    inside = kind(target.fstype).over_filesystem and target.mount_point != "/"
    return f"stored in another filesystem, as that of a container: {_NAME_IT}" if inside else ""


def _by_configuration(judgement: Judgement | None) -> str:
    """Return what the configuration alone decides, without a byte written; empty if it decides nothing."""
    found = next((each for each in judgement.findings if each.verdict in NOT_TRUSTED), None) if judgement else None
    return f"{found.verdict}, {found.confidence} confidence: {found.title}" if found else ""


def _same(target: Target) -> object:
    """Return what two mounts of the same filesystem have in common, such as bind mounts and subvolumes."""
    of_device = target.source.startswith("/")
    return (target.fstype, target.source) if of_device else (target.fstype, target.source, target.identity)
