"""What are the words of the device, of its link and of whoever is behind it worth?"""
