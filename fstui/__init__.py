"""fstui tests whether storage is durable, and how fast it is."""

__version__ = "0.1.0"
