// What is printed: at most three MISMATCH lines, ROW lines where asked, and exactly one RESULT line.

  localparam integer GIVEN = 0, WANT = 1, GOT = 2;

  // Print a column of a row, of what it wants or of what came, in hex, all its digits; unknown bits are x.
  task put(input integer source, input integer lsb, input integer bits);
    integer digit, place;
    reg [3:0] nibble;
    begin
      for (digit = (bits + 3) / 4 - 1; digit >= 0; digit = digit - 1) begin
        place = lsb + 4 * digit;
        nibble = source == GOT ? got[place +: 4] : source == WANT ? want[place +: 4] : given[place +: 4];
        nibble = nibble & (4'hF >> (4 * digit + 4 > bits ? 4 * digit + 4 - bits : 0));  // z becomes x
        $write("%h", nibble);
      end
    end
  endtask

  reg comma;
  reg [W-1:0] given;
  task put_listed(input integer source, input integer lsb, input integer bits);
    begin
      if (comma) $write(",");
      put(source, lsb, bits);
      comma = 1'b1;
    end
  endtask

  task put_inputs;
    integer k;
    begin
      given = rows[answered];
      comma = 1'b0;
      for (k = 0; k < INS; k = k + 1) put_listed(GIVEN, in_lsb[k], in_bits[k]);
    end
  endtask

  // The first differing column in file order: outputs, then stages.
  task show_mismatch;
    integer k;
    reg named;
    begin
      named = shown >= 3 || wrong[answered];
      if (!wrong[answered]) shown = shown + 1;
      wrong[answered] = 1'b1;
      for (k = 0; k < OUTS; k = k + 1)
        if (!named && ((differs >> out_lsb[k]) & (ONES >> (W - out_bits[k]))) !== {W{1'b0}}) begin
          named = 1'b1;
          $write("MISMATCH suite=%0s tc=%0d out=%0s in=", `TC_STEM, `TC_BASE + answered, out_name[k]);
          put_inputs;
          $write(" want=");
          put(WANT, out_lsb[k], out_bits[k]);
          $write(" got=");
          put(GOT, out_lsb[k], out_bits[k]);
          $write(" mask=");
          put(WANT, out_mask[k], out_bits[k]);
          $write("\n");
        end
    end
  endtask

  task show_row;
    integer k;
    begin
      $write("ROW suite=%0s tc=%0d in=", `TC_STEM, `TC_BASE + answered);
      put_inputs;
      $write(" got=");
      comma = 1'b0;
      for (k = 0; k < OUTS; k = k + 1) put_listed(GOT, out_lsb[k], out_bits[k]);
      $write("\n");
    end
  endtask

  // The verdict. A run that did not pass ends with a code other than 0.
  reg over;
  task finish(input string verdict, input string reason);
    if (!over) begin
      over = 1'b1;
      $display("RESULT %0s reason=%0s suite=%0s rows_sha256=%0s compared=%0d mismatch=%0d x=%0d masked=%0d", verdict, reason,
        `TC_STEM, `TC_ROWS_SHA256, compared, mismatched, unknown, masked);
      running = 1'b0;
      if (verdict == "PASS") $finish;
      else $fatal(0);
    end
  endtask

  task verdict_of_run;
    begin
      // Missing answers: the design still answered when the last row was driven. Else it stopped: timeout.
      if (extra || late && answered > 0 && last_answer >= last_sent) finish("FAIL", "count");
      else if (late) finish("FAIL", "timeout");
      else if (mismatched != 0) finish("FAIL", "mismatch");
      else if (unknown != 0) finish("FAIL", "x");
      else if (compared < least) finish("BADFILE", "count");
      else finish("PASS", "none");
    end
  endtask
