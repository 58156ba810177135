// Golden dot products through DPI: +file= +name=: the datapath; +scales=: 1 where there are scale columns; +skip=: columns between d and its
// mask; +rest=: columns behind the mask; the last of them is the kind where +kind=1. One RESULT line.
module bench;
  import emu_ref_pkg::*;
  typedef bit [EMU_DPI_BITS-1:0] packed_t;
  string path, name, guard;
  int file, rows, compared, mismatch, scales, skip, rest, kind;
  packed_t a, sa, b, sb, c, d, m_d, last;

  function automatic packed_t take();
    packed_t word;
    if ($fscanf(file, " %h", word) != 1) mismatch++;
    return word;
  endfunction

  task dot_row();
    longint unsigned got;
    byte unsigned open;
    int error;
    a = take();
    if (scales != 0) sa = take();
    b = take();
    if (scales != 0) sb = take();
    c = take();
    d = take();
    repeat (skip) last = take();
    m_d = take();
    last = 0;
    repeat (rest) last = take();
    error = emu_dpi_dot(name, a, sa, b, sb, c[63:0], got, open);
    if (error != EMU_OK) mismatch++;
    else if (m_d != 0) begin
      compared++;
      if (open != 0 || (got != d[63:0] && !(kind != 0 && last != 0))) begin
        mismatch++;
        if (mismatch <= 3) $display("MISMATCH row=%0d want=%h got=%h", rows, d[63:0], got);
      end
    end
  endtask

  initial begin
    if (!$value$plusargs("file=%s", path) || !$value$plusargs("name=%s", name)) $finish;
    if (!$value$plusargs("scales=%d", scales)) scales = 0;
    if (!$value$plusargs("skip=%d", skip)) skip = 0;
    if (!$value$plusargs("rest=%d", rest)) rest = 0;
    if (!$value$plusargs("kind=%d", kind)) kind = 0;
    sa = 0;
    sb = 0;
    file = $fopen(path, "r");
    while ($fscanf(file, "%s", guard) == 1 && guard == "a") begin
      rows++;
      dot_row();
    end
    $display("RESULT %s rows=%0d compared=%0d mismatch=%0d", guard == "e" && compared > 0 && mismatch == 0 ? "PASS" : "FAIL", rows,
             compared, mismatch);
    $finish;
  end
endmodule
