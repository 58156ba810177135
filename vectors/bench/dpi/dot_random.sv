// Constrained-random bench of dot: the C reference makes the expected result of every row (DPI-C); all other rules are those of ../dot.sv.
// On the command line: a suite's .svh with the columns (its rows are not read), c_ref/dpi/emu_ref_pkg.sv, this file, the design,
// libemu_dpi.a. For Verilator: Icarus has no DPI. Plusargs:
// +datapath=blackwell_mxf4nvf4_b16_ue4m3 (or nv_like/e1m2xe1m2/ue4m3/16) and those of walk.svh.
// Results are compared, stage columns are not; a datapath with exception flags is refused, as they would not be.
`ifdef TC_FL_LSB
`define EMU_FOREIGN
`endif
`define EMU_RANDOM_DOT
`include "random.svh"
`include "bench.svh"
