"""What has happened, told to a screen. Named in the past tense."""

from __future__ import annotations

from textual.message import Message

from fstui.model.events import Event


class RunAdvanced(Message):
    """The runner has told something new."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event
