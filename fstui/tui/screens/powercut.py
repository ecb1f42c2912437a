"""The power-cut check: instructions for a person, and the verification of a log that was copied to this host."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec.structs import replace
from rich.text import Text
from textual import work

from fstui.model.storage import Target
from fstui.powercut.plan import write_command
from fstui.powercut.verification import CutDeclaration, read_file
from fstui.powercut.writing import is_on_root, root_warning
from fstui.runs import power_cut
from fstui.tui.commands import BACK, COPY, HELP, LIST, QUIT, Command
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Card, headline, paragraph
from fstui.tui.screens.page_screen import PageScreen
from fstui.tui.styles import FAINT, KEY, WARNING

Paragraph = tuple[str, str, str]
"""The beginning of the first line, the text, and the style."""
_PURPOSE = "Cut the power during acknowledged writes, then verify that no record is lost."
_PULL = (
    "Pull every wall plug of {host}, and remove its battery if it has one. Do not reset, reboot or use the power "
    "button: that could save the cache."
)
_PROVES = "One lost record proves that the storage is not durable. Five survived cuts say much more than one."
_GUEST = "Killing this VM ({guest}) instead tests only whether it passes syncs on."
_STORAGE_WAS_CUT = "only the storage lost its power (such as a USB disk), not the host"
_UNMOUNTABLE = "the filesystem could not be mounted after the cut"


class PowerCutScreen(PageScreen):
    """Four steps: what to connect, when to pull the plug, what to run afterwards."""

    KEYS = (
        Command("powercut.verify", "v,enter", "verify", "verify", "Name the witness's log and verify the cut."),
        replace(COPY, id="powercut.copy", label="copy", help="Copy the witness's command (OSC 52)."),
        Command("powercut.copy_verify", "Y", "copy_verify", "", "Copy the command to run after the cut."),
        Command(
            "powercut.storage",
            "s",
            "toggle_storage_cut",
            "storage",
            "Declare that only the storage lost its power.",
        ),
        Command(
            "powercut.unmountable",
            "m",
            "toggle_unmountable",
            "mount",
            "Declare that the filesystem was not mountable.",
        ),
        HELP,
        BACK,
        QUIT,
        *LIST,
    )
    HELP_TEXT = (
        "Only a power cut can show whether acknowledged data survives. fstui writes records here, and acknowledges "
        "each record after its sync. A witness on another machine logs the acknowledgements. After the cut, every "
        "acknowledged record must be there. The history counts cuts together for as long as the serial numbers, the "
        "layers, the cache settings and the mount options stay the same."
    )

    def __init__(self, directory: str, target: Target, settings: Mapping[str, str]) -> None:
        self.directory = directory
        self._target = target
        self._settings = settings
        self.survived_cuts: int | None = None
        self.unverified_cuts: list[str] = []
        self.storage_was_cut = False
        self.unmountable = False
        parts = {"the cut": self._cut_steps, "after the cut": self._later_steps}
        cards: list[Card] = [(title, partial(_draw, paragraphs)) for title, paragraphs in parts.items()]
        super().__init__("power-cut", [("", self._draw_purpose), *cards], io_path.path(target))

    def on_mount(self) -> None:
        self.read_history()

    @work(exclusive=True, group="history")
    async def read_history(self) -> None:
        with self.fstui.reporting():
            self.survived_cuts, unverified = await power_cut.earlier_cuts(self._target)
            self.unverified_cuts = [entry.what for entry in unverified]
            self.redraw()

    @property
    def hostname(self) -> str:
        return self.fstui.session.judged_filesystems().inventory.host.hostname or "HOST"

    @property
    def writer_command(self) -> str:
        inventory = self.fstui.session.judged_filesystems().inventory
        root_option = f" --root-of {shlex.quote(inventory.host.hostname)}"
        command = write_command(self.directory, self._settings)
        return command + (root_option if is_on_root(self._target, inventory) else "")

    @property
    def witness_command(self) -> str:
        """The command for the other machine before the cut."""
        through_ssh = f"ssh -o ServerAliveInterval=2 {self.hostname} {_through_two_shells(self.writer_command)}"
        return f"{through_ssh} | fstui powercut witness acks.log"

    @property
    def verify_command(self) -> str:
        """The command for the other machine once this host is up again."""
        verify = shlex.join(["fstui", "powercut", "verify", self.directory])
        return f"ssh {self.hostname} {_through_two_shells(verify)} < acks.log"

    def action_copy(self) -> None:
        self.copy(self.witness_command)

    def action_copy_verify(self) -> None:
        self.copy(self.verify_command)

    def action_toggle_storage_cut(self) -> None:
        self.storage_was_cut = not self.storage_was_cut
        self.redraw()

    def action_toggle_unmountable(self) -> None:
        self.unmountable = not self.unmountable
        self.redraw()

    async def action_verify(self) -> None:
        if self.fstui.session.simulated:  # the log and the records would be files of the real host
            self.say("A simulated disk has no witness. The lesson power-cut cuts its power.")
        else:
            await self.open_prompt("the witness's log on this host, such as /root/acks.log", self.verify)

    @work(exclusive=True, group="verify")
    async def verify(self, file: str) -> None:
        if not file:
            return
        self.say("Reading the records back …")
        declared = CutDeclaration(self.storage_was_cut, self.unmountable)
        with self.fstui.reporting():
            log = await read_file(file)
            verified = await power_cut.verify(self.fstui.session, self.directory, log, declared)
            saved_to, problem = await power_cut.save(self.fstui.session, verified)
            self.fstui.open_result(verified.run, saved_to, self.directory, problem)

    def _draw_purpose(self, width: int) -> list[Text]:
        survived = "" if self.survived_cuts is None else f" Survived cuts: {self.survived_cuts}."
        return headline(f"{_PURPOSE}{survived}", width, ". ")

    def _cut_steps(self) -> Iterator[Paragraph]:
        host, inventory = "this host", self.fstui.session.judged_filesystems().inventory
        if guest := inventory.host.virtualization:
            host = "the physical host"
        if warning := root_warning(self._target, on_root=is_on_root(self._target, inventory)):
            yield " ! ", warning, WARNING
        if reason := io_path.stop(self._target):
            yield " ! ", f"{reason}, so the cut may lose records.", WARNING
        for directory in self.unverified_cuts:
            yield " ! ", f"A cut has not been verified: {directory}", WARNING
        yield " 1 ", "On a second machine with its own power supply, such as a laptop, run:", ""
        yield "   $ ", self.witness_command, KEY
        yield " 2 ", f"Wait for acknowledgements. The cut stops everything on {host}.", ""
        yield " 3 ", _PULL.format(host=host), ""
        if guest:
            yield "   ", _GUEST.format(guest=guest), WARNING

    def _later_steps(self) -> Iterator[Paragraph]:
        yield " 4 ", "Wait ten seconds, plug the host in and start it. On the second machine, run:", ""
        yield "   $ ", self.verify_command, KEY
        if self.fstui.session.judged_filesystems().inventory.host.virtualization:
            yield "   ", "If you killed the VM, add --cut host-stop.", WARNING
        yield "   ", "Or verify here: copy acks.log to this host, mark what applies, and press v.", ""
        yield f"   [{'x' if self.storage_was_cut else ' '}] s  ", _STORAGE_WAS_CUT, ""
        yield f"   [{'x' if self.unmountable else ' '}] m  ", _UNMOUNTABLE, ""
        yield "   ", _PROVES, FAINT


def _draw(paragraphs: Callable[[], Iterable[Paragraph]], width: int) -> list[Text]:
    return [drawn for lead, text, style in paragraphs() for drawn in paragraph(text, width, lead, style)]


def _through_two_shells(command: str) -> str:
    """Quote once more, because the witness's shell removes one level of quotes and the shell on this host another."""
    return shlex.quote(command) if "'" in command else command
