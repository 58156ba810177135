// Elements: any codes, few that are not zero, all alike, or pairs that cancel. Scales: any codes, or close to one another. C: any bits,
// zero, or the result of the row before, so that sums and C are of one size.

  string datapath;
  reg [`TC_D_BITS-1:0] last_d;

  function automatic bit read_names();
    last_d = 0;
    return $value$plusargs("datapath=%s", datapath) != 0;
  endfunction

  function automatic [8191:0] many();
    integer i;
    for (i = 0; i < 8192; i = i + 32) many[i +: 32] = random();
  endfunction

  function automatic [8191:0] elements();
    integer i, mode;
    reg [3:0] alike;
    mode = random() % 4;
    alike = random();
    elements = many();
    for (i = 0; i < 8192; i = i + 4) begin
      if (mode == 1 && random() % 8 != 0) elements[i +: 4] = 0;
      if (mode == 2) elements[i +: 4] = alike;
      if (mode == 3 && i % 8 == 4) elements[i +: 4] = elements[i - 4 +: 4] ^ 4'h8;
    end
  endfunction

  function automatic [8191:0] scales();
    integer i;
    reg [7:0] base;
    scales = many();
    base = random();
    if (random() % 4 != 0) for (i = 0; i < 8192; i = i + 8) scales[i +: 8] = base + random() % 4;
  endfunction

  function automatic bit reference(inout [W-1:0] row);
    bit [EMU_DPI_BITS-1:0] a, b, sa, sb;
    longint unsigned c, d;
    byte unsigned open;
    a = elements() & ({8192{1'b1}} >> (8192 - `TC_A_BITS));
    b = elements() & ({8192{1'b1}} >> (8192 - `TC_B_BITS));
    row[`TC_A_LSB +: `TC_A_BITS] = a[`TC_A_BITS-1:0];
    row[`TC_B_LSB +: `TC_B_BITS] = b[`TC_B_BITS-1:0];
    sa = 0;
    sb = 0;
`ifdef TC_SA_LSB
    sa = scales() & ({8192{1'b1}} >> (8192 - `TC_SA_BITS));
    sb = scales() & ({8192{1'b1}} >> (8192 - `TC_SB_BITS));
    row[`TC_SA_LSB +: `TC_SA_BITS] = sa[`TC_SA_BITS-1:0];
    row[`TC_SB_LSB +: `TC_SB_BITS] = sb[`TC_SB_BITS-1:0];
`endif
    c = 0;
`ifdef TC_C_LSB
    case (random() % 4)
      0: c = {random(), random()};
      1: c = 0;
      default: c = &last_d[`TC_D_BITS-2 -: 5] ? 0 : last_d;  // a NaN would never leave the chain
    endcase
    c = c & ((64'd1 << `TC_C_BITS) - 1);
    row[`TC_C_LSB +: `TC_C_BITS] = c[`TC_C_BITS-1:0];
`endif
    if (emu_dpi_dot(datapath, a, sa, b, sb, c, d, open) != EMU_OK) return 0;
    last_d = d[`TC_D_BITS-1:0];
    row[`TC_D_LSB +: `TC_D_BITS] = d[`TC_D_BITS-1:0];
    row[`TC_M_D_LSB +: `TC_M_D_BITS] = open == 0 ? {`TC_M_D_BITS{1'b1}} : {`TC_M_D_BITS{1'b0}};
`ifdef TC_K_D_LSB
    row[`TC_K_D_LSB +: 4] = &d[30:23] && d[22:0] != 0 && `TC_D_BITS == 32 ? 1 : 0;
`endif
    return 1;
  endfunction
