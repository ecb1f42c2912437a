"""Benches that show speed as ratios within one run: ``python -m tests.bench NAME``. They are not tests."""
