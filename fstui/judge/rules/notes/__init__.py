"""What else is there to know beside the verdict?"""
