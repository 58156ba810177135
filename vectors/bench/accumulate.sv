// Bench of accumulate: chains of dots: the row after starts from the state of the row before.
// Inputs: first, last, a, sa, b, sb, c (and acc_in). Outputs: d; stages.
// With +chain=dut the state of a row that is not the first comes from the design: acc (a stage, so with EMU_STAGES; else X: the design keeps
// its own) where a register accumulates, else d.
`define EMU_CHAIN

`ifndef TC_FIRST_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_LAST_LSB
`define EMU_FOREIGN
`endif
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
