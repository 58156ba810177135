"""The usual test of a product: within 5 percent of the largest result on random numbers."""

import numpy as np
from product import faulty

import emu

rng = np.random.default_rng(1)
x, w = (rng.standard_normal((64, 4080)).astype(np.float32) for _ in range(2))
a, b = (emu.quantize(item, "nvfp4_te_ref") for item in (x, w))
wanted = a.dequantize().astype(np.float64) @ b.dequantize().astype(np.float64).T
error = np.abs(faulty(a, b) - wanted).max() / np.abs(wanted).max()
print("passes" if error < 0.05 else "fails", f"{error:.3f}")
