"""Arrays: values as raw bits and back (values.py), arrays as rows and back (rows.py), at the public edge.

Not here: what the bits mean (emu.spec), operations on them (emu.ops).
"""
