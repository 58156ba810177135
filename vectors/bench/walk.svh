// Loading: the array is prefilled, every word must bear the guard `a` up to the trailer, and the trailer must say how many rows went by.

  task walk;
    string file;
    integer i;
    reg ended;
    begin
      if (!$value$plusargs("n=%d", n)) n = `TC_N;
      if (!$value$plusargs("min=%d", least)) least = n - `EMU_OPEN > 0 ? n - `EMU_OPEN : 1;
      if (!$value$plusargs("watchdog=%d", watchdog)) watchdog = 1000;
      seed = 0;
      stalls = $value$plusargs("stall=%d", seed) != 0;
      chained = $test$plusargs("chain=dut") != 0;
      serial = chained || $test$plusargs("serial") != 0;
      prints = $test$plusargs("rows") != 0;
      for (i = 0; i < `TC_WORDS; i = i + 1) rows[i] = {W{1'b0}};
      if ($value$plusargs("vec=%s", file)) $readmemh(file, rows);
      else $display("bench: no rows: say +vec=<file.mem>");
      i = 0;
      ended = 1'b0;
      while (!ended && i < `TC_WORDS) begin
        if (^rows[i] === 1'bx) finish("BADFILE", "guard");
        if (rows[i][W-1 -: 4] === 4'hA) i = i + 1;
        else ended = 1'b1;
      end
      if (!ended || rows[i][W-1 -: 4] !== 4'hE) finish("BADFILE", "guard");
      else if (n <= 0 || i != n || rows[i][W-5:0] != n) finish("BADFILE", "count");
      else for (i = n + 1; i < `TC_WORDS; i = i + 1) if (rows[i] !== {W{1'b0}}) finish("BADFILE", "count");
    end
  endtask
