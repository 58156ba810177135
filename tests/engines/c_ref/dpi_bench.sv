// Golden rows through the DPI functions: +op= +file= and the names of the contract. One RESULT line.
module bench;
  import emu_ref_pkg::*;
  string op, path, source, destination, rounding, policy;
  int file, fields, rows, compared, mismatch, with_random;
  bit [63:0] code, random, y, mask, fp32, cls, m_fp32, m_cls, kind;
  string guard;

  // Compare under the mask; a row whose mask is 0 must be open here too.
  task judge(input bit [63:0] want, input bit [63:0] bits, input bit any_nan, input longint unsigned got, input bit open);
    if ((bits == 0) != open || (bits != 0 && !any_nan && ((want ^ got) & bits) != 0)) begin
      mismatch++;
      if (mismatch <= 3) $display("MISMATCH row=%0d code=%h want=%h got=%h mask=%h", rows, code, want, got, bits);
    end
  endtask

  task decode_row();
    int value_class, sign, lsb_exp, error;
    longint unsigned significand, bits;
    error = emu_dpi_decode(source, code, value_class, sign, significand, lsb_exp);
    judge(cls, m_cls, 0, longint'(value_class), value_class == EMU_OPEN || error != EMU_OK);
    error = emu_dpi_decode_to(source, "fp32", code, bits);
    judge(fp32, m_fp32, kind != 0 && value_class == EMU_NAN, bits, error != EMU_OK);
  endtask

  task convert_row();
    chandle from, to, how, rules;
    longint unsigned named, direct;
    byte unsigned open, again;
    int error;
    error = emu_dpi_convert(source, destination, rounding, policy, code, random[31:0], named, open);
    judge(y, mask, 0, named, open != 0 || error != EMU_OK);
    from = emu_find_format(source);
    to = emu_find_format(destination);
    how = emu_find_rounding(rounding);
    rules = emu_find_policy(policy, destination);
    error = emu_convert_code(from, to, how, rules, code, random[31:0], direct, again);
    if (error != EMU_OK || direct != named || again != open) mismatch++;
  endtask

  // Read one row; 0 at the trailer and at the end of the file.
  function automatic bit next_row();
    bit [63:0] a, b, c, d, e, f;
    if ($fscanf(file, "%s", guard) != 1 || guard != "a") return 0;
    if (op == "decode") begin
      fields = $fscanf(file, " %h %h %h %h %h %h", a, b, c, d, e, f);
      code = a; fp32 = b; cls = c; m_fp32 = d; m_cls = e; kind = f;
      return fields == 6;
    end
    fields = with_random != 0 ? $fscanf(file, " %h %h %h %h", a, d, b, c) : $fscanf(file, " %h %h %h", a, b, c);
    code = a; y = b; mask = c; random = with_random != 0 ? d : 0;
    return fields == 3 + with_random;
  endfunction

  initial begin
    if (!$value$plusargs("op=%s", op) || !$value$plusargs("file=%s", path) || !$value$plusargs("source=%s", source)) $finish;
    if (!$value$plusargs("destination=%s", destination)) destination = "";
    if (!$value$plusargs("rounding=%s", rounding)) rounding = "";
    if (!$value$plusargs("policy=%s", policy)) policy = "";
    if (!$value$plusargs("random=%d", with_random)) with_random = 0;
    file = $fopen(path, "r");
    while (next_row()) begin
      rows++;
      if ((op == "decode" ? m_fp32 : mask) != 0) compared++;
      if (op == "decode") decode_row();
      else convert_row();
    end
    $display("RESULT %s rows=%0d compared=%0d mismatch=%0d", guard == "e" && rows > 0 && compared > 0 && mismatch == 0 ? "PASS" : "FAIL",
             rows, compared, mismatch);
    $finish;
  end
endmodule
