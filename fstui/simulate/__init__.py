"""Simulated disks with known faults, and ``lab``, real storage with known faults for teaching.

A simulated disk replaces the kernel, the devices and the clock, so that lessons, screenshots and tests need no
hardware. Its results are always marked as simulated.
"""
