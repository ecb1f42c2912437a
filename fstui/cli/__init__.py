"""The command line: one file per sub-command."""


def main() -> None:
    """Entry point of the ``fstui`` command."""
    raise NotImplementedError
