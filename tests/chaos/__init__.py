"""Random signals and faults during runs of fstui, and what is left afterwards: ``python -m tests.bench chaos``."""
