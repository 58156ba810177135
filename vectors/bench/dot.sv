// Bench of dot: two rows of codes and their scales -> their dot product.
// Inputs: a, sa, b, sb, c (scales and addend where the datapath has them). Outputs: d; stages u<step>_<stage>.

`ifndef TC_A_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_B_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_D_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
