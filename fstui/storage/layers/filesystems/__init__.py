"""Filesystems on this host, and filesystems that another host or a program provides."""
