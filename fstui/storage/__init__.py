"""Describes the storage of this host as stacks of layers.

Input: ``/proc``, ``/sys``, udev, and the output of tools that a child process runs (``tool_output``). Output: an
``Inventory`` with a stack for each filesystem (``survey``), counters (``counters``), processes that write
(``process``), hot-plug events. ``layers`` defines what each kind of layer does with a sync, and how many flushes are
expected. The package does not judge. Only ``guests`` touches filesystems. It runs in a child process, because a
filesystem may hang.
"""
