"""Throwaway and existing database servers for the sysbench scenarios.

In: the server's kind and options. Out: a running server with its parameters, its process and the location of its data.
Everything that is started or created is recorded in the ledger first.
"""
