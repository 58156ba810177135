"""The engine `torch`: convert, operate, transform, quantize, dequantize, dot and matmul on tensors, CPU and CUDA, bit for bit.

convert.py decodes and converts, operate.py operates on numbers, transform.py rotates, block.py quantizes and dequantizes, datapath.py and
products.py multiply; arrays.py takes NumPy arrays in and out; triton/ holds kernels for the device; can.py and present.py answer without
loading torch.
Not here: the public functions (emu.torch).
"""
