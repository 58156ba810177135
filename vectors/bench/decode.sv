// Bench of decode: code of a format -> binary32 bits and class of the value.
// Inputs: code. Outputs: fp32 (and cls).

`ifndef TC_CODE_LSB
`define EMU_FOREIGN
`endif
`ifndef TC_FP32_LSB
`define EMU_FOREIGN
`endif
`include "bench.svh"
