"""The words every room shares, as frozen structs.

The run document is the JSON of ``run.Run``: there is no second set of classes. Units stand in the names. A value that
could not be read is ``None``; it is never replaced by a guess.
"""
