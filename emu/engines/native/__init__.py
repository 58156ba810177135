"""The engine `native`: vectorised C loops for the hot operations.

Not here: the loops (kernels/), the C reference (emu.engines.c_ref)."""
