"""Describes the storage of this host as stacks of layers.

In: ``/proc``, ``/sys``, udev, and the answers of tools that a child process runs (``claims``). Out: an ``Inventory``
with a stack for each filesystem (``survey``), counters (``counters``), processes that write (``process``), hot-plug
events. ``layers`` says for each kind what a sync becomes and how many flushes are expected. The package does not judge.
It touches no filesystem, except ``guests``, which runs in a child process because it may hang.
"""
