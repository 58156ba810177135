// In place of ../walk.svh (put this folder before the kit's in the include path): rows that the reference makes, one after the other.
//
// Plusargs: +seed=<n>   the stimuli (default 1): the same seed gives the same rows in every simulator
//           +n=<rows>   at most EMU_RANDOM_ROWS
//           +flip=<row> flips one bit of that row's answer: the bench must report exactly one mismatch (its self-test)
//           +stall= +watchdog= +serial +rows as in ../bench.svh; the names of the contract as the files that include this one say

  import emu_ref_pkg::*;

  integer state;

  // xorshift, the same in every simulator
  function automatic [31:0] random();
    state = state ^ (state << 13);
    state = state ^ ((state >> 17) & 32'h7FFF);
    state = state ^ (state << 5);
    return state;
  endfunction

  task walk;
    integer i, flip, opened;
    reg [W-1:0] row;
    begin
      if (!$value$plusargs("n=%d", n)) n = `EMU_RANDOM_ROWS;
      if (!$value$plusargs("seed=%d", state)) state = 1;
      if (!$value$plusargs("flip=%d", flip)) flip = 0;
      if (!$value$plusargs("watchdog=%d", watchdog)) watchdog = 1000;
      seed = 0;
      stalls = $value$plusargs("stall=%d", seed) != 0;
      chained = 1'b0;
      serial = $test$plusargs("serial") != 0;
      prints = $test$plusargs("rows") != 0;
      state = state * 1664525 + 1013904223;
      if (state == 0) state = 1;
      opened = 0;
      if (n <= 0 || n > `EMU_RANDOM_ROWS || !read_names()) begin
        $display("bench: +n= is 1 to %0d, and the contract needs its names", `EMU_RANDOM_ROWS);
        finish("BADFILE", "count");
      end
      for (i = 0; i < n && !over; i = i + 1) begin
        row = {W{1'b0}};
        row[W-1 -: 4] = 4'hA;
        if (!reference(row)) begin
          $display("bench: the reference refuses this contract");
          finish("BADFILE", "guard");
        end
        if (((row << TO_COLUMN) & CHECKED) == 0) opened = opened + 1;
        else if (i + 1 >= flip && flip > 0) begin
          row = row ^ (lowest(row << TO_COLUMN & CHECKED));
          flip = 0;
        end
        rows[i] = row;
      end
      least = n - opened > 0 ? n - opened : 1;
    end
  endtask

  function automatic [W-1:0] lowest(input [W-1:0] bits);
    return bits & (~bits + 1);
  endfunction

`ifdef EMU_RANDOM_DOT
`include "dot_stimuli.svh"
`else
`include "convert_stimuli.svh"
`endif
