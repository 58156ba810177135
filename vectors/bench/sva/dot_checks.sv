// Checks of dot as concurrent assertions, bound to every module `dut`: for Verilator (--assert) and simulators that know SVA and bind.
// Add this file, -I<this folder> and --assert to the command of the bench, after the suite's .svh. A failing rule ends the run without
// a RESULT.
`timescale 1ns / 1ps
`define EMU_RULE(E_NAME, E_TEXT, E_OK) \
  E_NAME: assert property (@(posedge clk) disable iff (rst !== 1'b0) (E_OK)) else begin \
    $display("CHECK %0s suite=%0s", E_TEXT, `TC_STEM); \
    $fatal(1); \
  end
module dot_checks (
    input clk, rst, in_valid, out_valid,
    input [`TC_A_BITS-1:0] a, b,
`ifdef TC_SA_LSB
    input [`TC_SA_BITS-1:0] sa, sb,
`endif
    input [31:0] c, d
);
`include "dot_rules.svh"
  `EMU_RULES
endmodule

bind dut dot_checks checks (
    .clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid),
    .a(a), .b(b),
`ifdef TC_SA_LSB
    .sa(sa), .sb(sb),
`endif
    .c(c), .d(d)
);
