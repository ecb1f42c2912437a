"""The plan: which scenario, with which settings, and what it will write, before the first byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.screen import ModalScreen

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.powercut import plan as power_cut
from fstui.report.history import is_run_on
from fstui.runs import caution, history, scenarios
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, Command
from fstui.tui.drawing import charts
from fstui.tui.drawing import history as history_drawing
from fstui.tui.drawing import plan as drawing
from fstui.tui.drawing.cells import line, paragraph, rule
from fstui.tui.drawing.run import other_activity
from fstui.tui.iostats import DeviceActivity
from fstui.tui.offers import Choices, Offer, Offers, is_matrix, options
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import HEAD, KEY, WARNING
from fstui.tui.widgets.table import DrawnTable, TableContent

if TYPE_CHECKING:
    from fstui.runs.history import Summary

COUNTERS_INTERVAL_S = 1.0
MAX_SAVED_RUNS = 1000


class PlanScreen(BaseScreen):
    """The scenarios; below them, the settings of the selected scenario and what it will do."""

    KEYS = (
        Command("plan.start", "enter", "start", "start", "Start this run."),
        Command("plan.settings", "tab", "other_pane", "settings", "Go to the settings, or back to the scenarios."),
        Command("plan.less", "left", "change(-1)", "", "Choose the previous value or checkbox."),
        Command("plan.more", "right", "change(1)", "change", "Choose the next value or checkbox.", "←→"),
        Command("plan.toggle", "space", "toggle_box", "", "Tick or clear a checkbox."),
        Command("plan.type", "e", "type_value", "", "Type a value."),
        Command("plan.directory", "d", "directory", "", "Choose another directory."),
        Command("plan.undo", "u", "undo", "undo", "Undo the last change."),
        replace(COPY, id="plan.copy", label="copy command", help="Copy the command line of the same run."),
        HELP,
        BACK,
        replace(QUIT, label=""),
        *LIST,
    )
    SCROLLED_PART = "notes"
    HELP_TEXT = (
        "The scenarios that can run here: the question that each answers, how long it takes, and how much it writes at "
        "most. A guest cannot see which device is below a virtual disk. If fstui cannot read the medium or the write "
        "cache, press Tab and declare it. fstui remembers the declaration for this storage, names it in the verdict, "
        "and computes physical limits from it."
    )

    def __init__(self, offers: Offers, scenario: str = "", activity: DeviceActivity | None = None) -> None:
        super().__init__()
        self.offers = offers
        self._initial_scenario = scenario
        self.scenario_index = 0
        self.option_index = 0
        self.scenarios = DrawnTable(
            lambda width: drawing.scenarios(self.offers.all, self.offers.choices, width), id="scenarios"
        )
        self.settings = DrawnTable(self._draw_settings, id="settings", header=False)
        self.scenarios.border_title = "scenarios"
        self.pane = self.scenarios
        self.activity = activity or DeviceActivity()
        self.saved_runs: Sequence[Summary] | None = None
        self._is_reading_runs = False
        self._must_read_runs = True
        self._hostname = ""
        self._scenario_to_start = ""
        self._last_setting: str | None = None
        self._earlier_result: object = None

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        with Container(id="panes"):
            with Container(id="choice"):
                yield self.scenarios
                yield self.lines("earlier", self._draw_earlier, classes="rest", frame=True)
            with Container(id="below", classes="rest"):
                yield self.lines("selected", self._draw_selected, classes="line")
                yield self.settings
                yield self.lines("notes", self._draw_notes, classes="rest", frame=True)
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.offers.add([*scenarios.load_shipped(), (power_cut.NAME, power_cut.FORM)])
        self.choose_pane(self.scenarios)
        self.scenarios.refill()
        self.choose_scenario(self.offers.index_of(self._initial_scenario))
        self._hostname = self.fstui.session.filesystems().host.hostname
        self.inspect_directory()
        self.add_own_scenarios()
        self.set_interval(COUNTERS_INTERVAL_S, self.read_counters)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        if self._earlier_result is not self.fstui.result:
            # forget the I/O of fstui's own run, which is not that of other processes
            self._earlier_result, self.activity = self.fstui.result, DeviceActivity()
        self.scenarios.refill()  # a run empties it
        self.plan_all()
        self.read_saved_runs(again=True)

    @work(exclusive=True, group="own")
    async def add_own_scenarios(self) -> None:
        own, broken = await scenarios.load_own()
        self.offers.add(own)
        self.scenarios.refill()
        if broken:
            self.say(broken[0])
        self.plan_all()

    def footer_commands(self) -> Iterable[Command]:
        is_refused = self.offer is None or bool(self.offer.refusal)
        useless = {"plan.start", "plan.copy"} if is_refused else set()
        useless |= set() if self.offers.can_undo else {"plan.undo"}
        return (command for command in super().footer_commands() if command.id not in useless)

    def on_resize(self) -> None:
        self.call_after_refresh(self.read_saved_runs)

    @work(group="saved runs")
    async def read_saved_runs(self, *, again: bool = False) -> None:
        """Read the saved runs if the screen has room for them. A state directory may be missing or hang."""
        self._must_read_runs |= again
        if self._is_reading_runs or not self.part("earlier").display:
            return
        self._is_reading_runs = True
        while self._must_read_runs:
            self._must_read_runs = False
            with suppress(OSError, Refused):
                self.saved_runs = await history.summaries(MAX_SAVED_RUNS)
            self.part("earlier").redraw()
        self._is_reading_runs = False

    @property
    def offer(self) -> Offer | None:
        return self.offers.all[self.scenario_index] if self.offers.all else None

    @work(exclusive=True, group="look up")
    async def inspect_directory(self) -> None:
        if notice := await self.offers.look_up():
            self.say(notice)
        self.plan_all()

    def plan_all(self) -> None:
        """Plan every scenario that has no plan yet, the selected one first."""
        for index in sorted(self.offers.unplanned_indexes(), key=lambda index: index != self.scenario_index):
            self.plan_one(self.offers, index)

    @work(group="plan")
    async def plan_one(self, offers: Offers, index: int) -> None:
        """Plan one scenario, in parallel with the others, because the search for the programs of one may take long."""
        if not await offers.plan(index):
            self.plan_all()
        elif offers is self.offers:
            self.scenarios.refill()
            if index == self.scenario_index:
                self._show_selected()
            self._start_if_requested(offers.all[index])

    def _start_if_requested(self, offer: Offer) -> None:
        """Start the scenario if Enter was pressed before its plan was made and nothing else was selected since."""
        if offer.plan and offer.name == self._scenario_to_start and offer is self.offer and self.is_active:
            self._scenario_to_start = ""
            self.call_later(self.action_start)

    def read_counters(self) -> None:
        """Show which devices other processes use: their I/O would be counted in the run."""
        if self._target is not None and self.is_active:
            self.activity.add(self.fstui.session.machine.counters(self._target.lowest))
            self.part("notes").redraw()
            self.part("earlier").redraw()

    @property
    def _target(self) -> Target | None:
        """The target without the user's declaration."""
        return self.offers.site.raw_target if self.offers.site else None

    def _show_selected(self) -> None:
        if self.offer:
            extent = drawing.extent(self.offer, self.offers.choices)
            self.settings.border_title = Text(" · ".join(filter(None, (self.offer.name, extent))))
        self.settings.refill()
        self.redraw()

    def choose_pane(self, pane: DrawnTable) -> None:
        self.pane = pane
        for table in (self.scenarios, self.settings):
            table.set_class(table is not pane, "-inactive")
        self.option_index = 0
        self._show_selected()

    def on_drawn_table_clicked(self, clicked: DrawnTable.Clicked) -> None:
        self.choose_pane(clicked.table)

    def on_data_table_row_highlighted(self) -> None:
        if self.scenarios.row_count and self.scenarios.cursor_row != self.scenario_index:
            self.choose_scenario(self.scenarios.cursor_row)
        elif self.settings.chosen_key != self._last_setting:
            self._last_setting, self.option_index = self.settings.chosen_key, 0
            self._show_selected()

    def choose_scenario(self, index: int) -> None:
        self.scenario_index = index
        self.scenarios.choose(index)
        self.settings.choose(0)
        self.part("notes").scroll_to_top()
        self.choose_pane(self.scenarios)

    def choose_setting(self, index: int) -> None:
        self.choose_pane(self.settings)
        self.settings.choose(index)

    def action_move(self, offset: int) -> None:
        if self.pane is self.settings:
            self.settings.move(offset)
        else:
            self.choose_scenario(max(0, min(self.scenario_index + offset, len(self.offers.all) - 1)))

    def action_other_pane(self) -> None:
        self.choose_pane(self.scenarios if self.pane is self.settings else self.settings)

    def action_change(self, offset: int) -> None:
        if self.pane is self.scenarios:
            self.action_other_pane()
        elif self._options:
            self.option_index = max(0, min(self.option_index + offset, len(self._options) - 1))
            self._show_selected()
        elif self.offer and self.setting:
            form, choices = self.offer.form, self.offers.choices
            if self.setting in form.settings and len(choices.values(form, self.setting)) > 1:
                self.say("This setting has several values. Press e to type others.")
            else:
                self._choose(choices.with_neighbour(form, self.setting, offset))

    def action_toggle_box(self) -> None:
        if self.offer and self._options:
            option = self._options[self.option_index]
            self._choose(self.offers.choices.with_toggled_option(self.offer.form, self.setting, option))

    def action_undo(self) -> None:
        earlier = self.offers.undo()
        if earlier is not None and self.offers.site:
            self.fstui.save_declaration(self.offers.site, earlier)
        self._plan_again()

    async def action_directory(self) -> None:
        hint = "a directory on the filesystem to be tested"
        await self.open_prompt(hint, self._change_directory, self.offers.directory)

    def _change_directory(self, directory: str) -> None:
        if directory:
            forms = [(offer.name, offer.form) for offer in self.offers.all]
            expanded = os.path.expanduser(directory)  # noqa: PTH111  pathlib would also normalise the name
            self.offers, self.activity = Offers(self.fstui.session, expanded), DeviceActivity()
            self.offers.add(forms)
            self._plan_again()
            self.inspect_directory()

    async def action_type_value(self) -> None:
        if not self.setting:
            self.say("Press Tab and select the setting first.")
        elif self.offer and self.setting in self.offer.form.settings:
            await self.open_prompt(f"{self.setting}: a value, or several separated by commas", self._enter_value)

    def _enter_value(self, text: str) -> None:
        if self.offer and self.setting:
            self._choose(self.offers.choices.set(self.offer.form, self.setting, text))

    def action_copy(self) -> None:
        if self.offer and self.offer.command:
            self.copy(self.offer.command)

    def action_start(self, *, confirmed: bool = False) -> None:
        offer, site = self.offer, self.offers.site
        if offer is None or offer.refusal:
            return
        if offer.plan is None or site is None:
            self._scenario_to_start = offer.name
            self.say("Still reading the directory. The run starts when that is done.")
            return
        target = self.offers.declared_site(site).target
        if isinstance(offer.plan, power_cut.PowerCutPlan):
            self.fstui.open_power_cut(site.raw_target.path, target, self.offers.choices.settings_of(offer.form))
            return
        plan = offer.plan
        warnings = caution.concerns(self.fstui.session, site, self.activity.busy, plan.peak_bytes, plan.max_bytes)
        if warnings and not confirmed:
            start = partial(self.action_start, confirmed=True)
            title, consequence = f"Start {offer.name} on {target.mount_point}?", drawing.write_amount(plan, target)
            self.app.push_screen(QuestionScreen(title, warnings, consequence, start))
            return
        run, declaration = self.offers.start(offer, site)
        if declaration is not None:
            self.fstui.save_declaration(site, declaration)
        self.workers.cancel_group(self, "plan")  # planning must not disturb what is measured
        self.scenarios.empty()
        self.fstui.open_run(run)

    def _choose(self, choices: Choices) -> None:
        if choices != self.offers.choices:
            self.offers.choose(choices)
            self._plan_again()

    def _plan_again(self) -> None:
        self._scenario_to_start = ""
        self.scenarios.refill()
        self._show_selected()
        self.plan_all()

    @property
    def setting(self) -> str:
        """The name of the selected setting; empty while a scenario is being selected."""
        return self.settings.chosen_key or "" if self.pane is self.settings else ""

    @property
    def _options(self) -> list[str]:
        setting = self.offer.form.settings.get(self.setting) if self.offer else None
        return options(setting) if setting and is_matrix(setting) else []

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [drawing.title(self.offers.directory, self._target, self.fstui.session.simulated, width)]

    def _draw_selected(self, width: int, height: int) -> list[Text]:
        if (offer := self.offer) is None:
            return [rule(width)]
        style = KEY if self.pane is self.settings else HEAD
        return [rule(width, offer.name, drawing.extent(offer, self.offers.choices), style=style)]

    def _draw_settings(self, width: int) -> TableContent:
        if self.offer is None:
            return TableContent((), {})
        cursor, reported = (self.setting, self.option_index), self.pane is self.settings or self.has_class("-huge")
        return drawing.settings(self.offer, self.offers.choices, cursor, self._target, width, reported=reported)

    def _draw_earlier(self, width: int, height: int) -> list[Text]:
        """Draw the newest runs on this filesystem, and what other processes do on its devices."""
        if (target := self._target) is None:
            return []
        runs = [run for run in self.saved_runs or () if is_run_on(run, target, self._hostname)]
        lines = history_drawing.earlier_runs(runs, width, height // 2) if self.saved_runs is not None else []
        devices = [node.id for node in target.lowest]
        name = f"other processes on {' + '.join(devices)}"
        return [*lines, *charts.device_minutes(name, devices, self.activity.recent, width, height - len(lines))]

    def _draw_notes(self, width: int, height: int) -> list[Text]:
        if self.offer is None:
            return []
        activity = other_activity(self.activity.stats, self._target) if self._target else ("", "")
        if self.part("earlier").display and activity[1] != WARNING:
            activity = ("", "")  # the charts show it
        top = [rule(width, "what it does")] if self.settings.size.height else []
        height -= len(top)
        return [*top, *drawing.notes(self.offer, self._target, activity, self.setting, width=width, height=height)]


class QuestionScreen(BaseScreen, ModalScreen[None]):
    """Reasons not to start a run. Enter starts it, and Esc returns to the plan."""

    KEYS = (
        Command("question.run", "enter", "confirm", "run anyway", "Start the run in spite of the warning."),
        BACK,
        replace(QUIT, label=""),
    )
    SHOWS_RUN = True
    BLANK = False  # the plan is visible around the dialog

    def __init__(self, title: str, warnings: Sequence[str], consequence: str, on_confirm: Callable[[], object]) -> None:
        super().__init__()
        self._title = title
        self._warnings = warnings
        self._consequence = consequence
        self._on_confirm = on_confirm

    def compose(self) -> ComposeResult:
        with Vertical(id="question") as box:
            box.border_title = Text(self._title)
            yield self.lines("reasons", self._draw_reasons)
            yield self.footer_lines()
        yield self.lines("cover", lambda width, height: [line()])  # hides the keys of the screen below

    def action_confirm(self) -> None:
        self._on_confirm()

    def footer_commands(self) -> Sequence[Command]:
        return self.KEYS

    def _draw_reasons(self, width: int, height: int) -> list[Text]:
        sentences = (f"{warning[:1].upper()}{warning[1:]}." for warning in self._warnings)
        warnings = [part for sentence in sentences for part in paragraph(sentence, width, " ! ", WARNING)]
        return [*warnings, line(), *paragraph(self._consequence, width), line()]
