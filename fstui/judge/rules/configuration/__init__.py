"""Does the configuration alone show that syncs are not durable?"""
