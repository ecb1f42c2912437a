"""Child programs that read the kernel's trace.

The programs: ``flush_counter`` for a run, ``recorder`` for ``fstui record``, ``watch`` for ``fstui watch``, and
``at_risk`` for ``fstui watch --at-risk``. Each creates a private tracefs instance (``tracefs``), enables events in it,
and reads them (``recording``, ``events``). ``devices`` and ``waits`` add the events up. ``processes`` finds the
processes of threads, and ``files`` the paths of files.

Must import only the standard library, and modules that child programs share with their parents.
"""
