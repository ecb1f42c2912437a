"""The plan: which scenario, with which settings, and what it will write, before the first byte."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui import scenario as scenarios
from fstui.engine import runner
from fstui.model import Counters, Plan, Refused, Target
from fstui.quantities import plain
from fstui.tui import choices, remembered
from fstui.tui.choices import Choices
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing import plan as drawing
from fstui.tui.drawing.plan import Cursor, Offer
from fstui.tui.drawing.run import busy
from fstui.tui.rates import Rate, rates
from fstui.tui.screens.face import Face

if TYPE_CHECKING:
    from textual.widgets import Input

COUNTERS_S = 1.0


class PlanScreen(Face):
    """Scenarios above, the settings of the selected one below."""

    KEYS = (
        Command("plan.start", "enter", "start", "start", "Start this run."),
        Command("plan.settings", "tab", "other_pane", "settings", "From the scenarios to the settings and back."),
        Command("plan.less", "left", "change(-1)", "", "The value before; in a matrix, the box on the left."),
        Command("plan.more", "right", "change(1)", "change", "The next value; in a matrix, the next box.", "←→"),
        Command("plan.toggle", "space", "toggle_box", "", "Switch a box of a matrix on or off."),
        Command("plan.type", "e", "type_value", "", "Type a value."),
        Command("plan.directory", "d", "directory", "", "Name another directory."),
        Command("plan.undo", "u", "undo", "undo", "Take the last change back."),
        replace(COPY, id="plan.copy", label="copy command", help="Copy the command line of the same run."),
        HELP,
        replace(BACK, action="back"),
        replace(QUIT, label=""),
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "What can be run here, what it answers, how long it takes and how much it writes at most. Medium and write "
        "cache are for what this box cannot read: a virtual disk does not know what it stands on. What you declare is "
        "remembered for this storage, said in the verdict, and the physical limits are taken from it."
    )

    def __init__(self, directory: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.directory = directory
        self._others = list(others)
        """On the same mount, to be tried where the first is refused: a mount point is seldom an ordinary user's."""
        self.offers: list[Offer] = []
        self.target: Target | None = None
        self.cursor = Cursor()
        self.chosen: dict[str, Choices] = {}
        self.rates: dict[str, Rate] = {}
        self._undo: list[tuple[str, Choices]] = []
        self._before: Counters | None = None
        self._recalled: Choices | None = None
        self._undeclared: Target | None = None
        """As this box reads it, for what stands beside a declaration."""
        self._awaited = ""
        """The scenario that is to start as soon as its plan is made."""

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.lines("table", lambda width, height: drawing.scenarios(self.offers, self.cursor, width, height))
        yield self.lines("detail", self._draw_detail, classes="rest")
        yield self.footer_lines()

    def on_mount(self) -> None:
        self._load()
        self.set_interval(COUNTERS_S, self.read_counters)

    def on_screen_resume(self) -> None:
        if any(offer.plan is None for offer in self.offers):
            self.plan_all()

    def _load(self) -> None:
        broken = []
        for name in scenarios.names():
            try:
                self.offers.append(Offer(scenarios.load(name)))
            except Refused as refusal:
                broken.append(str(refusal))
        if broken:
            self.call_after_refresh(self.say, plain(broken[0]))

    @property
    def offer(self) -> Offer | None:
        """The selected scenario."""
        return self.offers[self.cursor.scenario] if self.offers else None

    @property
    def choices(self) -> Choices:
        """What is chosen for it."""
        name = self.offer.scenario.name if self.offer else ""
        return self.chosen.get(name) or self._recalled or Choices()

    @work(exclusive=True, group="plan")
    async def plan_all(self) -> None:
        """Ask the planner about each scenario, the selected one first."""
        order = sorted(range(len(self.offers)), key=lambda index: index != self.cursor.scenario)
        for index in order:
            await self._plan(index)
            self.redraw()

    async def _plan(self, index: int) -> None:
        scenario = self.offers[index].scenario
        chosen = self.chosen.get(scenario.name) or self._recalled or Choices()
        try:
            target, plan = await self._ask(scenario.name, chosen)
            if self._recalled is None:
                self._undeclared = target
                self._recalled = remembered.recall(target)
                if self._recalled != chosen and scenario.name not in self.chosen:
                    target, plan = await self._ask(scenario.name, self._recalled)
            self.target = target
            self.offers[index] = Offer(scenario, plan, target)
            self._start_if_awaited(scenario.name)
        except Refused as refusal:
            if self.target is None and await self._move_on():
                await self._plan(index)
            else:
                self.offers[index] = Offer(scenario, refusal=str(refusal))

    def _start_if_awaited(self, name: str) -> None:
        """Enter was pressed before its plan was made, and nothing else was chosen since."""
        if self._awaited == name and self.offer and self.offer.scenario.name == name and self.is_active:
            self._awaited = ""
            self.call_later(self.action_start)

    async def _move_on(self) -> bool:
        """Take the first of the other directories that can be written."""
        while self._others:
            other = self._others.pop(0)
            with suppress(Refused):
                await self.fstui.machine.inspect(other)
                self.say(f"{plain(self.directory)} is refused: {plain(other)} is on the same mount. d names another.")
                self.directory = other
                return True
        return False

    async def _ask(self, name: str, chosen: Choices) -> tuple[Target, Plan]:
        return await runner.make_plan(
            name,
            self.directory,
            self.fstui.machine,
            chosen.settings,
            medium=chosen.medium,
            write_cache=chosen.write_cache,
        )

    def read_counters(self) -> None:
        """Others at work now would be counted as well: say so before the start."""
        if self.target is None or not self.is_active:
            return
        now = self.fstui.machine.counters(self.target.lowest)
        if self._before:
            self.rates = rates(self._before, now) or self.rates
        self._before = now
        self.part("detail").redraw()

    def action_move(self, by: int) -> None:
        cursor = self.cursor
        if cursor.setting is None:
            last = max(len(self.offers) - 1, 0)
            self.cursor = replace(cursor, scenario=max(0, min(cursor.scenario + by, last)))
            self.part("detail").to_top()
        elif self.offer:
            last = len(choices.rows(self.offer.scenario)) - 1
            self.cursor = replace(cursor, setting=max(0, min(cursor.setting + by, last)), option=0)
        self.redraw()

    def action_scroll(self, by: int) -> None:
        self.part("detail").scroll_lines(by)

    def action_other_pane(self) -> None:
        self.cursor = replace(self.cursor, setting=0 if self.cursor.setting is None else None, option=0)
        self.redraw()

    def action_change(self, by: int) -> None:
        if self.offer is None:
            return
        if self.cursor.setting is None:
            self.action_other_pane()
            return
        name = choices.rows(self.offer.scenario)[self.cursor.setting]
        if self._is_matrix(name):
            last = len(choices.options(self.offer.scenario.settings[name])) - 1
            self.cursor = replace(self.cursor, option=max(0, min(self.cursor.option + by, last)))
            self.redraw()
        else:
            self._choose(choices.changed(self.offer.scenario, self.choices, name, by))

    def action_toggle_box(self) -> None:
        if self.offer is None or self.cursor.setting is None:
            return
        name = choices.rows(self.offer.scenario)[self.cursor.setting]
        if self._is_matrix(name):
            option = choices.options(self.offer.scenario.settings[name])[self.cursor.option]
            self._choose(choices.toggled(self.offer.scenario, self.choices, name, choices.as_text(option)))

    def action_undo(self) -> None:
        if self._undo:
            name, before = self._undo.pop()
            self.chosen[name] = before
            self._remember(before)
            self._plan_anew()

    async def action_directory(self) -> None:
        await self._ask_for("directory", "a directory on the storage in question", self.directory)

    async def _ask_for(self, what: str, words: str, value: str = "") -> None:
        from textual.widgets import Input  # noqa: PLC0415  kept off the first frame

        await self.query("Input").remove()
        entry = Input(value, placeholder=words, id=what)
        await self.mount(entry)
        entry.focus()

    async def action_type_value(self) -> None:
        if self.offer is None or self.cursor.setting is None:
            self.say("Tab first: choose the setting to type a value for.")
            return
        name = choices.rows(self.offer.scenario)[self.cursor.setting]
        if name in self.offer.scenario.settings:
            await self._ask_for("value", f"{name}: a value; several with commas in a matrix")

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        await message.input.remove()
        if message.input.id == "directory":
            self._go_to(message.value.strip())
        elif self.offer and self.cursor.setting is not None:
            name = choices.rows(self.offer.scenario)[self.cursor.setting]
            self._choose(choices.typed(self.offer.scenario, self.choices, name, message.value))

    def _go_to(self, directory: str) -> None:
        if directory:
            self._others = []  # what was typed is meant
            self.directory = os.path.expanduser(directory)  # noqa: PTH111  a name: nothing is touched here
            self.target = self._undeclared = self._recalled = None
            self.chosen, self._undo, self._before, self.rates = {}, [], None, {}
            self._plan_anew()

    def action_copy(self) -> None:
        if self.offer and self.offer.plan:
            self.app.copy_to_clipboard(self.offer.plan.command)
            self.say("Copied, if your terminal takes OSC 52.")

    async def action_back(self) -> None:
        if entry := self.query("Input"):
            await entry.remove()
        else:
            await self.fstui.action_back()

    def action_start(self) -> None:
        offer = self.offer
        if offer is None or offer.refusal:
            return
        if offer.plan is None or offer.target is None:
            self._awaited = offer.scenario.name
            self.say("Still looking at the directory: it starts as soon as that is done.")
            return
        if offer.plan.by_hand:
            self.fstui.open_power_cut(offer.target.path, offer.target, self.choices.settings)
            return
        self._keep_declaration(offer.target)
        self.workers.cancel_group(self, "plan")  # nothing of ours may disturb what is measured
        running = runner.Running(offer.plan, offer.target, self.fstui.machine)
        self.fstui.open_run(running, offer.plan, offer.target)

    def _choose(self, chosen: Choices) -> None:
        if self.offer is None or chosen == self.choices:
            return
        name = self.offer.scenario.name
        self._undo.append((name, self.choices))
        self.chosen[name] = chosen
        self._remember(chosen)
        self._plan_anew()

    def _plan_anew(self) -> None:
        """No plan made for other choices can be started."""
        self._awaited = ""
        self.offers = [Offer(offer.scenario) for offer in self.offers]
        self.redraw()
        self.plan_all()

    def _remember(self, chosen: Choices) -> None:
        """A declaration holds for this storage, whatever is run on it; once something is, later too."""
        if (chosen.medium, chosen.write_cache) == (self._declared.medium, self._declared.write_cache):
            return
        self._recalled = Choices(medium=chosen.medium, write_cache=chosen.write_cache)
        for name, other in self.chosen.items():
            self.chosen[name] = replace(other, medium=chosen.medium, write_cache=chosen.write_cache)

    def _keep_declaration(self, target: Target) -> None:
        """Only what was run with: two stray keys must not colour every later verdict."""
        if self._recalled is not None and self.fstui.machine.simulated is None:
            try:
                remembered.keep(target, self._recalled)
            except (OSError, Refused) as error:
                self.say(f"The declaration could not be remembered: {plain(str(error))}")

    @property
    def _declared(self) -> Choices:
        return self._recalled or Choices()

    def _is_matrix(self, name: str) -> bool:
        setting = self.offer.scenario.settings.get(name) if self.offer else None
        return bool(setting and setting.choices and isinstance(setting.value, list))

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.directory, self.target, self.fstui.machine.simulated, width)]

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        others = busy(self.rates, self.target) if self.target else ""
        return drawing.detail(
            self.offer, self.choices, self.cursor, read=self._undeclared, busy=others, width=width, height=height
        )
