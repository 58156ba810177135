// Bench of dequantize: codes and levels -> a block of values.
// Inputs: codes, scale and further levels (and ts). Outputs: y.

`ifndef TC_CODES_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_Y_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
