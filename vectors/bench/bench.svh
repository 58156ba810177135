// The bench of every operation: module `bench` drives the rows of one suite into module `dut` and compares what comes back.
// Given first on the command line: the suite's .svh (TC_* macros). One suite per compile. Icarus 11 (-g2012) and Verilator 5.006 both accept it.
//
// Plusargs: +vec=<file.mem>      the rows (needed)
//           +n=<rows>            how many rows the file must hold (default TC_N; the .neg.mem of the self-test holds TC_NEG_N)
//           +min=<rows>          how many rows must be compared at least (default: all that are not open)
//           +stall=<seed>        random gaps between the rows
//           +serial              the next row waits for the answer of the one before
//           +chain=dut           accumulate: the state is the design's own, not the golden one (implies +serial)
//           +watchdog=<cycles>   an answer may take so long (default 1000)
//           +rows                one ROW line for each compared row
//
// A cycle has four phases: after the rising edge the inputs change (0), the clock falls (1), outputs are sampled (2), the clock rises (3).
// One delay in one always block: Verilator 5.006 without -fno-life folds counters of a loop that holds two delays.

`timescale 1ns / 1ps
`ifndef EMU_TICK
`define EMU_TICK 10
`endif
`ifndef EMU_RESET_CYCLES
`define EMU_RESET_CYCLES 4
`endif
`ifndef TC_OPEN_OUTS
`define TC_OPEN_OUTS `TC_OPEN
`endif
`ifdef EMU_STAGES
`define EMU_COLUMNS `TC_OUTS `TC_STAGES
`define EMU_OPEN `TC_OPEN
`else
`define EMU_COLUMNS `TC_OUTS
`define EMU_OPEN `TC_OPEN_OUTS
`endif

module bench;
`ifdef EMU_FOREIGN
  this_suite_belongs_to_another_bench see_its_stem ();
`endif
`ifndef TC_INS
  this_svh_lists_no_ports build_the_suite_again ();
`endif
  localparam integer W = `TC_WIDTH;
  localparam [W-1:0] ONES = {W{1'b1}};

  // Places of the compared columns in a word, and how far up a mask must move to lie on its column (the same for all columns).
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) | ((ONES >> (W - (E_BITS))) << (E_LSB))
  localparam [W-1:0] CHECKED = {W{1'b0}} `EMU_COLUMNS;
`undef EMU_OUT
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) | ((E_LSB) - (E_MASK))
  localparam integer TO_COLUMN = 0 `EMU_COLUMNS;
`undef EMU_OUT

  // The columns as tables, so that what prints and compares them stands here once.
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) + 1
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) + 1
  localparam integer INS = 0 `TC_INS;
  localparam integer OUTS = 0 `EMU_COLUMNS;
`undef EMU_IN
`undef EMU_OUT
  integer in_lsb [0:INS-1];
  integer in_bits [0:INS-1];
  integer out_lsb [0:OUTS-1];
  integer out_bits [0:OUTS-1];
  integer out_mask [0:OUTS-1];
  integer out_kind [0:OUTS-1];
  integer out_lanes [0:OUTS-1];
  reg [63:0] out_nan [0:OUTS-1];
  reg [8*32-1:0] out_name [0:OUTS-1];

  task list_columns;
    integer k;
    begin
      k = 0;
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) in_lsb[k] = E_LSB; in_bits[k] = E_BITS; k = k + 1;
      `TC_INS
`undef EMU_IN
      k = 0;
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) out_name[k] = E_TEXT; out_lsb[k] = E_LSB; \
      out_bits[k] = E_BITS; out_mask[k] = E_MASK; out_kind[k] = E_KIND; out_lanes[k] = E_LANES; out_nan[k] = E_NAN; k = k + 1;
      `EMU_COLUMNS
`undef EMU_OUT
    end
  endtask

  reg [W-1:0] rows [0:`TC_WORDS-1];
  reg clk, rst, in_valid;
  wire out_valid;
  reg [W-1:0] word;  // what the design is given
  wire [W-1:0] got;  // what it answers, in the places of the columns

`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) .E_PORT(word[(E_LSB) +: (E_BITS)]),
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) .E_PORT(got[(E_LSB) +: (E_BITS)]),
  dut device (`TC_INS `EMU_COLUMNS .clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid));
`undef EMU_IN
`undef EMU_OUT

  integer n, least, watchdog, seed;  // plusargs
  reg stalls, serial, chained, prints;
  integer sent, answered;  // rows driven and answered so far
  integer again_at, burst_end;  // the second reset comes between these rows
  integer reset_left, idle_left, drained, quiet, cycle, sent_first, last_sent, last_answer;
  integer lag;  // cycles from the first row to its answer
  reg calm, was_reset, late, extra, bad_valid;
  integer compared, mismatched, unknown, masked, shown;

`include "compare.svh"
`include "report.svh"
`include "walk.svh"
`include "drive.svh"

  reg [1:0] phase;
  reg running;

  initial begin
    clk = 1'b0;
    rst = 1'b1;
    in_valid = 1'b0;
    word = {W{1'bx}};
    phase = 2'd0;
    running = 1'b0;
    compared = 0;
    mismatched = 0;
    unknown = 0;
    masked = 0;
    shown = 0;
    over = 1'b0;
    judged = 0;
    list_columns;
    walk;
    if (!over) begin_run;
    running = !over;
  end

  always #(`EMU_TICK) if (running) begin
    case (phase)
      2'd0: drive;
      2'd1: clk = 1'b0;
      2'd2: sample;
      2'd3: clk = 1'b1;
    endcase
    phase = phase + 2'd1;
  end
endmodule
