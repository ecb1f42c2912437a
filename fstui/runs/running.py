"""A run and where it runs."""

from fstui.runs.runner import RunInProgress
from fstui.runs.site import Site

__all__ = ["RunInProgress", "Site"]
