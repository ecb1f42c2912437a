"""Real storage with known faults for teaching: loop devices, mounts and a cgroup, which are removed again.

``laboratory`` defines the kinds of storage and the expected answers. It makes, records and removes them. ``kernel``
contains the system calls. All of them work through held descriptors, so that another process that changes a path cannot
change where something is mounted or removed.
"""
