// Bench of operate: codes of one to four numbers -> the code of the result, or one bit for yes or no.
// Inputs: a (and b, c, or a scale before each). Outputs: y.

`ifndef TC_A_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_Y_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
