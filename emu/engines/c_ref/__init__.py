"""The engine `c_ref`: the binding of the C reference. Descriptors come from spec models; no arithmetic in Python.

convert.py decodes and converts, block.py quantizes and dequantizes, transform.py rotates, datapath.py multiplies; descriptors.py and
program.py copy facts into structs. The C runs without the interpreter lock. Not here: the choice of an engine (emu.engines.table).
"""
