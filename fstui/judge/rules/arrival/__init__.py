"""Did the flushes and bytes reach the devices, and does a flush do any work there?"""
