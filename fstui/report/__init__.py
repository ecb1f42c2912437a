"""Turn runs, comparisons and inventories into reports, and reports into text.

A function of this package takes model types and returns a ``Report`` of ``Section``s. Each format in ``formats``
renders any report. The command line and the app show the same sections. Nothing here reads the system, measures or
judges.
"""
