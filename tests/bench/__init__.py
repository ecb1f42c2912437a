"""Speed, shown as ratios within one run: ``python -m tests.bench NAME``. Never a timed test."""
