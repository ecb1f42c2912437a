"""Child programs that read the kernel's trace.

The programs: ``record`` for a run, ``recorder`` for ``fstui record``, ``watch`` for ``fstui watch``, and ``at_risk``
for ``fstui watch --at-risk``. Each creates a private tracefs instance (``tracefs``), enables events in it, and reads
them (``recording``, ``events``). ``devices`` and ``waits`` add the events up. ``processes`` and ``files`` find the
names of threads and files.

Must import only the standard library and what child programs share with their parents.
"""
