"""When is attention over quantized operands right? Questions whose softmax is exact in every order, and a proven bound for the others.

contract.py: the facts of one attention.   sets.py: operands, each proven exact.   target.py: the kernel.   bound.py: what random
operands may give.   run.py: the check.   product.py: Q K^T and P V as matrix products.   cache.py: writers of a paged cache.
invariance.py: the same bits for every batch and split.
"""
