// Constrained-random bench of convert: the C reference makes the expected code of every row (DPI-C); the rest is ../convert.sv.
// On the command line: a suite's .svh with the columns (its rows are not read), c_ref/dpi/emu_ref_pkg.sv, this file, the design,
// libemu_dpi.a. For Verilator: Icarus has no DPI. Plusargs:
// +source=bf16 +destination=e2m1 +rounding=rne +policy=nvidia and those of walk.svh.
`include "random.svh"
`include "bench.svh"
