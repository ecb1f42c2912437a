"""The kernel's own trace events: the instance in tracefs, its ring buffer, and what its events say."""
