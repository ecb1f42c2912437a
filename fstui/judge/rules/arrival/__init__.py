"""Did what was synced arrive below, and does a flush do any work there?"""
