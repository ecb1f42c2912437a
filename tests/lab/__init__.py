"""The laboratory: virtual machines whose disks keep or break their word by construction, and what fstui says of them.

``python -m tests.lab build`` makes the guest image, ``… run [NAME…]`` measures and cuts the power, ``… table`` prints
what came out against the truth. Each machine is one file in ``machines/``.
"""


class LabUnavailable(Exception):  # noqa: N818  not an error of the laboratory's
    """The laboratory cannot run here; the message says what is missing."""
