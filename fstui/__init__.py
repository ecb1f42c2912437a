"""fstui: does this storage keep its word, and how fast?"""

__version__ = "0.1.0"
