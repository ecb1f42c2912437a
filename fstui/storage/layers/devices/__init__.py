"""The lowest devices: disks, how they are attached, their caches and media."""
