"""Is what the device, its link and its provider report credible?"""
