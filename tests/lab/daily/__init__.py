"""The part of the laboratory that ``tests/run`` starts each day."""
