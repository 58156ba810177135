// Bench of layout: place of an element of a stored block -> its offset.
// Inputs: row, idx. Outputs: off.

`ifndef TC_ROW_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_IDX_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_OFF_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
