"""The power-cut check: the only proof that storage keeps what it has acknowledged.

The box writes numbered records and acknowledges each one, once its sync has returned, to a witness on another machine.
Its plug is pulled. When it is up again, the witness's log says what must be there, and the records say what is there.

===================== =======================================================================================
``records``           what a record looks like, which file it goes to, what a block that was read back holds
``log``               the lines that the writer prints and the witness keeps
``header``            the first of these lines: all that must be known when the box has lost its power
``plan``              what can be set, and what a writer will do with it
``writer``            child: forks the writers, hears who ends them (``output``: the files of one)
``writing``           the writer's process, seen from its parent
``witness``           keeps the log durably, on another machine
``readback``          child: compares the files with the log, changes nothing
``verification``      from a log and a directory to a judged run
``figures``           what was acknowledged against what was read back, in numbers
``power_cuts``        the history: which were verified, how many a storage has survived, which still wait
===================== =======================================================================================

The children (writer, output, readback) import only the standard library, the wire, records and log.
"""
