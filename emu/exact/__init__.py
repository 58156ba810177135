"""The oracle: what must come out, in Python integers and fractions. No float, no NumPy; written to be read beside a standard.

decode -> round -> overflow -> encode are one file each; convert composes them; program runs recipes; block and transform are the entry points.
"""
