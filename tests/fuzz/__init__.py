"""Every parser with arbitrary bytes: a short form with hypothesis, a long one guided by coverage.

``python -m tests.bench fuzz --inputs 1000000`` gives each of ``targets.TARGETS`` this many inputs.
"""
