"""The reference model: what must come out, in Python integers and fractions. No float, no NumPy; to be read beside a standard.

decode, round, overflow and encode are one file each and convert composes them; program runs recipes; block and transform are the
entry points.
"""
