"""Types that every other package shares: nodes and stacks, settings, steps, findings, runs.

They are msgspec structs without I/O, and the documents that fstui prints and saves are made of them. This package
imports no other package of fstui.
"""
