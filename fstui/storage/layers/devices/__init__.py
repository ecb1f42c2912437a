"""What stands lowest: disks, flash and memory, how they are attached, and who may be believed of their caches."""
