"""Files that fstui keeps: saved runs, the user's settings, the ledger, and the directory that a run creates.

The files are in the XDG directories. Everything that fstui creates on a target is first entered in the ledger, so that
``fstui clean`` finds it after ``kill -9``. Access to these files may hang, so callers use child processes. This package
must not import the judge or an interface.
"""
