"""What can be run in a directory, with what is chosen there: all of the plan screen but the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.runs import power_cut
from fstui.runs.runner import RunInProgress
from fstui.runs.scenarios import Form, Scenario
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.tui.choices import Choices
from fstui.tui.drawing.plan import Offer, of_plan, power_cut_outlook


class Offers:
    """Scenarios and the power-cut check, each with its plan once that is made."""

    def __init__(self, session: Session, directory: str, others: Sequence[str] = ()) -> None:
        self.directory = directory
        self.site: Site | None = None
        """Looked up once: what is chosen changes the plans, not the place."""
        self.every: list[Offer] = []
        self.choices = Choices()
        self._session = session
        self._others = list(others)
        """On the same mount, to be tried where the first is refused: a mount point is seldom an ordinary user's."""
        self._refusal = ""
        """Why nothing can be run here."""
        self._under_way: set[int] = set()
        self._before: list[Choices] = []
        self._made_last: list[tuple[Declaration, Declaration]] = []
        """What runs from here were declared with, each with what was remembered of this storage until then."""

    def add(self, known: Iterable[tuple[str, Form]]) -> None:
        self.every += [Offer(name, form) for name, form in known]

    def at(self, name: str) -> int:
        """Where the scenario of that name stands; the first where there is none."""
        return next((at for at, offer in enumerate(self.every) if offer.name == name), 0)

    async def look_up(self) -> str:
        """The directory, or where it is refused the first of the others that is not; words where it is another one."""
        asked = self.directory
        self.site, self._refusal = await self._looked_up(asked)
        while self.site is None and self._others:
            self.directory = self._others.pop(0)
            self.site, _ = await self._looked_up(self.directory)
        if self.site is None:
            self.directory = asked
            return ""
        self._recall(self.site.declaration)
        moved = self.directory != asked
        return f"{asked} is refused: {self.directory} is on the same mount. d names another." if moved else ""

    def waiting(self) -> list[int]:
        """Which have no plan yet and no refusal, and none is being made; empty until the directory is looked up."""
        if not (self.site or self._refusal):
            return []
        unplanned = (at for at, offer in enumerate(self.every) if not offer.outlook and not offer.refusal)
        return [at for at in unplanned if at not in self._under_way]

    def least(self) -> int | None:
        """Which of those that end by themselves writes least."""
        planned = [(at, offer.plan) for at, offer in enumerate(self.every) if offer.plan and offer.plan.seconds]
        least = min(planned, key=lambda each: each[1].max_bytes + each[1].server_bytes, default=None)
        return least[0] if least else None

    async def plan(self, index: int) -> bool:
        """Make its plan; False where something else was chosen meanwhile."""
        offer = self.every[index]
        self._under_way.add(index)
        try:
            planned = await self._planned(offer)
        finally:
            self._under_way.discard(index)
        if offer is not self.every[index]:
            return False
        self.every[index] = planned
        return True

    def choose(self, chosen: Choices) -> None:
        """Another choice, which can be taken back. No plan made for other choices can be started."""
        self._before.append(self.choices)
        self.choices = chosen
        self._forget_plans()

    def take_back(self) -> Declaration | None:
        """The last choice. Where a run has made it last: what was remembered until then, which is to be again."""
        if not self._before:
            return None
        taken, self.choices = self.choices.declaration, self._before.pop()
        self._forget_plans()
        ran_with = self._made_last[-1][0].words if self._made_last else None
        return self._made_last.pop()[1] if taken.words == ran_with != self.choices.declaration.words else None

    def declared(self, site: Site) -> Site:
        return site.declare(self.choices.declaration)

    def start(self, offer: Offer, site: Site) -> tuple[RunInProgress, Declaration | None]:
        """The run; and what is to be remembered of the storage from now on, where that is something else.

        Only what was run with is remembered: two stray keys must not colour every later verdict.
        """
        assert offer.plan is not None, "only a scenario is run"
        declaration, remembered = self.choices.declaration, self._session.remembered(site)
        last = declaration if declaration.words != remembered.words else None
        if last is not None:
            self._made_last.append((declaration, remembered))
        return self._session.start(offer.plan, self.declared(site)), last

    async def _looked_up(self, directory: str) -> tuple[Site | None, str]:
        try:
            site = await self._session.look_up(directory)
            site.check_open()
        except Refused as refusal:
            return None, str(refusal)
        return site, ""

    def _recall(self, remembered: Declaration) -> None:
        """What was declared of this storage before holds, unless the user has been quicker."""
        every = (*self._before, self.choices)
        *self._before, self.choices = (
            part if part.declaration else replace(part, declaration=remembered) for part in every
        )

    async def _planned(self, offer: Offer) -> Offer:
        if self.site is None:
            return replace(offer, refusal=self._refusal)
        site, settings = self.declared(self.site), self.choices.of(offer.form)
        try:
            if not isinstance(offer.form, Scenario):
                cut = power_cut.plan(site, settings)
                return replace(offer, outlook=power_cut_outlook(cut, self.choices, site.read.path))
            plan = await self._session.plan(offer.form, site, settings, called=offer.name)
        except Refused as refusal:
            return replace(offer, refusal=str(refusal))
        outlook = of_plan(offer.form, plan, self.choices, site.read.path)
        return replace(offer, outlook=outlook, plan=plan)

    def _forget_plans(self) -> None:
        self.every = [Offer(offer.name, offer.form) for offer in self.every]
