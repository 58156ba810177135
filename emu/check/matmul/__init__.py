"""When is a 4-bit matrix product right? matmul/A/B/OUT: operands whose product is the same in every order, and what else is said of it.

pair.py: what the two operands are.   numbers.py: codes as exact integers.   sets.py: operands, each set proven.   target.py: the kernel.
epilogue.py, envelope.py: the later stages.   locate.py: what a wrong kernel did.   run.py: the check.   report.py, files.py: in and out.
"""
