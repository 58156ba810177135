// Bench of quantize: a block of values -> codes and levels.
// Inputs: x (and ts, n_valid, r). Outputs: codes, scale (and further levels); stage amax.

`ifndef TC_X_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_CODES_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_SCALE_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
