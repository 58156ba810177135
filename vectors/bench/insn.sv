// Bench of insn: packed instruction on raw registers.
// Inputs: operands as the instruction packs them (and rbits). Outputs: d (and fl).

`ifndef TC_D_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
