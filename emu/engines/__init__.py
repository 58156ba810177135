"""Five engines, each a full implementation of the operations: exact (the reference model), numpy, c_ref, native and torch.

table.py says which engine does what; run.py and datapath.py ask it. Importing this package loads none of them.
"""
