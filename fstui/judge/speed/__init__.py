"""Is it slow? The second answer: from the time that synced writes took, and what that is held against.

It has no part in the verdict, and the verdict none in it, but that what is fast without being durable is not praised.
``fstui explain is-it-slow`` tells how it is found.
"""

from fstui.judge.speed.answer import speed

__all__ = ["speed"]
