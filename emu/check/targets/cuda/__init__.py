"""CUDA's conversion functions (cuda_fp4.h, cuda_fp6.h, cuda_fp8.h) as targets of `emu check`: conversions.cu and what compiles it."""
