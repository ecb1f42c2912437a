"""The entry point of both interfaces: the filesystems of a machine, what a run would do, and the run itself.

The app and the command line call the same functions, and so they show the same results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fstui.model.counters import Idle
from fstui.model.declaration import NO_DECLARATION, Declaration, with_declaration
from fstui.model.errors import Refused, sentence_of
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.storage import Target
from fstui.proc import MOUNTINFO

if TYPE_CHECKING:  # not needed for the first screen, and slow to import
    from fstui.databases.programs import Programs
    from fstui.model.plan import Plan
    from fstui.model.run import Round, Run
    from fstui.runs.machine.base import Machine
    from fstui.runs.rules import JudgementCache
    from fstui.runs.runner import RunInProgress
    from fstui.runs.scenarios import Scenario
    from fstui.runs.site import Site
    from fstui.runs.startup import StartupData
    from fstui.runs.watch import WatchInProgress


class Survey(NamedTuple):
    """The filesystems with the user's declarations, and judgements of their configuration."""

    inventory: Inventory
    judgements: dict[str, Judgement]
    """By mount point; pseudo filesystems have none."""


class Session:
    """A machine, and the user's declarations about its storage."""

    def __init__(self, machine: Machine, rate_limit: RateLimit = UNLIMITED) -> None:
        self.machine = machine
        self._rate_limit = rate_limit
        self._judgement_cache: JudgementCache | None = None
        self._declarations: dict[str, Declaration] | None = None
        """By target identity; None until they are read."""
        self.declarations_error = ""
        self.state_directory_error = ""
        """Why the state directory does not answer. Nothing can be saved then."""
        self._declarations_lock = asyncio.Lock()
        self._programs_lock = asyncio.Lock()
        self._programs: Programs | None = None
        """The installed programs. They are looked up again for each directory."""

    @classmethod
    def local(
        cls,
        cgroup_of_pid: int | None = None,
        *,
        trace: bool = True,
        trust_directory: bool = False,
        rate_limit: RateLimit = UNLIMITED,
    ) -> Session:
        """Return a session on this host. The arguments are those of ``LocalMachine``. Raises Refused."""
        from fstui.runs.machine.local import LocalMachine  # noqa: PLC0415

        if not Path(MOUNTINFO).exists():
            raise Refused("/proc is not mounted, so mounts and counters cannot be read. Run: mount -t proc proc /proc")
        machine = LocalMachine(cgroup_of_pid, trace=trace, trust_directory=trust_directory, rate_limit=rate_limit)
        return cls(machine, rate_limit)

    @classmethod
    def without_storage(cls) -> Session:
        """Return a session without storage, which can only plan."""
        from fstui.runs.machine.replay import NO_STORAGE, ReplayMachine  # noqa: PLC0415

        return cls.on_machine(ReplayMachine(NO_STORAGE))

    @classmethod
    def on_machine(cls, machine: Machine) -> Session:
        """Return a session on a machine other than this host, without declarations."""
        session = cls(machine)
        session._declarations = {}
        return session

    @property
    def simulated(self) -> str | None:
        return self.machine.simulated

    def filesystems(self) -> Inventory:
        """Return the filesystems without judging them. This cannot hang (see ``Machine.survey``)."""
        return self._with_declarations(self.machine.survey())

    def judged_filesystems(self) -> Survey:
        """Return the filesystems and judge their configuration. This cannot hang."""
        return self._judge(self.machine.survey())

    async def with_space(self, inventory: Inventory) -> Survey:
        """Add facts whose reading may hang: free space, the output of tools, and saved declarations."""
        updated_inventory, _ = await asyncio.gather(self.machine.with_space(inventory), self._read_declarations())
        return self._judge(updated_inventory)

    async def read_saved(self) -> StartupData:
        """Read the state directory. Raises OSError, and Refused if it does not answer."""
        from fstui.runs import startup  # noqa: PLC0415

        saved = await startup.read()
        self._declarations = saved.declarations
        return saved

    async def look_up(self, directory: str) -> Site:
        """Look a directory up, with the saved declaration of its storage. Raises Refused."""
        from fstui.runs.site import look_up  # noqa: PLC0415

        await self._read_declarations()
        self._programs = None
        site = await look_up(directory, self.machine)
        return site.with_declaration(self.saved_declaration(site))

    async def plan(self, scenario: Scenario, site: Site, settings: Mapping[str, str], typed_name: str = "") -> Plan:
        """Return the plan of a run at this site. ``typed_name``: the scenario as the user typed it. Raises Refused."""
        from fstui.runs import planner, scenarios  # noqa: PLC0415

        if self._programs is None and any(step.settings.program for step in scenarios.expand(scenario, settings)[1]):
            async with self._programs_lock:
                self._programs = self._programs or await self.machine.find_programs()
        installed = self._programs or planner.ALL_PROGRAMS
        return planner.plan(scenario, settings, site, installed, typed_name=typed_name, rate_limit=self._rate_limit)

    async def plan_by_name(
        self,
        name: str,
        directory: str,
        settings: Mapping[str, str] | None = None,
        declaration: Declaration = NO_DECLARATION,
    ) -> tuple[Site, Plan]:
        """Plan by the scenario's name or file. ``declaration`` overrides the saved declaration. Raises Refused."""
        from fstui.runs import scenarios  # noqa: PLC0415

        scenario = await scenarios.find(name)
        scenarios.expand(scenario, settings or {})  # report a mistake in the settings before accessing the directory
        site = await self.look_up(directory)
        site = site.with_declaration(declaration.combined_with(site.declaration))
        return site, await self.plan(scenario, site, settings or {}, typed_name=name)

    async def plan_again(self, run: Run, directory: str) -> tuple[Site, Plan]:
        """Plan the scenario of a saved run with its settings and declarations. Raises Refused."""
        from fstui.model.forms import changed_values  # noqa: PLC0415
        from fstui.runs import scenarios  # noqa: PLC0415

        if run.scenario is None:
            raise Refused("The saved run does not name its scenario.")
        scenario = await scenarios.find(run.scenario.name)
        settings = changed_values(scenario, run.scenario.settings)
        return await self.plan_by_name(run.scenario.name, directory, settings, _declaration_of(run))

    def start(self, plan: Plan, site: Site, idle: Idle | None = None, round_: Round | None = None) -> RunInProgress:
        """Return a run that begins when its events are read. ``idle``: the activity of the devices before the run."""
        from fstui.runs.runner import RunInProgress  # noqa: PLC0415

        return RunInProgress(plan, site, self.machine, idle, round_)

    async def watch(self, pid: int | None = None, directory: str | None = None) -> WatchInProgress:
        """Watch which programs wait for which files. Raises Refused, here or while the events are read."""
        from fstui.runs.watch import WaitWatch  # noqa: PLC0415

        return WaitWatch(self.machine, pid=pid, target=await self._target(directory))

    async def watch_risk(self, pid: int | None = None, directory: str | None = None) -> WatchInProgress:
        """Watch what programs would lose if the power failed. The arguments are those of ``watch``. Raises Refused."""
        from fstui.runs.watch import RiskWatch  # noqa: PLC0415

        return RiskWatch(self.machine, pid=pid, target=await self._target(directory))

    async def _target(self, directory: str | None) -> Target | None:
        return self.machine.target((await self.machine.inspect(directory)).path) if directory is not None else None

    def saved_declaration(self, site: Site) -> Declaration:
        return (self._declarations or {}).get(site.raw_target.identity, NO_DECLARATION)

    async def save_declaration(self, site: Site, declaration: Declaration) -> None:
        """Save the declaration of the storage. An empty declaration removes the saved one. Raises OSError, Refused."""
        identity = site.raw_target.identity
        if identity and declaration.text != self.saved_declaration(site).text:
            saved = replace(declaration, remembered=bool(declaration))
            self._declarations = {**(self._declarations or {}), identity: saved}
            async with self._declarations_lock:  # declarations are saved in the order of the calls
                await self.machine.save_declaration(identity, declaration)

    async def _read_declarations(self) -> None:
        """Read the saved declarations. If that fails, use none, and set ``declarations_error``."""
        if self._declarations is None:
            from fstui.measure.children import NoReply  # noqa: PLC0415
            from fstui.state import user_data  # noqa: PLC0415
            from fstui.state.paths import call_in_state_dir  # noqa: PLC0415

            try:
                self._declarations = await call_in_state_dir(user_data.declarations)
            except (OSError, Refused) as trouble:
                self._declarations = {}
                self.declarations_error = f"The saved declarations could not be read: {sentence_of(trouble)}"
                self.state_directory_error = str(trouble) if isinstance(trouble, NoReply) else ""

    def _judge(self, inventory: Inventory) -> Survey:
        from fstui.runs.rules import JudgementCache  # noqa: PLC0415  imports all rules, which takes a long time

        declared_inventory = self._with_declarations(inventory)
        self._judgement_cache = self._judgement_cache or JudgementCache()
        return Survey(declared_inventory, self._judgement_cache.judge(declared_inventory))

    def _with_declarations(self, inventory: Inventory) -> Inventory:
        saved = self._declarations or {}
        targets = (
            with_declaration(target, saved.get(target.identity, NO_DECLARATION)) for target in inventory.filesystems
        )
        return replace(inventory, filesystems=tuple(targets))


def _declaration_of(run: Run) -> Declaration:
    """Return the user's declaration from a saved run. It applies to all lowest devices, so the first is enough."""
    lowest = run.target.lowest if run.target else ()
    medium = next((node.medium for node in lowest if node.medium), None)
    if medium is None or not medium.declared:
        return NO_DECLARATION
    return Declaration(medium=medium.class_, write_cache=medium.write_cache)
