// Bench of convert: code of one format -> code of another.
// Inputs: x (and r). Outputs: y (and fl).

`ifndef TC_X_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_Y_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
