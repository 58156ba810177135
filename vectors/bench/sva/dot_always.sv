// The checks of dot_checks.sv as plain code, for Icarus and any simulator without SVA. Add this file and -I<this folder> to the command of
// the bench, after the suite's .svh, and -s emu_checks: the second top module looks into the bench. Or instantiate dot_always in
// your wrapper.
`timescale 1ns / 1ps
`define EMU_RULE(E_NAME, E_TEXT, E_OK) \
    if (!(E_OK)) begin \
      $display("CHECK %0s suite=%0s", E_TEXT, `TC_STEM); \
      $fatal(1); \
    end
module dot_always (
    input clk, rst, in_valid, out_valid,
    input [`TC_A_BITS-1:0] a, b,
`ifdef TC_SA_LSB
    input [`TC_SA_BITS-1:0] sa, sb,
`endif
    input [31:0] c, d
);
`include "dot_rules.svh"
  always @(posedge clk)
    if (rst === 1'b0) begin
      `EMU_RULES
    end
endmodule

module emu_checks;
  dot_always checks (
    .clk(bench.clk), .rst(bench.rst), .in_valid(bench.in_valid), .out_valid(bench.out_valid),
    .a(bench.device.a), .b(bench.device.b),
`ifdef TC_SA_LSB
    .sa(bench.device.sa), .sb(bench.device.sb),
`endif
    .c(bench.device.c), .d(bench.device.d)
  );
endmodule
