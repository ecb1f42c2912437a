"""A watch."""

from fstui.runs.watch import Watching

__all__ = ["Watching"]
