"""How does a matrix product add? Order of summation, width and rounding of the accumulator, where C and the scales enter.

questions.py: operands that make orders differ.   sums.py: sums in floating point, in many orders.   machines.py: the candidates.
reveal.py: what cancels with what, block by block.   run.py: the stages, and what is said.
"""
