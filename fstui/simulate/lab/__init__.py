"""Real storage with known faults for teaching: loop devices, mounts and a cgroup, which are removed again.

``laboratory`` defines the kinds of storage and the expected answers, and makes, records and removes the storage.
``kernel`` runs the programs and the system calls. Paths are safe, because a laboratory is made only in a directory that
no other user can rename.
"""
