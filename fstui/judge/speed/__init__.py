"""Answer whether the storage is slow, from the times of synced writes and references to compare them with.

This answer and the verdict are independent, with one exception: storage that is fast but not durable is not called
normal. ``fstui explain is-it-slow`` explains how the answer is found.
"""
