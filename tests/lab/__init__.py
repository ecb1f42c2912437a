"""The laboratory: virtual machines whose disks are durable or not by construction, and what fstui reports about them.

``python -m tests.lab build`` makes the guest image, ``… run [NAME…]`` measures and cuts the power, and ``… table``
compares the results with the truth. Each machine is one file in ``machines/``.
"""


class LabUnavailable(Exception):  # noqa: N818  not an error of the laboratory
    """The laboratory cannot run here; the message says what is missing."""
