"""Throwaway and existing database servers for the sysbench scenarios.

``ThrowawayServer`` and ``ExistingServer`` provide a running server for the settings of a step: its connection, its
process and the facts about it. Everything that they start or create is first recorded in the ledger.
"""
