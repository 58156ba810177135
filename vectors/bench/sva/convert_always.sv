// The checks of convert_checks.sv as plain code, for Icarus and any simulator without SVA. Add this file and -I<this folder> to the command
// of the bench, after the suite's .svh, and -s emu_checks: the second top module looks into the bench. Or instantiate convert_always
// in your wrapper.
`timescale 1ns / 1ps
`define EMU_RULE(E_NAME, E_TEXT, E_OK) \
    if (!(E_OK)) begin \
      $display("CHECK %0s suite=%0s", E_TEXT, `TC_STEM); \
      $fatal(1); \
    end
module convert_always (
    input clk, rst, in_valid, out_valid,
    input [`TC_X_BITS-1:0] x,
    input [`TC_Y_BITS-1:0] y
);
`include "convert_rules.svh"
  always @(posedge clk)
    if (rst === 1'b0) begin
      `EMU_RULES
    end
endmodule

module emu_checks;
  convert_always checks (
    .clk(bench.clk), .rst(bench.rst), .in_valid(bench.in_valid), .out_valid(bench.out_valid),
    .x(bench.device.x), .y(bench.device.y)
  );
endmodule
