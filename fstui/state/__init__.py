"""Keep what outlives a run: saved runs, the user's settings, the ledger, and the directory that a run makes.

Files are in the XDG directories. Everything that fstui makes is in the ledger first, so that ``fstui clean`` finds it
after ``kill -9``. Access to these files may hang, so callers use child processes. Must not import the judge or an
interface.
"""
