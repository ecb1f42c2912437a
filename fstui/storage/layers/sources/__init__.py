"""Where facts are read: files under a root, the mounts, udev's database, the answers of tools."""
