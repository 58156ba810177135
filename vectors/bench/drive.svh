// What the design is given: reset, rows in order, X where nothing is valid, gaps, and one more reset in mid-stream. Before it all answers are
// awaited (none may be missing); it comes while the next rows are in flight, and they are sent again.

  localparam integer DRAIN = 16;

  task begin_run;
    begin
      sent = 0;
      answered = 0;
      reset_left = `EMU_RESET_CYCLES;
      idle_left = DRAIN;
      quiet = 0;
      cycle = 0;
      lag = 0;
      sent_first = -1;
      drained = 0;
      was_reset = 1'b0;
      calm = 1'b0;
      last_sent = 0;
      last_answer = 0;
      late = 1'b0;
      extra = 1'b0;
      bad_valid = 1'b0;
      again_at = n / 2;
      seed = seed * 1664525 + 1013904223;
      if (seed == 0) seed = 1;
    end
  endtask

  // xorshift, the same in every simulator
  task draw;
    begin
      seed = seed ^ (seed << 13);
      seed = seed ^ ((seed >> 17) & 32'h7FFF);
      seed = seed ^ (seed << 5);
    end
  endtask

  task nothing;
    begin
      in_valid = 1'b0;
      word = {W{1'bx}};
    end
  endtask

  task drive;
    begin
      cycle = cycle + 1;
      if (!was_reset && !calm && sent == again_at && answered == sent) begin
        calm = 1'b1;
        burst_end = again_at + (serial ? lag > 0 : lag + 1);
        if (burst_end > n) burst_end = n;
      end
      if (!was_reset && calm && sent == burst_end) begin
        was_reset = 1'b1;
        reset_left = `EMU_RESET_CYCLES;
        idle_left = lag + DRAIN;
`ifdef EMU_CHAIN
        if (chained && answered < n) while (answered > 0 && first_of(answered) == 0) answered = answered - 1;  // the chain starts again
`endif
        sent = answered;
        quiet = 0;
      end
      nothing;
      rst = reset_left > 0;
      if (rst) reset_left = reset_left - 1;
      else if (idle_left > 0) idle_left = idle_left - 1;
      else if (sent < n && !(serial && sent != answered) && !(sent == again_at && !calm)) begin
        if (stalls) draw;
        if (stalls && seed[10:8] < 3) idle_left = seed[16:12] == 0 ? 24 : 0;
        else begin
          in_valid = 1'b1;
          word = rows[sent];
`ifdef EMU_CHAIN
          if (chained) chain;
`endif
          if (sent_first < 0) sent_first = cycle;
          last_sent = cycle;
          sent = sent + 1;
        end
      end
    end
  endtask

  task sample;
    if (!rst) begin
      if (out_valid === 1'b1) begin
        if (answered == sent) extra = 1'b1;
        else begin
          if (judged == 0) lag = cycle - sent_first;
          compare;
`ifdef EMU_CHAIN
          keep;
`endif
          answered = answered + 1;
          quiet = 0;
          last_answer = cycle;
        end
      end else if (out_valid !== 1'b0 && !bad_valid) begin
        bad_valid = 1'b1;
        unknown = unknown + 1;
        $display("bench: out_valid is x or z");
      end
      if (answered < sent) quiet = quiet + 1;
      if (quiet > watchdog) late = 1'b1;
      if (answered == n) drained = drained + 1;
      if (late || drained > lag + DRAIN) verdict_of_run;
    end
  endtask

`ifdef EMU_CHAIN
  // State of a chain, in the place of the column that takes it.
  reg [W-1:0] state;

  function integer first_of(input integer row);
    first_of = rows[row][`TC_FIRST_LSB +: `TC_FIRST_BITS];
  endfunction

  task keep;
`ifdef TC_ACC_IN_LSB
`ifdef EMU_STAGES
    state = (got >> `TC_ACC_LSB) << `TC_ACC_IN_LSB;
`else
    state = {W{1'bx}};
`endif
`else
    state = (got >> `TC_D_LSB) << `TC_C_LSB;
`endif
  endtask

  task chain;
    if (first_of(sent) == 0)
`ifdef TC_ACC_IN_LSB
      word[`TC_ACC_IN_LSB +: `TC_ACC_IN_BITS] = state[`TC_ACC_IN_LSB +: `TC_ACC_IN_BITS];
`else
      word[`TC_C_LSB +: `TC_C_BITS] = state[`TC_C_LSB +: `TC_C_BITS];
`endif
  endtask
`endif
