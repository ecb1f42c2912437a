"""What outlives a run: saved runs, declarations and the ledger, in the XDG directories, and the directory of a run.

Every directory, mount, server and trace instance is recorded in the ledger before it is made, so that ``fstui clean``
finds it after ``kill -9``. Reading and removing may hang and therefore happens in child processes. Must not import the
judge or an interface.
"""
