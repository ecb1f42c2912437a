"""The power-cut test: the only test of whether storage keeps what it has acknowledged.

A writer on the tested host writes numbered records, and acknowledges each to a witness on another machine once its sync
has returned. Then the power is cut. After the restart, the records that must exist according to the witness's log are
compared with those that exist (``readback``, ``verification``). A campaign repeats the test unattended (``cutting``).

The child programs and what they import (``writer``, ``readback``, ``output``, ``server``) use only the standard
library, ``measure.wire``, ``records`` and ``log``, so that they start fast.
"""
