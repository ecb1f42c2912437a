"""Throwaway and existing database servers for the sysbench scenarios.

``Throwaway`` and ``Existing`` take the settings of a step and provide a running server: its connection, its process and
the facts about it. Everything that is started or created is recorded in the ledger first.
"""
