"""Simulated storage: a disk, its cache, the kernel above it and a program, by their physics and a clock of their own.

Nothing here reads the box or writes to it, and nothing knows the engine: a request and the time at which it comes go
in, the time of its answer comes out. Times are ns of the model's clock. What a disk is made of stands in a TOML file.
"""
