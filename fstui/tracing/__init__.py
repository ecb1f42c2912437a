"""The kernel as a witness: its trace events beside a run, recorded and read by a child program."""
