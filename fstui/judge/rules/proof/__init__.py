"""Was the power cut, and what survived?"""
