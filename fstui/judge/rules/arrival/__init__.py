"""Did what was synced arrive below, and did a flush do any work there?"""
