"""Read /proc, /sys and udev, and describe each mounted filesystem with the devices below it.

In: the live system, or a made-up tree in tests. Out: ``Inventory`` and ``Target`` from the model, and the counters of
each layer. ``layers`` has one module for each family of filesystems and devices. Nothing here opens a file on the
storage that it describes: that may hang, so a child process does it. Imports the model only.
"""
