// A scoreboard whose model is a datapath of your own, loaded from a descriptor file while the simulation runs: the C reference derives every
// result through DPI, random integers included. The design: ../rtl/running_float.sv, a bfloat16 register that takes one product a clock.
// On the command line: c_ref/dpi/emu_ref_pkg.sv, scoreboard_pkg.sv, this file, the design, libemu_dpi.a. Plusargs: +descriptor=<file that
// `emu export descriptor` wrote>, +datapath=<its name there>, +n=<rows> (default 20000), +seed=<seed>, +flip=<row>: the self-test.
`timescale 1ns / 1ps

package emu_dot_pkg;
  import emu_ref_pkg::*;
  import emu_scoreboard_pkg::*;

  // One row: as many products, and random integers, as the datapath takes.
  class row;
    bit [EMU_DPI_BITS-1:0] a, b, random;
    bit [15:0] c;
  endclass

  class predictor;
    scoreboard board;
    string datapath;
    int handle, products, draws, draw_bits, failed;

    // Whether the file loads and has a datapath of one random integer of 8 bits for each product, as the design takes them.
    function bit load(string descriptor, string name);
      int unsigned flags;
      byte unsigned any_nan;
      datapath = name;
      handle = emu_dpi_open(descriptor);
      if (handle <= 0) begin
        $display("bench: %s", emu_dpi_fault());
        return 0;
      end
      if (emu_dpi_dot_row_in(handle, name, 0, products, draws, draw_bits, flags, any_nan) != EMU_OK) begin
        $display("bench: %s", emu_dpi_fault());
        return 0;
      end
      if (flags != 0) begin
        $display("bench: %s: raises exception flags, which this scoreboard does not compare", name);
        return 0;
      end
      if (draws == products && draw_bits == 8) return 1;
      $display("bench: %s: %0d random integers of %0d bits for %0d products: not what this design takes", name, draws, draw_bits, products);
      return 0;
    endfunction

    function void write(row item);
      bit [EMU_DPI_BITS-1:0] no_scales;
      transaction want;
      longint unsigned d;
      int unsigned flags;
      byte unsigned open;
      no_scales = 0;
      if (emu_dpi_dot_in(handle, datapath, products, item.a, no_scales, item.b, no_scales, {48'd0, item.c}, item.random, d, flags, open) != EMU_OK) begin
        failed++;
        if (failed == 1) $display("bench: %s", emu_dpi_fault());
      end
      want = new;
      want.y = d;
      want.is_open = open != 0;
      want.given = $sformatf("%0h,%0h,%h,%0h", item.a, item.b, item.c, item.random);
      board.expect_next(want);
    endfunction
  endclass

  // Products close to the register, so that bits are lost at every addition; few codes of any kind, few sums that cancel.
  class sequence_of_rows extends random_bits;
    function bit [15:0] code(int unsigned span);
      bit [31:0] drawn;
      drawn = next();
      if (drawn[31:26] == 0) return drawn[15:0];
      return {drawn[16], 8'd123 + 8'(drawn[23:17] % span), drawn[6:0]};
    endfunction

    function row next_row(int products);
      row item;
      item = new;
      for (int k = 0; k < products; k++) begin
        item.a[16 * k +: 16] = code(4);
        item.b[16 * k +: 16] = code(6);
        item.random[8 * k +: 8] = 8'(next() >> 9);
      end
      item.c = code(8);
      return item;
    endfunction
  endclass
endpackage

module bench;
  import emu_scoreboard_pkg::*;
  import emu_dot_pkg::*;
  bit clk, rst, in_valid, first;
  bit [15:0] a, b, c;
  bit [7:0] random;
  wire out_valid;
  wire [15:0] d;
  running_float #(.EXP_BITS(8), .FRAC_BITS(7), .ROUND(2), .RANDOM_BITS(8)) design_under_test (.*);

  scoreboard board;
  predictor golden;
  sequence_of_rows rows;
  row driven;
  transaction seen;
  string descriptor, datapath;
  int n, made, at, quiet, seed, cycle;
  bit [31:0] pace;
  bit phase, busy, last, ended;

  initial begin
    board = new;
    golden = new;
    rows = new;
    golden.board = board;
    if (!$value$plusargs("n=%d", n)) n = 20000;
    if (!$value$plusargs("seed=%d", seed)) seed = 1;
    if (!$value$plusargs("flip=%d", board.flip)) board.flip = 0;
    if (!$value$plusargs("descriptor=%s", descriptor)) descriptor = "";
    if (!$value$plusargs("datapath=%s", datapath)) datapath = "";
    rows.state = seed == 0 ? 1 : seed;
    pace = seed == 0 ? 1 : seed;
    if (!golden.load(descriptor, datapath)) $fatal(0);
  end

  task verdict;
    ended = 1;
    if (board.verdict(golden.failed)) $finish;
    else $fatal(0);
  endtask

  // One delay in one always block: see ../bench.svh. Pins change after the falling edge and are read before the rising one.
  always #5 if (!ended) begin
    phase = ~phase;
    if (phase) begin
      clk = 1'b0;
      cycle = cycle + 1;
      rst = cycle < 4;
      pace = {pace[30:0], pace[31] ^ pace[21] ^ pace[1] ^ pace[0]};
      if (!rst && !busy && made < n) begin
        driven = rows.next_row(golden.products);
        busy = 1'b1;
        made = made + 1;
        at = 0;
      end
      in_valid = !rst && busy && pace[2:0] != 3'd0;  // a gap now and then, within a row too
      first = in_valid && at == 0;
      a = driven == null ? 16'd0 : driven.a[16 * at +: 16];
      b = driven == null ? 16'd0 : driven.b[16 * at +: 16];
      random = driven == null ? 8'd0 : driven.random[8 * at +: 8];
      c = driven == null || at != 0 ? 16'hffff : driven.c;
    end else begin
      quiet = quiet + 1;
      if (last) begin  // the monitor: the answer to the last product
        if (out_valid) begin
          seen = new;
          seen.y = {48'd0, d};
          board.write(seen);
        end
        quiet = 0;
      end
      last = in_valid && at == golden.products - 1;
      if (last) begin  // the driver tells what went in
        golden.write(driven);
        busy = 1'b0;
      end
      if (in_valid) at = at + 1;
      clk = 1'b1;
      if (quiet > 1000 || (made == n && !busy && !last && board.expected.size() == 0)) verdict;
    end
  end
endmodule
