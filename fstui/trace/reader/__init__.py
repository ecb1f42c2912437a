"""Child programs that read the kernel's trace.

``record`` serves a run, ``recorder`` ``fstui record``; ``watch`` and ``at_risk`` serve ``fstui watch``.

A program (``program``) makes a tracefs instance (``tracefs``), enables events and reads pages (``recording``,
``events``), and adds them up (``devices``, ``waits``). ``processes`` and ``files`` name the threads and files of
events. Imports the standard library and what child programs share with their parents.
"""
