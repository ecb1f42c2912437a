"""Disks that this very box serves to itself, and where it keeps them."""
