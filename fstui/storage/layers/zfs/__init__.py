"""ZFS: datasets, volumes, and the pools that store them."""
