"""Several writers that share a revolution of the disk are not reported."""
