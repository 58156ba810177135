// A bench in the style of UVM, in plain SystemVerilog classes (Verilator runs no UVM): a sequence makes numbers, a predictor asks the C
// reference through DPI what must come out, a scoreboard compares it in order with what a monitor saw. In a UVM bench of yours the predictor
// is a uvm_subscriber with the same `write`. The design: ../examples/pressed.sv, valid and ready on both sides.
// On the command line: c_ref/dpi/emu_ref_pkg.sv, this file, the design, libemu_dpi.a. Plusargs: +n=<numbers> (default 20000), +seed=<seed>,
// +flip=<number>: one bit of that prediction is turned, the self-test of this bench.
`timescale 1ns / 1ps

package emu_scoreboard_pkg;
  import emu_ref_pkg::*;

  class transaction;
    bit [15:0] x;
    bit [3:0]  y;
    bit        is_open;  // nobody knows y: it is not compared
  endclass

  // What is told of transactions: an analysis port calls write.
  virtual class subscriber;
    pure virtual function void write(transaction item);
  endclass

  class scoreboard extends subscriber;
    transaction expected[$];
    int compared, mismatched, masked, extra, flip;

    function void expect_next(transaction item);
      expected.push_back(item);
    endfunction

    virtual function void write(transaction item);
      transaction want;
      if (expected.size() == 0) begin
        extra++;
        return;
      end
      want = expected.pop_front();
      if (want.is_open) masked++;
      else begin
        compared++;
        if (compared == flip) want.y = want.y ^ 4'd1;
        if (item.y !== want.y) begin
          mismatched++;
          if (mismatched <= 3) $display("MISMATCH suite=scoreboard tc=%0d out=y in=%h want=%h got=%h mask=f", compared, want.x, want.y, item.y);
        end
      end
    endfunction
  endclass

  class predictor extends subscriber;
    scoreboard board;
    int failed;

    virtual function void write(transaction item);
      longint unsigned y;
      byte unsigned open;
      if (emu_dpi_convert("bf16", "e2m1", "rne", "nvidia", {48'd0, item.x}, 0, y, open) != EMU_OK) failed++;
      item.y = y[3:0];
      item.is_open = open != 0;
      board.expect_next(item);
    endfunction
  endclass

  // Half of the numbers near the values of 4-bit formats, half anything.
  class sequence_of_numbers;
    bit [31:0] state;

    function transaction next();
      transaction item;
      bit [31:0] drawn;
      drawn = state ^ (state << 13);
      drawn = drawn ^ (drawn >> 17);
      drawn = drawn ^ (drawn << 5);
      state = drawn;
      item = new;
      item.x = drawn[31] ? {drawn[15], 8'd124 + {5'd0, drawn[18:16]}, drawn[6:0]} : drawn[15:0];
      return item;
    endfunction
  endclass
endpackage

module bench;
  import emu_scoreboard_pkg::*;
  bit clk, rst, in_valid, out_ready;
  bit [15:0] in_data;
  wire in_ready, out_valid;
  wire [3:0] out_data;
  pressed design_under_test (.*);

  scoreboard board;
  predictor golden;
  sequence_of_numbers numbers;
  transaction driven, seen;
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
    string reason;
    reason = board.extra != 0 || board.expected.size() != 0 || golden.failed != 0 ? "count" : board.mismatched != 0 ? "mismatch" : "none";
    if (board.compared == 0) reason = "count";
    $display("RESULT %0s reason=%0s suite=scoreboard rows_sha256=random compared=%0d mismatch=%0d x=0 masked=%0d",
      reason == "none" ? "PASS" : "FAIL", reason, board.compared, board.mismatched, board.masked);
    if (reason == "none") $finish;
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
        driven = numbers.next();
        in_data = driven.x;
        in_valid = 1'b1;
        made = made + 1;
      end
    end else begin
      quiet = quiet + 1;
      if (!rst && out_valid && out_ready) begin  // the monitor
        seen = new;
        seen.y = out_data;
        board.write(seen);
        quiet = 0;
      end
      if (!rst && in_valid && in_ready) begin  // the driver tells what went in
        golden.write(driven);
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
