// A bench in the style of UVM, in plain SystemVerilog classes (Verilator runs no UVM): a sequence makes numbers, a predictor asks the C
// reference through DPI what must come out, a scoreboard compares it in order with what a monitor saw. In a UVM bench of yours the predictor
// is a uvm_subscriber with the same `write`. The design: ../examples/pressed.sv, valid and ready on both sides.
// On the command line: c_ref/dpi/emu_ref_pkg.sv, scoreboard_pkg.sv, this file, the design, libemu_dpi.a. Plusargs: +n=<numbers> (default
// 20000), +seed=<seed>, +flip=<number>: one bit of that prediction is turned, the self-test of this bench. A datapath of your own as the
// model: scoreboard_dot.sv.
`timescale 1ns / 1ps

package emu_convert_pkg;
  import emu_ref_pkg::*;
  import emu_scoreboard_pkg::*;

  class predictor;
    scoreboard board;
    int failed;

    function void write(bit [15:0] x);
      transaction want;
      longint unsigned y;
      byte unsigned open;
      if (emu_dpi_convert("bf16", "e2m1", "rne", "nvidia", {48'd0, x}, 0, y, open) != EMU_OK) failed++;
      want = new;
      want.y = y;
      want.is_open = open != 0;
      want.given = $sformatf("%h", x);
      board.expect_next(want);
    endfunction
  endclass

  // Half of the numbers near the values of 4-bit formats, half anything.
  class sequence_of_numbers extends random_bits;
    function bit [15:0] next_number();
      bit [31:0] drawn;
      drawn = next();
      return drawn[31] ? {drawn[15], 8'd124 + {5'd0, drawn[18:16]}, drawn[6:0]} : drawn[15:0];
    endfunction
  endclass
endpackage

module bench;
  import emu_scoreboard_pkg::*;
  import emu_convert_pkg::*;
  bit clk, rst, in_valid, out_ready;
  bit [15:0] in_data;
  wire in_ready, out_valid;
  wire [3:0] out_data;
  pressed design_under_test (.*);

  scoreboard board;
  predictor golden;
  sequence_of_numbers numbers;
  transaction seen;
  int n, made, quiet, seed;
  bit [31:0] pace;

  initial begin
    board = new;
    golden = new;
    numbers = new;
    golden.board = board;
    if (!$value$plusargs("n=%d", n)) n = 20000;
    if (!$value$plusargs("seed=%d", seed)) seed = 1;
    if (!$value$plusargs("flip=%d", board.flip)) board.flip = 0;
    numbers.state = seed == 0 ? 1 : seed;
    pace = seed == 0 ? 1 : seed;
  end

  task verdict;
    if (board.verdict(golden.failed)) $finish;
    else $fatal(0);
  endtask

  // One delay in one always block: see ../bench.svh. Pins change after the falling edge and are read before the rising one.
  int cycle;
  bit phase, took;
  always #5 begin
    phase = ~phase;
    if (phase) begin
      clk = 1'b0;
      cycle = cycle + 1;
      rst = cycle < 4;
      pace = {pace[30:0], pace[31] ^ pace[21] ^ pace[1] ^ pace[0]};
      out_ready = !rst && pace[1:0] != 2'd0;
      if (!rst && !in_valid && made < n && pace[4:2] != 3'd0) begin
        in_data = numbers.next_number();
        in_valid = 1'b1;
        made = made + 1;
      end
    end else begin
      quiet = quiet + 1;
      if (!rst && out_valid && out_ready) begin  // the monitor
        seen = new;
        seen.y = {60'd0, out_data};
        board.write(seen);
        quiet = 0;
      end
      if (!rst && in_valid && in_ready) begin  // the driver tells what went in
        golden.write(in_data);
        quiet = 0;
      end
      took = !rst && in_valid && in_ready;
      clk = 1'b1;
      if (quiet > 1000 || (made == n && board.expected.size() == 0 && !in_valid)) verdict;
    end
    if (phase && took) begin
      in_valid = 1'b0;
      took = 1'b0;
    end
  end
endmodule
