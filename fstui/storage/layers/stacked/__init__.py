"""Block devices that consist of other devices, or of a file."""
