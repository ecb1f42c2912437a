"""Measure one step: child programs that do the I/O, and the parent's side of each.

``probes`` contains the programs that time operations, and ``helpers`` the programs for everything else that may hang.
``wire`` contains the code that they share with the parent, and ``kinds`` the settings and figures of each kind of step.
Child programs start as ``python -I -S`` and import only the standard library, ``fstui.proc`` and ``wire``. A probe may
also import helpers. The rest of this package imports only the model and ``fstui.proc``.
"""
