"""Real storage with known faults for teaching, made by the kernel and taken away again.

``kinds`` says what can be made and what fstui is expected to report. ``laboratory`` makes, records and removes it, and
``kernel`` has the system calls. All of them work through held descriptors: no path that another process may change
decides where something is mounted or removed.
"""
