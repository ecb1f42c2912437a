"""All that a face may ask: what is here, what a run would do, the run itself, and what is kept of the ones before.

The terminal app and the command line ask the same questions here, and so get the same answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fstui.model.counters import Counters, Idle
from fstui.model.declaration import NOTHING, Declaration, declared
from fstui.model.errors import Refused
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.plan import Plan
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import Round, Run
from fstui.model.storage import Node

if TYPE_CHECKING:  # the first screen comes without these
    from fstui.databases.programs import Installed
    from fstui.model.activity import HostActivity
    from fstui.runs.machine.base import Machine
    from fstui.runs.rules import Flags
    from fstui.runs.runner import RunInProgress
    from fstui.runs.scenarios import Scenario
    from fstui.runs.site import Site
    from fstui.runs.startup import Before
    from fstui.runs.watch import Watching


class Survey(NamedTuple):
    """What is here, with what was declared of it, and what the configuration alone decides."""

    inventory: Inventory
    flags: dict[str, Judgement]
    """By mount point; pseudo filesystems have none."""


class Session:
    """One box, and what the user has said of it."""

    def __init__(self, machine: Machine, rate_limit: RateLimit = UNLIMITED) -> None:
        self.machine = machine
        self._rate_limit = rate_limit
        self._flags: Flags | None = None
        """From the first time that anything is judged."""
        self._declared: dict[str, Declaration] | None = None
        """By target identity; None until they have been read."""
        self.trouble = ""
        """Why that could not be read."""
        self.home_hangs = ""
        """It gave no answer: nothing can be noted there, or saved."""
        self._remembering = asyncio.Lock()
        self._looking_for_programs = asyncio.Lock()
        self._installed: Installed | None = None
        """As of the time when the last directory was looked up."""

    @classmethod
    def here(
        cls, like: int | None = None, *, trace: bool = True, trusting: bool = False, rate_limit: RateLimit = UNLIMITED
    ) -> Session:
        """This box; with ``like`` as the process of that id meets it. Raises Refused where that cannot be.

        ``trace``: runs ask the kernel whose flushes they are, where it can be asked. ``trusting``: root writes also
        where another user may rename what is written. ``rate_limit``: what its runs hold themselves back to.
        """
        from fstui.runs.machine.local import LocalMachine  # noqa: PLC0415

        machine = LocalMachine(like=like, trace=trace, trusting=trusting, rate_limit=rate_limit)
        return cls(machine, rate_limit)

    @classmethod
    def nowhere(cls) -> Session:
        """A box without storage: what a scenario takes does not depend on where it runs."""
        from fstui.runs.machine.replay import NOWHERE, ReplayMachine  # noqa: PLC0415

        return cls.of_machine(ReplayMachine(NOWHERE))

    @classmethod
    def of_machine(cls, machine: Machine) -> Session:
        """Another box than this one: nothing was ever declared of its storage."""
        session = cls(machine)
        session._declared = {}
        return session

    @property
    def simulated(self) -> str | None:
        """What the numbers come from, where it is not this box."""
        return self.machine.simulated

    def changed(self) -> bool:
        """Something was mounted, unmounted, plugged or unplugged since this was last asked: time for a survey."""
        return self.machine.changed()

    def seen(self) -> Inventory:
        """What is here, from /proc and /sys, so that it cannot hang; judged by nobody yet."""
        return self._with_declared(self.machine.survey())

    def survey(self) -> Survey:
        """The same, judged."""
        return self._judged(self.machine.survey())

    async def with_space(self, inventory: Inventory) -> Survey:
        """The same with what may take its time: free space, tools' answers, what was declared on other days."""
        found, _ = await asyncio.gather(self.machine.with_space(inventory), self._recall())
        return self._judged(found)

    def counters(self, nodes: Iterable[Node]) -> Counters:
        """What these layers have counted so far."""
        return self.machine.counters(nodes)

    def at_work(self) -> AsyncGenerator[HostActivity]:
        """Who writes and which databases run, again and again, until it is closed. Raises OSError."""
        return self.machine.at_work()

    async def from_before(self) -> Before:
        """What other days have left for this one. Raises OSError, and Refused where the home gives no answer."""
        from fstui.runs import startup  # noqa: PLC0415
        from fstui.state.paths import in_home  # noqa: PLC0415

        before = await in_home(startup.from_before)
        self._declared = before.declared
        return before

    async def look_up(self, directory: str) -> Site:
        """A directory, with what was declared of its storage on other days. Raises Refused."""
        from fstui.runs import site  # noqa: PLC0415

        await self._recall()
        self._installed = None
        found = await site.look_up(directory, self.machine)
        return found.declare(self.remembered(found))

    async def plan(self, scenario: Scenario, site: Site, settings: Mapping[str, str], called: str = "") -> Plan:
        """What a run of the scenario would do there; ``called`` is its file. Raises Refused with a sentence."""
        from fstui.runs import planner  # noqa: PLC0415

        if self._installed is None and planner.wants_programs(scenario, settings):
            async with self._looking_for_programs:
                self._installed = self._installed or await self.machine.installed()
        installed = self._installed or planner.EVERYTHING
        return planner.plan(scenario, settings, site, installed, called=called, rate_limit=self._rate_limit)

    async def planned(
        self, name: str, directory: str, settings: Mapping[str, str] | None = None, said: Declaration = NOTHING
    ) -> tuple[Site, Plan]:
        """The same by the scenario's name or file. What is said now beats what was declared before."""
        from fstui.runs import scenarios  # noqa: PLC0415

        scenario = await scenarios.named(name)
        scenarios.check(scenario, settings or {})  # a mistake there is named before the directory is touched
        site = await self.look_up(directory)
        site = site.declare(said.over(site.declaration))
        return site, await self.plan(scenario, site, settings or {}, called=name)

    async def planned_again(self, run: Run, directory: str) -> tuple[Site, Plan]:
        """The same scenario with the same settings and declarations. Raises Refused."""
        from fstui.runs import scenarios  # noqa: PLC0415

        if run.scenario is None:
            raise Refused("The saved run does not say what was run.")
        scenario = await scenarios.named(run.scenario.name)
        settings = scenarios.changed(scenario, run.scenario.settings)
        return await self.planned(run.scenario.name, directory, settings, _declaration_of(run))

    def start(self, plan: Plan, site: Site, idle: Idle | None = None, round_: Round | None = None) -> RunInProgress:
        """The run, which begins when its events are taken. ``idle``: its devices were watched already, just now."""
        from fstui.runs.runner import RunInProgress  # noqa: PLC0415

        return RunInProgress(plan, site, self.machine, idle, round_)

    async def watch(self, pid: int | None = None, directory: str | None = None) -> Watching:
        """Who waits for which file: everybody, that process with its children, or all on that directory's filesystem.

        It begins when its events are taken, which raises Refused, too, where there is nobody to watch. Raises Refused.
        """
        from fstui.runs.watch import Watching  # noqa: PLC0415

        target = None
        if directory is not None:
            target = self.machine.target((await self.machine.inspect(directory)).path)
        return Watching(self.machine, pid=pid, target=target)

    def remembered(self, site: Site) -> Declaration:
        """What was declared of that storage, when something was last run on it."""
        return (self._declared or {}).get(site.read.identity, NOTHING)

    async def remember(self, site: Site, said: Declaration) -> None:
        """Keep what is declared of that storage; nothing said, nothing kept. Raises OSError, Refused."""
        identity = site.read.identity
        if identity and said.words != self.remembered(site).words:
            self._declared = {**(self._declared or {}), identity: replace(said, remembered=bool(said))}
            async with self._remembering:  # the later word lasts
                await self.machine.remember(identity, said)

    async def _recall(self) -> None:
        """A home that cannot be read declares nothing, and is told of."""
        if self._declared is None:
            from fstui.measure.children import NoAnswer  # noqa: PLC0415
            from fstui.state import user_data  # noqa: PLC0415
            from fstui.state.paths import in_home  # noqa: PLC0415

            try:
                self._declared = await in_home(user_data.declarations)
            except (OSError, Refused) as trouble:
                self._declared = {}
                self.trouble = f"what was declared of storages is not known: {trouble}"
                self.home_hangs = str(trouble) if isinstance(trouble, NoAnswer) else ""

    def _judged(self, inventory: Inventory) -> Survey:
        from fstui.runs.rules import Flags  # noqa: PLC0415  all rules: a fifth of the time to the first frame

        known = self._with_declared(inventory)
        self._flags = self._flags or Flags()
        return Survey(known, self._flags.of(known))

    def _with_declared(self, inventory: Inventory) -> Inventory:
        said = self._declared or {}
        targets = (declared(target, said.get(target.identity, NOTHING)) for target in inventory.filesystems)
        return replace(inventory, filesystems=tuple(targets))


def _declaration_of(run: Run) -> Declaration:
    """Return what the user had declared of a saved run's storage."""
    media = (node.medium for node in run.target.lowest if node.medium) if run.target else iter(())
    medium = next(media, None)
    if medium is None or not medium.declared:
        return NOTHING
    return Declaration(medium=medium.class_, write_cache=medium.write_cache)
