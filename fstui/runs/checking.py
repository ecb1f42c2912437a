"""Check many filesystems quickly, one after another: choose the filesystems, and a directory on each."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
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
MAX_BYTES = {CHECK: caution.LIGHT_RUN_BYTES, FIT: 200_000_000}
"""Maximum number of bytes that a scenario writes per filesystem. They are removed at the end."""
TIMEOUT_S = 20.0
"""Time limit per filesystem. A check measures for two seconds; a slow host also needs time before and after."""
_NAME_IT_HINT = "name it to have it checked"


class Subject(NamedTuple):
    name: str
    site: Site
    concerns: tuple[str, ...] = ()


class SkippedFilesystem(NamedTuple):
    name: str
    reason: str
    is_failure: bool = False
    """Whether the exit status must show that it was not checked: because the user named it, or because it hangs."""


class Checkup:
    """A check of all filesystems of a machine, or of the filesystems of directories that the user names."""

    def __init__(
        self,
        session: Session,
        directories: Sequence[str] = (),
        *,
        scenario: str = CHECK,
        settings: Mapping[str, str] = {},
    ) -> None:
        self._session = session
        self._directories = directories
        self._scenario = scenario
        self._settings = settings
        self.subjects: list[Subject] = []
        self.skipped: list[SkippedFilesystem] = []
        self.idle = Idle()

    async def find_filesystems(self) -> None:
        """Find filesystems and watch their devices for 1 s. Raises Refused if a given directory cannot be checked."""
        if self._directories:
            await self._add_directories()
        else:
            survey = await self._session.with_space(self._session.judged_filesystems().inventory)
            await self.choose(survey.inventory.filesystems, survey.judgements)
        self.idle = await caution.watch_idle(self._session, (subject.site.raw_target for subject in self.subjects))
        self.subjects = [subject._replace(concerns=self._concerns(subject.site)) for subject in self.subjects]

    def skip(self, subject: Subject, reason: str) -> None:
        self.subjects.remove(subject)
        self.skipped.append(SkippedFilesystem(subject.name, reason))

    async def begin(self, subject: Subject) -> RunInProgress:
        """Return the run of a subject. It begins when its events are read. Raises Refused."""
        scenario = await scenarios.find(self._scenario)
        plan = await self._session.plan(scenario, subject.site, self._settings)
        return self._session.start(plan, subject.site, self.idle)

    async def _add_directories(self) -> None:
        for directory in dict.fromkeys(self._directories):
            site = await self._session.look_up(directory)
            site.check_writable()
            self.subjects.append(Subject(site.raw_target.path, site))

    async def choose(self, filesystems: Sequence[Target], judgements: Mapping[str, Judgement]) -> None:
        """Choose the filesystems that can be written to, and only one mount of each. ``judgements``: by mount point."""
        mounts = [target.mount_point for target in filesystems]
        first_mounts: dict[object, str] = {}
        suitable_targets: list[Target] = []
        for target in filesystems:
            mount_point = target.mount_point
            if reason := _skip_reason(target):
                self.skipped.append(_skipped(target, reason, judgements.get(mount_point)))
            elif (first := first_mounts.setdefault(_filesystem_key(target), mount_point)) != mount_point:
                self.skipped.append(SkippedFilesystem(mount_point, f"the same filesystem as {first}"))
            else:
                suitable_targets.append(target)
        for outcome in await asyncio.gather(*(self._subject_on(target, mounts) for target in suitable_targets)):
            if isinstance(outcome, Subject):
                self.subjects.append(outcome)
            else:
                self.skipped.append(outcome)

    async def _subject_on(self, target: Target, mounts: Sequence[str]) -> Subject | SkippedFilesystem:
        reason = ""
        for directory in dict.fromkeys([target.mount_point, *usual_directories(target.mount_point, mounts)]):
            try:
                site = await self._session.look_up(directory)
            except Refused as refused:
                return SkippedFilesystem(target.mount_point, str(refused))
            try:
                site.check_writable()
                return Subject(target.mount_point, site)
            except Refused as refused:
                reason = reason or str(refused)
        return SkippedFilesystem(target.mount_point, reason)

    def _concerns(self, site: Site) -> tuple[str, ...]:
        max_bytes = MAX_BYTES[self._scenario]
        return caution.concerns(self._session, site, self.idle.busy_shares, max_bytes, max_bytes)


async def events_until_timeout(running: RunInProgress) -> AsyncIterator[Event]:
    """Yield a run's events, and stop the run after TIMEOUT_S. What was measured until then is judged."""
    timeout = asyncio.get_running_loop().call_later(TIMEOUT_S, running.stop_at_limit, TIMEOUT_S)
    try:
        async for event in running.events():
            yield event
    finally:
        timeout.cancel()


def names_by_reason(skipped: Iterable[SkippedFilesystem]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for filesystem in skipped:
        names.setdefault(filesystem.reason, []).append(filesystem.name)
    return names


def _skip_reason(target: Target) -> str:
    """Return why this filesystem is not checked unless the user names it; empty if it is checked."""
    if target.pseudo:
        return "stores no data"
    if target.silent_s is not None:
        return f"hangs: statvfs has not returned for {seconds(target.silent_s)}"
    if "ro" in target.mount_options or kind(target.fstype).read_only:
        return "read-only"
    if kind(target.fstype).in_memory:
        return f"in memory ({target.fstype}): {_NAME_IT_HINT}"
    is_inside = kind(target.fstype).uses_directory and target.mount_point != "/"
    return f"stored in a directory of another filesystem, as in a container: {_NAME_IT_HINT}" if is_inside else ""


def _skipped(target: Target, reason: str, judgement: Judgement | None) -> SkippedFilesystem:
    if verdict := _configuration_verdict(judgement):
        reason = f"{verdict}; {_NAME_IT_HINT if reason.endswith(_NAME_IT_HINT) else reason}"
    is_hung = target.silent_s is not None and not target.pseudo
    return SkippedFilesystem(target.mount_point, reason, is_failure=is_hung)


def _configuration_verdict(judgement: Judgement | None) -> str:
    """Return the verdict on a configuration that needs no measurement; empty if the configuration may be durable."""
    for finding in judgement.findings if judgement else ():
        if finding.verdict in NOT_TRUSTED:
            return f"{finding.verdict}, {finding.confidence} confidence: {finding.title}"
    return ""


def _filesystem_key(target: Target) -> object:
    """Return a value that all mounts of one filesystem share, including bind mounts and subvolumes."""
    is_on_device = target.source.startswith("/")
    return (target.fstype, target.source) if is_on_device else (target.fstype, target.source, target.identity)
