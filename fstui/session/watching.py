"""A watch."""

from fstui.engine.watch import Watching

__all__ = ["Watching"]
