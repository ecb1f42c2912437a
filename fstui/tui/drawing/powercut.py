"""The power-cut check, step by step: what to connect, when to pull, what to run afterwards."""

from __future__ import annotations

import shlex

import msgspec
from rich.text import Text

from fstui.model.quantities import counted
from fstui.model.storage import Target
from fstui.tui.drawing import stack
from fstui.tui.drawing.cells import ends, line, wrapped
from fstui.tui.glyphs import DOUBT, FAINT, HEAD


class Guide(msgspec.Struct, frozen=True):
    """What the person is led through."""

    host: str
    target: Target
    write: str
    """The command that is run on this box, through ssh."""
    verify: str
    guest: str | None
    """The kind of virtual machine, where it is one."""
    survived: int | None = None
    """None while the history is read."""
    pending: tuple[str, ...] = ()
    """Directories of cuts that wait to be verified."""
    storage_was_cut: bool = False
    unmountable: bool = False

    @property
    def witness(self) -> str:
        write = _through_two_shells(self.write)
        return f"ssh -o ServerAliveInterval=2 {self.host} {write} | fstui powercut witness acks.log"

    @property
    def afterwards(self) -> str:
        """The command for the witness once the box is up again."""
        return f"ssh {self.host} {_through_two_shells(self.verify)} < acks.log"


def _through_two_shells(command: str) -> str:
    """The witness's shell takes one level of quotes away, the box's another."""
    return shlex.quote(command) if "'" in command else command


def title(guide: Guide, width: int) -> Text:
    survived = "" if guide.survived is None else f"{counted(guide.survived, 'cut')} survived"
    return ends([" ", ("fstui", HEAD), f"  power-cut   {stack.path(guide.target)}"], survived, width)


def page(guide: Guide, width: int) -> list[Text]:
    """All of it; it is scrolled where the screen is too short."""
    lines = [
        *_numbered(1, "Connect. On another machine with power of its own (a laptop will do), run:", width),
        *_command(guide.witness, width),
        *_numbered(
            2, f"Wait until it shows acknowledgements. What else runs on {guide.host} loses its power too.", width
        ),
        *_numbered(
            3,
            "Pull the wall plug, both where there are two; a laptop runs on its battery. Not reset, not reboot, not "
            "the power button: those leave the disk its power, or the time to save itself.",
            width,
        ),
        *_numbered(4, "Wait ten seconds, plug it in again, start it. Then, on the witness:", width),
        *_command(guide.afterwards, width),
        *(line(part) for part in wrapped("or copy acks.log to this box and press v here.", width - 2, indent="    ")),
        line(),
        *_proves(guide, width),
        line(),
        *_box(guide.storage_was_cut, "s", "the storage alone lost its power, not the box (a USB disk, a shelf)", width),
        *_box(guide.unmountable, "m", "since the cut the filesystem cannot be mounted any more", width),
    ]
    for waiting in guide.pending:
        words = f"a cut waits to be verified: {waiting}"
        lines += [line((part, DOUBT)) for part in wrapped(words, width - 2, "    ", "  ! ")]
    return lines


def _numbered(number: int, words: str, width: int) -> list[Text]:
    first, *more = wrapped(words, width - 1, "    ", "    ")
    return [line("  ", (str(number), HEAD), first[3:]), *(line(part) for part in more)]


def _command(words: str, width: int) -> list[Text]:
    return [line((part, HEAD)) for part in wrapped(words, width - 2, "        ", "      $ ")]


def _proves(guide: Guide, width: int) -> list[Text]:
    words = (
        "One lost record proves that the storage breaks its word. None lost proves it for this cut and these settings: "
        "five cuts say much more than one."
    )
    lines = [line((part, FAINT)) for part in wrapped(words, width - 2, indent="  ")]
    if guide.guest is not None:
        words = (
            f"This is a guest ({guide.guest}). Killing the VM proves only that it passes its syncs on to the "
            "host, whose cache survives: pull the host's plug."
        )
        lines += [line((part, DOUBT)) for part in wrapped(words, width - 2, "    ", "  ! ")]
    return lines


def _box(ticked: bool, key: str, words: str, width: int) -> list[Text]:
    first, *more = wrapped(words, width - 1, " " * 9)
    return [line(f"  [{'x' if ticked else ' '}] ", (key, HEAD), first[7:]), *map(line, more)]
