// Golden tiles through the DPI functions: +op= +file= and the names of the contract; +ts= +valid=: which input columns there are;
// +columns=; +scale_lsb= +scale_bits=: where the scale lies among the levels. One RESULT line.
module bench;
  import emu_ref_pkg::*;
  typedef bit [EMU_DPI_BITS-1:0] packed_t;
  string op, path, recipe, profile, source, guard;
  int file, rows, compared, mismatch, has_ts, has_valid, scale_lsb, scale_bits, columns, fields;
  packed_t x, codes, scale, ts, valid, m_codes, m_scale, y, m_y, k_y, rest;

  task differs(input packed_t want, input packed_t got, input packed_t bits);
    if (((want ^ got) & bits) != 0) begin
      mismatch++;
      if (mismatch <= 3) $display("MISMATCH row=%0d want=%h got=%h", rows, want[63:0], got[63:0]);
    end
  endtask

  function automatic packed_t take();
    packed_t word;
    fields += $fscanf(file, " %h", word);
    return word;
  endfunction

  // x [ts] [n_valid] codes scale [amax] m_codes m_scale [m_amax k_amax]
  task quantize_row();
    packed_t got_codes, got_levels;
    byte unsigned open;
    int error, wanted;
    fields = 0;
    x = take();
    ts = 0;
    if (has_ts != 0) ts = take();
    valid = packed_t'(columns);
    if (has_valid != 0) valid = take();
    codes = take();
    scale = take();
    rest = take();
    m_codes = take();
    m_scale = take();
    rest = take();
    rest = take();
    wanted = 8 + has_ts + has_valid;
    error = emu_dpi_quantize(recipe, source, x, int'(valid), ts[31:0], 0, got_codes, got_levels, open);
    if (error != EMU_OK || fields != wanted) mismatch++;
    else if ((m_codes | m_scale) == 0) mismatch += int'(open == 0);
    else begin
      compared++;
      differs(codes, got_codes, m_codes);
      differs(scale, (got_levels >> scale_lsb) & ((packed_t'(1) << scale_bits) - 1), m_scale);
      if (has_ts != 0 && got_levels[31:0] != ts[31:0]) mismatch++;
    end
  endtask

  // codes scale [ts] y m_y k_y
  task dequantize_row();
    packed_t got;
    int error, wanted;
    fields = 0;
    codes = take();
    scale = take();
    ts = 0;
    if (has_ts != 0) ts = take();
    y = take();
    m_y = take();
    k_y = take();
    wanted = 5 + has_ts;
    error = emu_dpi_dequantize(recipe, profile, "fp32", codes, (scale << scale_lsb) | ts, got);
    if (fields != wanted) mismatch++;
    else if ((error == EMU_ERROR_OPEN) != (m_y == 0) || (error != EMU_OK && m_y != 0)) mismatch++;
    else if (m_y != 0) begin
      compared++;
      differs(y, got, k_y == 0 ? m_y : 0);
    end
  endtask

  // x sgn y m_y k_y
  task transform_row();
    packed_t got;
    int error;
    fields = 0;
    x = take();
    rest = take();
    y = take();
    m_y = take();
    k_y = take();
    error = emu_dpi_transform(recipe, source, x, rest, got);
    if (fields != 5 || error != EMU_OK) mismatch++;
    compared++;
    differs(y, got, k_y == 0 ? m_y : 0);
  endtask

  initial begin
    if (!$value$plusargs("op=%s", op) || !$value$plusargs("file=%s", path) || !$value$plusargs("recipe=%s", recipe)) $finish;
    if (!$value$plusargs("source=%s", source)) source = "";
    if (!$value$plusargs("profile=%s", profile)) profile = "";
    if (!$value$plusargs("ts=%d", has_ts)) has_ts = 0;
    if (!$value$plusargs("valid=%d", has_valid)) has_valid = 0;
    if (!$value$plusargs("scale_lsb=%d", scale_lsb)) scale_lsb = 0;
    if (!$value$plusargs("scale_bits=%d", scale_bits)) scale_bits = 8;
    if (!$value$plusargs("columns=%d", columns)) columns = 16;
    file = $fopen(path, "r");
    while ($fscanf(file, "%s", guard) == 1 && guard == "a") begin
      rows++;
      if (op == "quantize") quantize_row();
      else if (op == "dequantize") dequantize_row();
      else transform_row();
    end
    $display("RESULT %s rows=%0d compared=%0d mismatch=%0d", guard == "e" && compared > 0 && mismatch == 0 ? "PASS" : "FAIL", rows,
             compared, mismatch);
    $finish;
  end
endmodule
