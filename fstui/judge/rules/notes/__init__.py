"""Which other facts matter?"""
