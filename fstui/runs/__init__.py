"""Everything that an interface may request: look up a directory, plan, run, record, save, compare, replay.

In: a scenario and a directory. Out: a stream of events that ends with the finished run, already judged and saved.
``session`` is the entry point of both interfaces. Nothing here draws or prints; this package must not import textual,
rich or click.
"""
