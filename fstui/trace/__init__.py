"""Find out from the kernel's trace events which processes request flushes, and which wait for which files.

``reader`` contains the child programs that read the trace, and ``child`` starts them. ``conclusion`` draws the
conclusions of ``fstui watch``, and ``at_risk`` those of ``fstui watch --at-risk``. Tracing requires root, but a run can
do without a trace. Must not import databases or runs.
"""
