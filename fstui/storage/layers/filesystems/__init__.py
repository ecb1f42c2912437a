"""Filesystems on block devices, or on other filesystems of this box: what a sync owes, and which options drop it."""
