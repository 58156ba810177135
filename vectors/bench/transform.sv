// Bench of transform: a block -> its transform.
// Inputs: x, sgn. Outputs: y; one stage per butterfly level where the order of sums is one.

`ifndef TC_X_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_Y_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
