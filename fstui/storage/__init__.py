"""Describes the storage of this host as stacks of layers.

Input: ``/proc``, ``/sys``, udev, and the answers of tools that a child process runs (``claims``). Output: an
``Inventory`` with a stack for each filesystem (``survey``), counters (``counters``), processes that write
(``process``), hot-plug events. ``layers`` defines for each kind what a sync becomes and how many flushes are expected.
The package does not judge. It touches no filesystem, except that ``guests`` does, in a child process because it may
hang.
"""
