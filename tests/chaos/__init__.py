"""Random signals and faults under a running fstui, and what is left of it: ``python -m tests.bench chaos``."""
