"""The plan: which scenario, with which settings, and what it will write, before the first byte."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult

from fstui.runs import caution, power_cut, scenarios
from fstui.runs.scenarios import Setting
from fstui.tui import choices
from fstui.tui.choices import Choices
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing import plan as drawing
from fstui.tui.drawing.plan import Cursor, Offer
from fstui.tui.drawing.run import busy
from fstui.tui.offers import Offers
from fstui.tui.rates import Activity
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.widgets.table import Rows, Table

if TYPE_CHECKING:
    from fstui.model.plan import Plan
    from fstui.runs.site import Site

COUNTERS_S = 1.0


class PlanScreen(BaseScreen):
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
        BACK,
        replace(QUIT, label=""),
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "What can be run here, what it answers, how long it takes and how much it writes at most. Medium and write "
        "cache are for what this box cannot read: a virtual disk does not know what it stands on. What you declare is "
        "remembered for this storage, said in the verdict, and the physical limits are taken from it."
    )

    def __init__(self, offers: Offers, busy: str = "", scenario: str = "") -> None:
        super().__init__()
        self.table = Table(self._draw_scenarios, id="table")
        self.offers = offers
        self._wanted = scenario
        self._busy = busy
        """A device that somebody else needs, in words, until the cursor stands where it is needed the least."""
        self.cursor = Cursor()
        self.activity = Activity()
        self._awaited = ""
        """The scenario that is to start as soon as its plan is made."""
        self._asked: Plan | None = None
        """What was asked about; the same key again is the answer."""

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        yield self.table
        yield self.lines("detail", self._draw_detail, classes="rest")
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.offers.add([*scenarios.shipped_ones(), (power_cut.NAME, power_cut.FORM)])
        self.table.refill()
        self.choose_scenario(self.offers.at(self._wanted))
        self.look_up()
        self.offer_own()
        self.set_interval(COUNTERS_S, self.read_counters)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.activity = Activity()  # what a run of ours has done meanwhile is not the doing of others
        self.plan_all()

    @work(exclusive=True, group="own")
    async def offer_own(self) -> None:
        """The user's own scenarios come when their directory has answered."""
        own, broken = await scenarios.own()
        self.offers.add(own)
        self.table.refill()
        if broken:
            self.say(broken[0])
        self.plan_all()

    @property
    def offer(self) -> Offer | None:
        every = self.offers.every
        return every[self.cursor.scenario] if every else None

    @work(exclusive=True, group="look up")
    async def look_up(self) -> None:
        if moved := await self.offers.look_up():
            self.say(moved)
        self.plan_all()

    def plan_all(self) -> None:
        """What each scenario would do here that has no plan yet, the selected one first."""
        for index in sorted(self.offers.waiting(), key=lambda index: index != self.cursor.scenario):
            self.plan_one(self.offers, index)

    @work(group="plan")
    async def plan_one(self, offers: Offers, index: int) -> None:
        """One that waits, as for the programs it wants, keeps no other waiting."""
        if not await offers.plan(index):
            self.plan_all()
        elif offers is self.offers:
            self._suggest_the_least()
            self._show_offers()
            self._start_if_awaited(offers.every[index])

    def _suggest_the_least(self) -> None:
        """On a device that is needed, the cursor begins on what writes least; once all have a plan."""
        untouched = self.cursor == Cursor() and not self._awaited
        if self._busy and untouched and self.offers.every and not self.offers.waiting():
            if (at := self.offers.least()) is not None:
                self.say(f"{self._busy}: the cursor stands on what writes least.")
                self.choose_scenario(at)
            self._busy = ""

    def _start_if_awaited(self, offer: Offer) -> None:
        """Enter was pressed before its plan was made, and nothing else was chosen since."""
        if offer.outlook and offer.name == self._awaited and offer is self.offer and self.is_active:
            self._awaited = ""
            self.call_later(self.action_start)

    def read_counters(self) -> None:
        """Others at work now would be counted as well: say so before the start."""
        if self.offers.site is not None and self.is_active:
            first = not self.activity.rates
            self.activity.add(self.fstui.session.counters(self.offers.site.read.lowest))
            if first and self.activity.rates:
                self._busy = self._busy or caution.busy_words(self.offers.site.read, self.activity.busy)
                self._suggest_the_least()
            self.part("detail").redraw()

    def _show_offers(self) -> None:
        self.table.refill()
        self.redraw()

    def on_data_table_row_highlighted(self) -> None:
        if self.table.row_count and self.table.cursor_row != self.cursor.scenario:
            self.choose_scenario(self.table.cursor_row)

    def choose_scenario(self, at: int) -> None:
        self.cursor = Cursor(at)
        self.table.choose(at)
        self.part("detail").to_top()
        self.redraw()

    def choose_setting(self, at: int) -> None:
        """Put the cursor on that one of the selected scenario's."""
        self.cursor = replace(self.cursor, setting=at, option=0)
        self.redraw()

    def action_move(self, by: int) -> None:
        cursor = self.cursor
        if cursor.setting is None:
            last = max(len(self.offers.every) - 1, 0)
            self.choose_scenario(max(0, min(cursor.scenario + by, last)))
        elif self.offer:
            last = len(choices.rows(self.offer.form)) - 1
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
        elif matrix := self._matrix:
            last = len(choices.options(matrix)) - 1
            self.cursor = replace(self.cursor, option=max(0, min(self.cursor.option + by, last)))
            self.redraw()
        else:
            self._choose(choices.changed(self.offer.form, self.offers.choices, self._row, by))
            if choices.several(self.offer.form, self.offers.choices, self._row):
                self.say("Several values: e types others.")

    def action_toggle_box(self) -> None:
        if self.offer and (matrix := self._matrix):
            option = choices.as_text(choices.options(matrix)[self.cursor.option])
            self._choose(choices.toggled(self.offer.form, self.offers.choices, self._row, option))

    def action_undo(self) -> None:
        again = self.offers.take_back()
        if again is not None and self.offers.site:
            self.fstui.remember(self.offers.site, again)
        self._plan_anew()

    async def action_directory(self) -> None:
        await self.ask_for("a directory on the filesystem to be tested", self._go_to, self.offers.directory)

    async def action_type_value(self) -> None:
        if not self._row:
            self.say("Tab first: choose the setting to type a value for.")
        elif self.offer and self._row in self.offer.form.settings:
            await self.ask_for(f"{self._row}: a value; several with commas in a matrix", self._enter_value)

    def _enter_value(self, text: str) -> None:
        if self.offer and self._row:
            self._choose(choices.typed(self.offer.form, self.offers.choices, self._row, text))

    def _go_to(self, directory: str) -> None:
        if directory:
            known = [(offer.name, offer.form) for offer in self.offers.every]
            named = os.path.expanduser(directory)  # noqa: PTH111  a name: nothing is touched here
            self.offers, self.activity = Offers(self.fstui.session, named), Activity()
            self.offers.add(known)
            self._plan_anew()
            self.look_up()

    def action_copy(self) -> None:
        if self.offer and self.offer.outlook:
            self.copy(self.offer.outlook.command)

    def action_start(self) -> None:
        offer, site = self.offer, self.offers.site
        if offer is None or offer.refusal:
            return
        if offer.outlook is None or site is None:
            self._awaited = offer.name
            self.say("Still looking at the directory: it starts as soon as that is done.")
            return
        target = self.offers.declared(site).target
        if offer.plan is None:
            self.fstui.open_power_cut(site.read.path, target, self.offers.choices.of(offer.form))
            return
        if not self._agreed(offer.plan, site):
            return
        run, declaration = self.offers.start(offer, site)
        if declaration is not None:
            self.fstui.remember(site, declaration)
        self.workers.cancel_group(self, "plan")  # nothing of ours may disturb what is measured
        self.fstui.open_run(run, offer.plan, target)

    def _agreed(self, plan: Plan, site: Site) -> bool:
        """Nothing speaks against it, or it was said and the user wants it all the same."""
        found = caution.concerns(self.fstui.session, site, self.activity.busy, plan.room_bytes, plan.max_bytes)
        if not found or plan is self._asked:
            return True
        self._asked = plan
        self.say(f"First: {', '.join(found)}. The same key again runs it all the same.")
        return False

    def _choose(self, chosen: Choices) -> None:
        if chosen != self.offers.choices:
            self.offers.choose(chosen)
            self._plan_anew()

    def _plan_anew(self) -> None:
        self._awaited = ""
        self._show_offers()
        self.plan_all()

    @property
    def _row(self) -> str:
        """The name of the setting that the cursor is on; empty in the list of scenarios."""
        if self.offer is None or self.cursor.setting is None:
            return ""
        return choices.rows(self.offer.form)[self.cursor.setting]

    @property
    def _matrix(self) -> Setting | None:
        """That setting, where several of its values can be chosen."""
        setting = self.offer.form.settings.get(self._row) if self.offer else None
        return setting if setting and setting.choices and isinstance(setting.value, list) else None

    def _draw_title(self, width: int, height: int) -> list[Text]:
        target = self.offers.site.read if self.offers.site else None
        return [drawing.title(self.offers.directory, target, self.fstui.session.simulated, width)]

    def _draw_scenarios(self, width: int) -> Rows:
        space = self.offers.site.read.space if self.offers.site else None
        return drawing.scenarios(self.offers.every, width, space.free_bytes if space else None)

    def _draw_detail(self, width: int, height: int) -> list[Text]:
        read = self.offers.site.read if self.offers.site else None
        others = busy(self.activity.rates, read) if read else ""
        chosen = self.offers.choices
        return drawing.detail(self.offer, chosen, self.cursor, read=read, busy=others, width=width, height=height)
