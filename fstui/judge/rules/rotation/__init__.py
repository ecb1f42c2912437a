"""Is a rotating disk faster than its platter allows?"""
