// Rules of convert between IEEE-like sources and sign-magnitude destinations (E2M1, E1M2, E3M0, E2M3, E3M2, E0M3 and 8-bit floats), whatever
// the rounding. Rows whose source is NaN are left to the golden vectors: policies differ there.
//
// EMU_SRC_EXP_BITS  exponent bits of the source (default 8: bf16, fp32; 5: fp16)
// EMU_DST_TOP       largest finite magnitude code of the destination; default: all ones, as in formats without NaN and Inf. For a policy
//                   that saturates; where overflow gives Inf or NaN say the largest code
`ifndef EMU_SRC_EXP_BITS
`define EMU_SRC_EXP_BITS 8
`endif
`ifndef EMU_DST_TOP
`define EMU_DST_TOP ((1 << (`TC_Y_BITS - 1)) - 1)
`endif

  localparam IN_BITS = `TC_X_BITS;
  localparam OUT_BITS = `TC_Y_BITS;
  localparam CODES = 1 << (`TC_Y_BITS - 1);
  localparam SRC_FRAC_BITS = `TC_X_BITS - 1 - `EMU_SRC_EXP_BITS;
  localparam [`TC_X_BITS-2:0] SRC_INF = ((1 << `EMU_SRC_EXP_BITS) - 1) << SRC_FRAC_BITS;
  wire [IN_BITS-1:0] given = x;
  wire [OUT_BITS-1:0] taken = y;

`include "protocol.svh"

  wire [`TC_X_BITS-2:0] x_size = asked[`TC_X_BITS-2:0];
  wire                  x_sign = asked[`TC_X_BITS-1];
  wire [`TC_Y_BITS-2:0] y_size = y[`TC_Y_BITS-2:0];
  wire                  counts = answers && (x_size <= SRC_INF);  // not NaN

  wire ok_sign = !counts || y_size == 0 || y[`TC_Y_BITS-1] == x_sign;
  wire ok_zero = !counts || x_size != 0 || y_size == 0;
  wire ok_top = !counts || y_size <= `EMU_DST_TOP;

  // Order: a larger magnitude never gets a smaller code, over all answers so far. Not with random bits.
`ifdef TC_R_LSB
  wire ok_order = 1'b1;
`else
  reg [`TC_X_BITS-2:0] least [0:2*CODES-1], most [0:2*CODES-1];  // magnitudes seen with each code
  reg seen [0:2*CODES-1];
  reg ok_order;
  integer code;
  initial for (code = 0; code < 2 * CODES; code = code + 1) seen[code] = 1'b0;
  integer other;
  always @* begin
    ok_order = 1'b1;
    if (counts)
      for (other = 0; other < CODES; other = other + 1)
        if (seen[x_sign * CODES + other]) begin
          if (other < y_size && most[x_sign * CODES + other] >= x_size) ok_order = 1'b0;
          if (other > y_size && least[x_sign * CODES + other] <= x_size) ok_order = 1'b0;
        end
  end
  always @(posedge clk)
    if (rst === 1'b0 && counts) begin
      seen[x_sign * CODES + y_size] <= 1'b1;
      if (!seen[x_sign * CODES + y_size] || least[x_sign * CODES + y_size] > x_size) least[x_sign * CODES + y_size] <= x_size;
      if (!seen[x_sign * CODES + y_size] || most[x_sign * CODES + y_size] < x_size) most[x_sign * CODES + y_size] <= x_size;
    end
`endif

`define EMU_RULES \
  `EMU_PROTOCOL \
  `EMU_RULE(law_sign, "sign", ok_sign) \
  `EMU_RULE(law_zero, "zero", ok_zero) \
  `EMU_RULE(law_top, "top", ok_top) \
  `EMU_RULE(law_order, "order", ok_order)
