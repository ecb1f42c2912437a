"""Real storage with known faults for teaching: loop devices, mounts and a cgroup, which are removed again.

``laboratory`` defines the kinds of storage and the expected answers, and makes, records and removes the storage.
``kernel`` contains the system calls. They use open descriptors instead of paths, so that a process that changes a path
cannot change where something is mounted or removed.
"""
