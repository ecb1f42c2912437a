"""Does the configuration alone decide what a sync is worth?"""
