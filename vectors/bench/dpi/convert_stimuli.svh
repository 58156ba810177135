// A quarter of the inputs each: any bits; close to a value of the destination; close to the middle of two of them; few or nearly all
// bits set.

  string source, destination, rounding, policy;

  function automatic bit read_names();
    return $value$plusargs("source=%s", source) != 0 && $value$plusargs("destination=%s", destination) != 0
      && $value$plusargs("rounding=%s", rounding) != 0 && $value$plusargs("policy=%s", policy) != 0;
  endfunction

  // The source code of a destination code's value; any bits where it has none.
  function automatic [63:0] value_of(input [`TC_Y_BITS-1:0] code);
    longint unsigned found;
    if (emu_dpi_decode_to(destination, source, {{(64-`TC_Y_BITS){1'b0}}, code}, found) != EMU_OK) found = {32'd0, random()};
    return found;
  endfunction

  function automatic [63:0] stimulus();
    reg [`TC_Y_BITS-1:0] code;
    reg [63:0] near, step;
    step = 64'd1 << (random() % `TC_X_BITS);
    if (random() % 2 == 0) step = random() % 4;
    if (random() % 2 == 0) step = -step;
    code = random();
    case (random() % 4)
      0: near = {random(), random()};
      1: near = value_of(code) + step;
      2: near = ((value_of(code) + value_of(code + 1'b1)) >> 1) + step;
      default: near = random() % 2 == 0 ? random() & random() & random() : ~{32'd0, random() & random() & random()};
    endcase
    return near;
  endfunction

  function automatic bit reference(inout [W-1:0] row);
    longint unsigned y;
    byte unsigned open;
    reg [31:0] r;
    reg [`TC_X_BITS-1:0] x;
    x = stimulus();
    r = 0;
`ifdef TC_R_LSB
    case (random() % 8)
      0: r = 0;
      1: r = 1;
      2: r = (64'd1 << `TC_R_BITS) - 1;
      default: r = random() & ((64'd1 << `TC_R_BITS) - 1);
    endcase
    row[`TC_R_LSB +: `TC_R_BITS] = r[`TC_R_BITS-1:0];
`endif
    if (emu_dpi_convert(source, destination, rounding, policy, {{(64-`TC_X_BITS){1'b0}}, x}, r, y, open) != EMU_OK) return 0;
    row[`TC_X_LSB +: `TC_X_BITS] = x;
    row[`TC_Y_LSB +: `TC_Y_BITS] = y[`TC_Y_BITS-1:0];
    row[`TC_M_Y_LSB +: `TC_M_Y_BITS] = open == 0 ? {`TC_M_Y_BITS{1'b1}} : {`TC_M_Y_BITS{1'b0}};
    return 1;
  endfunction
