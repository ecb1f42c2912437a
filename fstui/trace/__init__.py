"""Find out from the kernel's trace events which processes request flushes, and which wait for which files.

``reader`` has the child programs that read the trace, and ``child`` starts them. ``conclusion`` draws
the conclusions of ``fstui watch``, ``at_risk`` those of ``fstui watch --at-risk``. Tracing needs root; runs work
without it. Must not import databases or runs.
"""
