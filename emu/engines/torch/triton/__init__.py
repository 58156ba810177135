"""Triton kernels of the torch engine: one file per operation, launched by plain functions on torch tensors.

bits, hadamard, wide_sum, philox, machine, tiles hold device functions; program and launch are the host side; amax, transform, quantize and
row_and_column are the operations; ptx reads what the compiler made of them. Nothing here is loaded by `import emu` or `import emu.torch`.
"""
