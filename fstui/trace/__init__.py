"""Find out from the kernel's trace events which process requested a flush, and which waits for which file.

``reader`` has the child programs that read the trace, and ``child`` starts them. ``conclusion`` says what
``fstui watch`` found, ``at_risk`` what ``fstui watch --at-risk`` found. Tracing needs root; runs work without it. Must
not import databases or runs.
"""
