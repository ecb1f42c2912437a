"""Every parser against bytes that nobody meant: a short form under hypothesis, a long one guided by coverage.

``python -m tests.bench fuzz --inputs 1000000`` gives each of ``targets.TARGETS`` so many inputs.
"""
