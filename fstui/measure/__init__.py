"""Measure one step: child programs that do the I/O, and the parent's side of each.

``probes`` has the programs that time operations, ``helpers`` those for everything else that may hang, ``wire`` what
they share with the parent, and ``kinds`` the settings and figures of each kind of step. Child programs start as
``python -I -S`` and import only the standard library, ``fstui.proc`` and ``wire``; a probe may import helpers. This
package imports only the model and ``fstui.proc``.
"""
