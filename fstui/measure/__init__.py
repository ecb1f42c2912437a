"""Measure one step: child programs that do the I/O, and the parent's side of each.

``probes`` contains programs that time operations, ``helpers`` programs for everything else that may hang, ``wire`` the
code that they share with the parent, and ``kinds`` the settings and figures of each kind of step. Child programs start
as ``python -I -S`` and import only the standard library, ``fstui.proc`` and ``wire``. A probe may also import helpers.
This package imports only the model and ``fstui.proc``.
"""
