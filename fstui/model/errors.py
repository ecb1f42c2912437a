"""What ends a command with a sentence for the user."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818  said to the user as it is: nothing was written, exit 2
    """The run cannot begin; the message says what, where and what to do."""
