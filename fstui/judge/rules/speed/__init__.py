"""Is it slow?"""
