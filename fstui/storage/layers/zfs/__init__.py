"""ZFS: its datasets and volumes, and the pools that they stand on."""
