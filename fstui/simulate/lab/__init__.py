"""Real storage with known faults for teaching, made by the kernel and taken away again.

``laboratory`` says what can be made and what fstui is expected to report, and makes, records and removes it. ``kernel``
has the system calls. All of them work through held descriptors: no path that another process may change
decides where something is mounted or removed.
"""
