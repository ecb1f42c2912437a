"""A run and where it runs."""

from fstui.engine.runner import RunInProgress
from fstui.engine.site import Site

__all__ = ["RunInProgress", "Site"]
