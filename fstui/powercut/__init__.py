"""The power-cut test: the only test of whether storage keeps what it has acknowledged.

A writer on the tested host writes numbered records, and acknowledges each to a witness on another machine once its sync
has returned. Then the power is cut. After the restart, the witness's log lists the records that must exist, and they
are compared with those that do exist. Interfaces use this package through ``runs.power_cut`` and ``runs.campaigns``.

===================== =======================================================================================
``records``           the format of a record, the file it goes to, and what a block contains that was read back
``log``               the lines that the writer prints and the witness stores
``header``            the first of these lines: everything that is needed after the power cut
``plan``              the settings, and what the writer will do
``writer``            child: starts and stops the writing processes (``output``: the files of one)
``writing``           the parent's side of the writer
``witness``           stores the log durably, on another machine
``readback``          child: compares the files with the log, changes nothing
``verification``      compares a log with a directory and returns a judged run
``figures``           the numbers of acknowledged, present and lost records
``power_cuts``        the history: verified cuts, survived cuts, and cuts that are not yet verified
``campaign``          the settings and the cuts of a campaign, stored on the witness
``cutting``           makes the cuts of a campaign (``shell``: the commands of the user, and ssh)
``bounds``            what a number of cuts proves
===================== =======================================================================================

The children (writer, output, readback) import only the standard library, the wire, records and log.
"""
