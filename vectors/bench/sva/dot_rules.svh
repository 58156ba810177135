// Rules of a dot product of 4-bit elements without NaN (E2M1, E1M2, E0M3, INT4) with fp32 C and D, on datapaths that align and add integers.
// Not for the `promote` family, where a product of two scales may overflow. Whatever lies between, the golden vectors judge.
//
// EMU_SCALE_BITS          of one scale (default 8), EMU_SCALE_NAN the bits that are all ones in a NaN scale (default 8'h7f: UE4M3;
//                         E8M0: 8'hff)
// EMU_TWOS_COMPLEMENT     defined: elements are INT4, and only the code 0 is zero; else the sign bit of an element does not count
`ifndef EMU_SCALE_BITS
`define EMU_SCALE_BITS 8
`endif
`ifndef EMU_SCALE_NAN
`define EMU_SCALE_NAN 8'h7f
`endif
`ifdef EMU_TWOS_COMPLEMENT
`define EMU_SIZE 4'hf
`else
`define EMU_SIZE 4'h7
`endif
`ifdef TC_SA_LSB
`define EMU_SCALES `TC_SA_BITS
`else
`define EMU_SCALES `EMU_SCALE_BITS
  wire [`EMU_SCALES-1:0] sa = 0, sb = 0;
`endif

  localparam IN_BITS = 2 * (`TC_A_BITS + `EMU_SCALES) + 32;
  localparam OUT_BITS = 32;
  wire [IN_BITS-1:0] given = {a, b, sa, sb, c};
  wire [OUT_BITS-1:0] taken = d;

`include "protocol.svh"

  reg [`TC_A_BITS-1:0] a_asked, b_asked;
  reg [`EMU_SCALES-1:0] sa_asked, sb_asked;
  reg [31:0] c_asked;
  reg all_zero, nan_scale;
  integer lane;
  always @* begin
    {a_asked, b_asked, sa_asked, sb_asked, c_asked} = asked;
    all_zero = c_asked[30:0] == 0;
    for (lane = 0; lane < `TC_A_BITS; lane = lane + 4)
      if ((a_asked[lane +: 4] & `EMU_SIZE) != 0 && (b_asked[lane +: 4] & `EMU_SIZE) != 0) all_zero = 1'b0;
    nan_scale = 1'b0;
    for (lane = 0; lane < `EMU_SCALES; lane = lane + `EMU_SCALE_BITS)
      if ((sa_asked[lane +: `EMU_SCALE_BITS] & `EMU_SCALE_NAN) == `EMU_SCALE_NAN ||
          (sb_asked[lane +: `EMU_SCALE_BITS] & `EMU_SCALE_NAN) == `EMU_SCALE_NAN) nan_scale = 1'b1;
  end

  // Finite operands never make a NaN; zeros alone make a zero.
  wire counts = answers && !nan_scale && c_asked[30:23] != 8'hff;
  wire ok_finite = !counts || !(d[30:23] == 8'hff && d[22:0] != 0);
  wire ok_zero = !counts || !all_zero || d[30:0] == 0;
  // What is NaN stays NaN.
  wire ok_nan = !answers || !(c_asked[30:0] > 31'h7f800000) || d[30:0] > 31'h7f800000;

`define EMU_RULES \
  `EMU_PROTOCOL \
  `EMU_RULE(law_finite, "finite", ok_finite) \
  `EMU_RULE(law_zero, "zero", ok_zero) \
  `EMU_RULE(law_nan, "nan", ok_nan)
