"""The engine `torch`: convert, transform, quantize, dequantize, dot and matmul on tensors, CPU and CUDA, bit for bit.

convert.py (decode, convert), transform.py (rotations), block.py (quantize, dequantize), datapath.py and products.py (dot, matmul); arrays.py
takes NumPy arrays in and out; triton/ holds kernels for the device. can.py and present.py answer without loading torch. The public functions are
those of emu.torch.
"""
