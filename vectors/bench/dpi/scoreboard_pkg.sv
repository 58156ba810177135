// What the benches in the style of UVM share (scoreboard.sv, scoreboard_dot.sv): plain SystemVerilog classes, because Verilator runs no UVM.
package emu_scoreboard_pkg;
  class transaction;
    bit [63:0] y;
    bit        is_open;  // nobody knows y: it is not compared
    string     given;    // the operands, for a message
  endclass

  // What is told of transactions: an analysis port calls write.
  virtual class subscriber;
    pure virtual function void write(transaction item);
  endclass

  // Compares in order. flip: one bit of that prediction is turned, the self-test of a bench.
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
        if (compared == flip) want.y = want.y ^ 64'd1;
        if (item.y !== want.y) begin
          mismatched++;
          if (mismatched <= 3) $display("MISMATCH suite=scoreboard tc=%0d out=y in=%s want=%0h got=%0h", compared, want.given, want.y, item.y);
        end
      end
    endfunction

    // failed: predictions that the reference refused. Prints the RESULT line; whether the run passes.
    function bit verdict(int failed);
      string reason;
      reason = extra != 0 || expected.size() != 0 || failed != 0 || compared == 0 ? "count" : mismatched != 0 ? "mismatch" : "none";
      $display("RESULT %0s reason=%0s suite=scoreboard rows_sha256=random compared=%0d mismatch=%0d x=0 masked=%0d",
        reason == "none" ? "PASS" : "FAIL", reason, compared, mismatched, masked);
      return reason == "none";
    endfunction
  endclass

  // xorshift, the same in every simulator
  class random_bits;
    bit [31:0] state;

    function bit [31:0] next();
      state = state ^ (state << 13);
      state = state ^ (state >> 17);
      state = state ^ (state << 5);
      return state;
    endfunction
  endclass
endpackage
