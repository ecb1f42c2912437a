"""Can a platter have done this?"""
