"""Turn runs, comparisons and inventories into text: tables, pages and export formats.

In: model types. Out: strings and rich renderables for the command line and the screens. Nothing here reads the system
or judges.
"""
