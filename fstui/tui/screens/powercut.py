"""The power-cut check: leads a person through it, and verifies a log that was copied to this box."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import work
from textual.app import ComposeResult

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.runs import power_cut
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, Command, bindings
from fstui.tui.drawing import powercut as drawing
from fstui.tui.drawing.powercut import Guide
from fstui.tui.screens.base_screen import BaseScreen

if TYPE_CHECKING:
    from textual.widgets import Input


class PowerCutScreen(BaseScreen):
    """What to connect, when to pull, what to run afterwards."""

    KEYS = (
        Command("powercut.verify", "v,enter", "verify", "verify a log", "Name the witness's log and verify the cut."),
        replace(COPY, id="powercut.copy", label="copy command", help="Copy the witness's command (OSC 52)."),
        Command("powercut.copy_verify", "Y", "copy_verify", "", "Copy the command for afterwards."),
        Command("powercut.storage", "s", "tick('storage_was_cut')", "", "The storage alone lost its power."),
        Command("powercut.unmountable", "m", "tick('unmountable')", "", "The filesystem cannot be mounted any more."),
        HELP,
        replace(BACK, action="back"),
        QUIT,
        *LIST,
    )
    BINDINGS = bindings(KEYS)
    HELP_TEXT = (
        "No test inside a box proves that its storage survives a power cut; this does. Records are written here and "
        "acknowledged to a witness on another machine, one by one, after their sync. After the cut every acknowledged "
        "one must be there. Cuts add up in the history as long as the serials, the layers, the cache settings and the "
        "mount options stay as they are."
    )

    def __init__(self, directory: str, target: Target, settings: Mapping[str, str]) -> None:
        super().__init__()
        self.directory = directory
        self._target = target
        self._settings = settings
        self.guide: Guide | None = None

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, height: [drawing.title(self._guide, width)], classes="line")
        yield self.lines("page", lambda width, height: drawing.page(self._guide, width), classes="rest")
        yield self.footer_lines()

    def on_mount(self) -> None:
        self.look_back()

    @work(exclusive=True, group="history")
    async def look_back(self) -> None:
        """The cuts so far, from a disk that may hang."""
        try:
            survived, pending = await power_cut.so_far(self._target)
        except (OSError, Refused) as trouble:
            self.say(str(trouble))
            return
        self.guide = replace(self._guide, survived=survived, pending=tuple(entry.what for entry in pending))
        self.redraw()

    @property
    def _guide(self) -> Guide:
        if self.guide is None:
            self.guide = self._looked_up()
        return self.guide

    def _looked_up(self) -> Guide:
        inventory = self.fstui.session.survey().inventory
        host = inventory.host
        write = power_cut.write_command(self.directory, self._settings)
        if power_cut.is_root(self._target, inventory):
            write += f" --root-of {shlex.quote(host.hostname)}"
        return Guide(
            host=host.hostname or "BOX",
            target=self._target,
            write=write,
            verify=shlex.join(["fstui", "powercut", "verify", self.directory]),
            guest=host.virtualization,
        )

    def action_move(self, by: int) -> None:
        self.part("page").scroll_lines(by)

    action_scroll = action_move

    def action_copy(self) -> None:
        self.copy(self._guide.witness)

    def action_copy_verify(self) -> None:
        self.copy(self._guide.afterwards)

    def action_tick(self, box: str) -> None:
        guide = self._guide
        if box == "unmountable":
            self.guide = replace(guide, unmountable=not guide.unmountable)
        else:
            self.guide = replace(guide, storage_was_cut=not guide.storage_was_cut)
        self.redraw()

    async def action_verify(self) -> None:
        from textual.widgets import Input  # noqa: PLC0415

        if self.fstui.session.simulated:  # the log and the records would be files of this host
            self.say("A simulated disk has no witness: the lesson power-cut cuts its power.")
            return
        if not self.query("#words"):
            entry = Input(placeholder="the witness's log on this box, as in /root/acks.log", id="words")
            await self.mount(entry)
            entry.focus()

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        await message.input.remove()
        if message.value.strip():
            self.verify(message.value.strip())

    async def action_back(self) -> None:
        if entry := self.query("#words"):
            await entry.remove()
        else:
            await self.fstui.action_back()

    @work(exclusive=True, group="verify")
    async def verify(self, file: str) -> None:
        """Read the records back, judge and save the cut, show the result."""
        self.say("Reading the records back …")
        session, guide = self.fstui.session, self._guide
        declared = power_cut.Declared(guide.storage_was_cut, guide.unmountable)
        try:
            log = await power_cut.read_file(file)
            verified = await power_cut.verify(session, self.directory, log, declared)
        except (OSError, Refused) as refusal:
            self.say(str(refusal))
            return
        saved_to, trouble = await power_cut.save(session, verified)
        self.fstui.open_result(verified.run, saved_to, self.directory, trouble)
