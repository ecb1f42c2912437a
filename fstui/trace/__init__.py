"""Use the kernel's trace events to see who requested which flush, and who waits for which file.

``reader`` has the child programs that read the trace, ``child`` starts them, and ``conclusion`` says what a watch
found. Tracing needs root; runs work without it. Must not import databases or runs.
"""
