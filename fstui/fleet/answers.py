"""What a box has said: lines behind the mark, the document between two of them, and ssh's own words on stderr."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.model.quantities import seconds, size

MOST_BYTES = 32 << 20
"""A document of the longest scenario has a few MB."""
MOST_SAID_BYTES = 1 << 16
NO_CONNECTION = 255
"""What ssh(1) ends with where it could not connect, or lost the connection."""
_SHORT = 300

_OF_SSH = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key is not the one that is known here: see ssh-keygen -R"),
    ("Host key verification failed", "its host key is not known here: connect once by hand, or ssh-keyscan"),
    ("Permission denied", "ssh is refused: no key of ours is known there, and a password is not asked for"),
    ("Could not resolve hostname", "its name is not known here"),
    ("Connection timed out", "it did not answer: nothing listens there, or a firewall is between"),
    ("timed out during banner exchange", "something listens there, and does not speak ssh"),
    ("No route to host", "there is no way to it"),
    ("Network is unreachable", "there is no way to it"),
    ("Connection refused", "nothing listens there for ssh"),
    ("a password is required", "sudo asks for a password there: NOPASSWD for this command, or connect as root"),
    ("Authentication required", "doas asks for a password there: nopass for this user, or connect as root"),
    ("is not in the sudoers file", "this user may not sudo there"),
    ("sudo: not found", "there is no sudo"),
    ("Stdio forwarding request failed", "its jump host does not reach it: no sshd listens there, or the jump host "
        "forbids AllowTcpForwarding"),
    ("kex_exchange_identification", "its sshd ends the connection at once: too many begin there (MaxStartups), or it "
        "turns us away"),
)  # fmt: skip


class Said(NamedTuple):
    """All that came from one box, of one connection."""

    out: bytes
    err: bytes
    code: int | None
    """ssh's exit status; None: it did not end in its time."""
    elapsed_s: float
    flooded: bool = False
    """It said more than anybody wants, and was not listened to any more."""

    def lines(self, mark: str) -> list[str]:
        """What stands behind the mark."""
        lead = f"{mark} ".encode()
        return [line[len(lead) :].decode(errors="replace") for line in self.out.split(b"\n") if line.startswith(lead)]

    def word(self, mark: str, word: str) -> str | None:
        """What follows that word, of the last line that begins with it."""
        found = (line.partition(" ") for line in reversed(self.lines(mark)))
        return next((rest for first, _, rest in found if first == word), None)

    def document(self, mark: str) -> bytes | None:
        """What stood between ``begin`` and ``end``; None where either is missing."""
        _, begun, rest = self.out.partition(f"\n{mark} begin\n".encode())
        document, ended, _ = rest.rpartition(f"\n{mark} end ".encode())
        return document.strip() if begun and ended else None


def trouble(said: Said, mark: str) -> str:
    """Why there is no document, in one sentence; empty where nothing is wrong so far."""
    if said.flooded:
        return f"it said more than {size(MOST_BYTES)}: not listened to any further"
    if said.code is None and said.word(mark, "begin") is None:
        return f"no answer within {seconds(said.elapsed_s)}"
    if said.code is None:
        return f"not at its end within {seconds(said.elapsed_s)} (--timeout): what ran there was told to end"
    if (found := said.word(mark, "trouble")) is not None:
        return _plain(found)
    return _broken(said, mark) if said.word(mark, "begin") is not None else _never_begun(said, mark)


def _broken(said: Said, mark: str) -> str:
    if said.code == NO_CONNECTION:
        return "the connection broke while it ran"
    return "" if said.word(mark, "end") is not None else "the connection ended in the middle of its answer"


def _never_begun(said: Said, mark: str) -> str:
    if said.code == NO_CONNECTION or _of_ssh(said):
        return _of_ssh(said) or f"no connection: {_last(said.err) or 'ssh says nothing'}"
    return "" if said.lines(mark) else f"it answers, but not as a shell does: {_last(said.out + said.err) or 'nothing'}"


def _of_ssh(said: Said) -> str | None:
    return next((words for sign, words in _OF_SSH if sign.encode() in said.err), None)


def refusal(said: Said, mark: str) -> str:
    """What fstui there gave as its reason, where it ended without a document."""
    code = said.word(mark, "end") or "?"
    words = _last(said.err).removeprefix("fstui: ").replace("--yes", "--force")  # as it is called here
    return f"{words or 'it said nothing'} (exit {code})"


def _last(text: bytes) -> str:
    lines = [line for line in text[-MOST_SAID_BYTES:].decode(errors="replace").splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("fstui: ")]
    return _plain((ours or lines or [""])[-1])


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:_SHORT]
