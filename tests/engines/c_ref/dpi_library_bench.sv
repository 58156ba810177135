// Objects of a descriptor file through the DPI functions. +library= the file; +rows=: one question a line, a word for its kind, names, then
// numbers, operands first; +other= a second file, +broken= one that is refused: all that can be wrong, a FAULT line each. One RESULT line.
module bench;
  import emu_ref_pkg::*;
  typedef bit [EMU_DPI_BITS-1:0] packed_t;
  string mine_path, other, broken, path, kind;
  int file, mine, asked, mismatch;

  function automatic packed_t take();
    packed_t word;
    if ($fscanf(file, " %h", word) != 1) mismatch++;
    return word;
  endfunction

  function automatic string name();
    string word;
    if ($fscanf(file, " %s", word) != 1) mismatch++;
    return word;
  endfunction

  task judge(input int error, input bit same);
    asked++;
    if (error != EMU_OK || !same) begin
      mismatch++;
      if (mismatch <= 3) $display("MISMATCH row=%0d kind=%s error=%0d %s", asked, kind, error, emu_dpi_fault());
    end
  endtask

  // source destination rounding policy: code random converted open
  task convert();
    string source, destination, rounding, policy;
    packed_t code, random, want, want_open;
    longint unsigned got;
    byte unsigned open;
    int error;
    source = name(); destination = name(); rounding = name(); policy = name();
    code = take(); random = take(); want = take(); want_open = take();
    error = emu_dpi_convert_in(mine, source, destination, rounding, policy, code[63:0], random[31:0], got, open);
    judge(error, open == want_open[7:0] && got == want[63:0]);
  endtask

  // format result: code class decoded
  task decode();
    string format, result;
    packed_t code, want_class, want;
    longint unsigned got, significand;
    int value_class, sign, lsb_exp, error;
    format = name(); result = name();
    code = take(); want_class = take(); want = take();
    error = emu_dpi_decode_in(mine, format, code[63:0], value_class, sign, significand, lsb_exp);
    judge(error, value_class == want_class[31:0]);
    error = emu_dpi_decode_to_in(mine, format, result, code[63:0], got);
    judge(error, got == want[63:0]);
  endtask

  // recipe source: x columns amax random codes mask levels mask open
  task quantize();
    string recipe, source;
    packed_t x, columns, amax, random, want, mask, want_levels, mask_levels, want_open, codes, levels;
    byte unsigned open;
    int error;
    recipe = name(); source = name();
    x = take(); columns = take(); amax = take(); random = take();
    want = take(); mask = take(); want_levels = take(); mask_levels = take(); want_open = take();
    error = emu_dpi_quantize_in(mine, recipe, source, x, columns[31:0], amax[31:0], random, codes, levels, open);
    judge(error, open == want_open[7:0] && ((codes ^ want) & mask) == 0 && ((levels ^ want_levels) & mask_levels) == 0);
  endtask

  // recipe profile result: codes levels values mask
  task dequantize();
    string recipe, profile, result;
    packed_t codes, levels, want, mask, values;
    int error;
    recipe = name(); profile = name(); result = name();
    codes = take(); levels = take(); want = take(); mask = take();
    error = emu_dpi_dequantize_in(mine, recipe, profile, result, codes, levels, values);
    if (mask == 0) judge(error == EMU_ERROR_OPEN ? EMU_OK : 1, 1);
    else judge(error, ((values ^ want) & mask) == 0);
  endtask

  // transform source: x signs y mask
  task transform();
    string transform_name, source;
    packed_t x, signs, want, mask, y;
    int error;
    transform_name = name(); source = name();
    x = take(); signs = take(); want = take(); mask = take();
    error = emu_dpi_transform_in(mine, transform_name, source, x, signs, y);
    judge(error, ((y ^ want) & mask) == 0);
  endtask

  // layout: row index rows codes place size
  task layout();
    string order;
    packed_t row, index, rows, codes, want, want_size;
    longint unsigned place, size, its_row, its_index;
    int error;
    order = name();
    row = take(); index = take(); rows = take(); codes = take(); want = take(); want_size = take();
    error = emu_dpi_layout_place_in(mine, order, row[63:0], index[63:0], rows[63:0], codes[63:0], place);
    judge(error, place == want[63:0]);
    error = emu_dpi_layout_size_in(mine, order, rows[63:0], codes[63:0], size);
    judge(error, size == want_size[63:0]);
    error = emu_dpi_layout_locate_in(mine, order, want[63:0], rows[63:0], codes[63:0], its_row, its_index);
    judge(error, its_row == row[63:0] && its_index == index[63:0]);
  endtask

  // datapath: products a sa b sb c random d mask flags open draws draw_bits
  task dot();
    string datapath;
    packed_t products, a, sa, b, sb, c, random, want, mask, want_flags, want_open, want_draws, want_bits;
    longint unsigned d;
    int unsigned flags, may_raise;
    byte unsigned open, any_nan;
    int error, row_products, draws, draw_bits;
    datapath = name();
    products = take(); a = take(); sa = take(); b = take(); sb = take(); c = take(); random = take();
    want = take(); mask = take(); want_flags = take(); want_open = take(); want_draws = take(); want_bits = take();
    error = emu_dpi_dot_row_in(mine, datapath, products[31:0], row_products, draws, draw_bits, may_raise, any_nan);
    judge(error, draws == want_draws[31:0] && draw_bits == want_bits[31:0] && (want_flags[31:0] & ~may_raise) == 0
          && (products == 0 || row_products == products[31:0]));
    error = emu_dpi_dot_in(mine, datapath, products[31:0], a, sa, b, sb, c[63:0], random, d, flags, open);
    judge(error, open == want_open[7:0] && ((d ^ want[63:0]) & mask[63:0]) == 0 && (open != 0 || flags == want_flags[31:0]));
  endtask

  task fault(input string what, input int error);
    $display("FAULT %s error=%0d line=%0d %s", what, error, emu_dpi_fault_line(), emu_dpi_fault());
  endtask

  longint unsigned got, more;
  int unsigned flags;
  int number, second, again, opened;
  int handles[EMU_DPI_LIBRARIES];
  byte unsigned open;
  packed_t none, y, z;

  task faults();
    none = 0;
    fault("nothing yet", 0);
    fault("no path", emu_dpi_open(""));
    fault("no file", emu_dpi_open("none_such.txt"));
    fault("refused", emu_dpi_open(broken));
    fault("never opened", emu_dpi_decode_to_in(7777, "mine", "fp64", 1, got));
    fault("negative", emu_dpi_convert_in(-3, "mine", "mine", "rne", "nvidia", 0, 0, got, open));
    fault("close nothing", emu_dpi_close(EMU_DPI_SHIPPED));
    fault("format", emu_dpi_decode_to_in(mine, "none_such", "fp64", 1, got));
    fault("shipped alone", emu_dpi_decode_to("mine", "fp64", 1, got));
    fault("kind", emu_dpi_decode_to_in(mine, "rne", "fp64", 1, got));
    fault("kind of the file", emu_dpi_quantize_in(mine, "my_layout", "fp32", none, 16, 0, none, y, z, open));
    fault("empty", emu_dpi_transform_in(mine, "", "fp32", none, none, y));
    fault("rounding", emu_dpi_convert_in(mine, "mine", "e2m1", "e2m1", "nvidia", 0, 0, got, open));
    fault("policy", emu_dpi_convert_in(mine, "mine", "e2m1", "rne", "none_such", 0, 0, got, open));
    fault("code", emu_dpi_convert_in(mine, "mine", "e2m1", "rne", "nvidia", 64'hffff, 0, got, open));
    fault("profile", emu_dpi_dequantize_in(mine, "my_recipe", "none_such", "fp32", none, none, y));
    fault("no profile", emu_dpi_dequantize_in(mine, "my_recipe", "", "fp32", none, none, y));
    fault("columns", emu_dpi_quantize_in(mine, "my_recipe", "fp32", none, 17, 0, none, y, z, open));
    fault("layout", emu_dpi_layout_place_in(mine, "my_recipe", 0, 0, 4, 4, got));
    fault("place", emu_dpi_layout_place_in(mine, "my_layout", 9, 0, 4, 4, got));
    fault("end", emu_dpi_layout_locate_in(mine, "my_layout", 64'd1 << 40, 4, 4, got, more));
    fault("datapath", emu_dpi_dot_in(mine, "my_recipe", 0, none, none, none, none, 0, none, got, flags, open));
    fault("operands", emu_dpi_dot_in(mine, "my_random/e2m1xe2m1", 0, none, none, none, none, 0, none, got, flags, open));
    fault("products", emu_dpi_dot_in(mine, "my_random", 6, none, none, none, none, 0, none, got, flags, open));
    fault("too many", emu_dpi_dot_in(mine, "my_random", 512, none, none, none, none, 0, none, got, flags, open));
    fault("no datapath", emu_dpi_dot("", none, none, none, none, 0, got, open));
    // two files with one name each in its own place; a closed handle is none, also when its place is taken again
    second = emu_dpi_open(other);
    number = emu_dpi_decode_to_in(second, "mine", "fp64", 1, got);
    number = number | emu_dpi_decode_to_in(mine, "mine", "fp64", 1, more);
    $display("TWO error=%0d second=%h first=%h", number, got, more);
    if (emu_dpi_close(mine) != EMU_OK) mismatch++;
    fault("closed", emu_dpi_decode_to_in(mine, "mine", "fp64", 1, got));
    fault("closed twice", emu_dpi_close(mine));
    if (emu_dpi_decode_to_in(second, "mine", "fp64", 1, more) != EMU_OK) mismatch++;
    again = emu_dpi_open(other);
    fault("taken again", emu_dpi_decode_to_in(mine, "mine", "fp64", 1, got));
    number = emu_dpi_decode_to_in(again, "mine", "fp64", 1, got);
    if (again == mine || again <= 0 || number != EMU_OK || got != more) mismatch++;
    opened = 2;
    while (opened < EMU_DPI_LIBRARIES) begin
      handles[opened] = emu_dpi_open(other);
      if (handles[opened] <= 0) mismatch++;
      opened++;
    end
    fault("full", emu_dpi_open(other));
    number = emu_dpi_close(handles[40]);
    again = emu_dpi_open(other);
    if (number != EMU_OK || again <= 0 || again == handles[40]) mismatch++;
  endtask

  initial begin
    if (!$value$plusargs("library=%s", mine_path)) $finish;
    mine = emu_dpi_open(mine_path);
    if (mine <= 0) $display("FAULT open error=%0d line=%0d %s", mine, emu_dpi_fault_line(), emu_dpi_fault());
    if ($value$plusargs("rows=%s", path)) begin
      file = $fopen(path, "r");
      while ($fscanf(file, "%s", kind) == 1) begin
        case (kind)
          "convert": convert();
          "decode": decode();
          "quantize": quantize();
          "dequantize": dequantize();
          "transform": transform();
          "layout": layout();
          "dot": dot();
          default: mismatch++;
        endcase
      end
    end
    if ($value$plusargs("other=%s", other) && $value$plusargs("broken=%s", broken)) faults();
    $display("RESULT %s asked=%0d mismatch=%0d", mine > 0 && mismatch == 0 ? "PASS" : "FAIL", asked, mismatch);
    $finish;
  end
endmodule
