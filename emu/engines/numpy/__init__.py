"""The NumPy engine: arrays of raw bits in, arrays of raw bits out, equal to the reference model bit for bit.

Floats are used only where a recipe names a binary32 operation, or where an operation is exact. Tables come from the reference model through
tables.py, the one door: agreement that rests on them is not independent evidence.
"""
