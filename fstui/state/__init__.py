"""What outlives a run, in the XDG directories: saved runs, the ledger, what the user declared."""
