// A design for any suite: it looks its inputs up in the golden rows. +table=<file.mem> names them, +latency=<cycles> is 0 to 15, and
// +fault=<name> +at=<row from 0> make it wrong. Inputs that no row has give X (Icarus) or all ones.
`ifdef EMU_STAGES
`define TABLE_OUT `TC_OUTS `TC_STAGES
`else
`define TABLE_OUT `TC_OUTS
`endif
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) input [(E_BITS)-1:0] E_PORT,
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) output [(E_BITS)-1:0] E_PORT,
module dut (
  `TC_INS
  `TABLE_OUT
  input clk, input rst, input in_valid, output out_valid
);
`undef EMU_IN
`undef EMU_OUT
  localparam integer W = `TC_WIDTH;
  localparam [W-1:0] ONES = {W{1'b1}};
  localparam integer DEPTH = 16;

`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) | ((ONES >> (W - (E_BITS))) << (E_LSB))
  localparam [W-1:0] INPUTS = {W{1'b0}} `TC_INS;
`undef EMU_IN
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) | ((ONES >> (W - (E_BITS))) << (E_LSB))
  localparam [W-1:0] OUTPUTS = {W{1'b0}} `TC_OUTS;
`undef EMU_OUT
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) | ((ONES >> (W - (E_BITS))) << (E_LSB))
  localparam [W-1:0] STAGES = {W{1'b0}} `TC_STAGES;
`undef EMU_OUT
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) | ((E_LSB) - (E_MASK))
  localparam integer TO_COLUMN = 0 `TC_OUTS;
`undef EMU_OUT
`ifdef TABLE_WITHOUT  // an input that the design does not look at: it keeps that state itself
  localparam [W-1:0] KEY = INPUTS & ~((ONES >> (W - `TABLE_WITHOUT_BITS)) << `TABLE_WITHOUT);
`else
  localparam [W-1:0] KEY = INPUTS;
`endif

  wire [W-1:0] given;
  reg [W-1:0] answer;
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) assign given[(E_LSB) +: (E_BITS)] = E_PORT;
  `TC_INS
`undef EMU_IN
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) assign E_PORT = answer[(E_LSB) +: (E_BITS)];
  `TABLE_OUT
`undef EMU_OUT

  reg [W-1:0] rows [0:`TC_WORDS-1];
  integer head [0:65535];
  integer link [0:`TC_WORDS-1];
  integer i, latency, at, n_rows;
  reg [8*16-1:0] fault;
  string table_file;

  function [15:0] hash(input [W-1:0] value);
    integer k;
    reg [W+15:0] rest;
    begin
      hash = 16'd0;
      rest = {16'd0, value};
      for (k = 0; k < W; k = k + 16) hash = {hash[14:0], hash[15]} ^ rest[k +: 16];
    end
  endfunction

  function integer find(input [W-1:0] value);
    integer k;
    begin
      find = -1;
      k = head[hash(value & KEY)];
      while (k >= 0) begin
        if ((rows[k] & KEY) === (value & KEY)) begin
          find = k;
          k = -1;
        end else k = link[k];
      end
    end
  endfunction

  // The right answer of a row, or a wrong one where the fault says so.
  function [W-1:0] answer_of(input integer row);
    reg [W-1:0] right, mask, flip, stage_flip;
    begin
      right = row < 0 ? {W{1'bx}} : rows[row];
      mask = (right << TO_COLUMN) & OUTPUTS;
      flip = mask & (~mask + 1'b1);
      stage_flip = (right << TO_COLUMN) & STAGES;
      stage_flip = stage_flip & (~stage_flip + 1'b1);
      answer_of = right;
      if (fault == "masked") answer_of = right ^ ~mask;
      if (row == at) begin
        if (fault == "flip") answer_of = right ^ flip;
        if (fault == "x") answer_of = flip !== {W{1'b0}} ? (right | flip) ^ (flip & {W{1'bx}}) : right;
        if (fault == "stage") answer_of = right ^ stage_flip;
        if (fault == "z") answer_of = {W{1'bz}};
      end
      if (fault == "swap" && row == at) answer_of = rows[row + 1];
      if (fault == "swap" && row == at + 1) answer_of = rows[row - 1];
    end
  endfunction

  // NaN lanes of free payload: another NaN (right), or infinity (wrong).
  reg [W-1:0] altered;
  task lanes_of(input integer row, input integer lsb, input integer bits, input integer kind, input integer lanes, input [63:0] lowest);
    integer lane, wide;
    reg [W-1:0] place;
    begin
      wide = bits / lanes;
      for (lane = 0; lane < lanes; lane = lane + 1)
        if (((rows[row] >> (kind + 4 * lane)) & 4'hF) == 1) begin
          place = (ONES >> (W - wide)) << (lsb + lane * wide);
          if (fault == "payload") altered = (altered & ~place) | (({{W{1'b0}}, lowest} | ONES << (wide - 1)) << (lsb + lane * wide) & place);
          if (fault == "infinity" && row == at) altered = (altered & ~place) | ({{W{1'b0}}, lowest - 64'd1} << (lsb + lane * wide));
          if (fault == "xnan" && row == at) altered = altered | (place & {W{1'bx}});
        end
    end
  endtask

  integer row_now;
  task look_up;
    begin
      row_now = find(given);
      altered = answer_of(row_now);
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) \
      if ((E_KIND) >= 0 && row_now >= 0) lanes_of(row_now, E_LSB, E_BITS, E_KIND, E_LANES, E_NAN);
      `TABLE_OUT
`undef EMU_OUT
    end
  endtask

  reg [W-1:0] pipe [0:DEPTH-1];
  reg [DEPTH-1:0] valids;
  reg now_valid, done_once, was_valid, hung;
  reg [W-1:0] now;

  initial begin
    if (!$value$plusargs("latency=%d", latency)) latency = 0;
    if (!$value$plusargs("at=%d", at)) at = 0;
    if (!$value$plusargs("fault=%s", fault)) fault = "none";
    for (i = 0; i < `TC_WORDS; i = i + 1) rows[i] = {W{1'b0}};
    for (i = 0; i < 65536; i = i + 1) head[i] = -1;
    if ($value$plusargs("table=%s", table_file)) $readmemh(table_file, rows);
    for (i = `TC_N - 1; i >= 0; i = i - 1) begin
      link[i] = head[hash(rows[i] & KEY)];
      head[hash(rows[i] & KEY)] = i;
    end
    valids = {DEPTH{1'b0}};
    done_once = 1'b0;
    hung = 1'b0;
    was_valid = 1'b0;
  end

  always @(in_valid or given) begin
    now_valid = in_valid;
    now = {W{1'bx}};
    if (in_valid === 1'b1) begin
      look_up;
      now = altered;
    end
  end

  wire drops = fault == "drop" && in_valid === 1'b1 && row_now == at && !done_once;
  always @(posedge clk) begin
    valids <= {valids[DEPTH-2:0], now_valid && !drops};
    for (i = DEPTH - 1; i > 0; i = i - 1) pipe[i] <= pipe[i - 1];
    pipe[0] <= now;
    if (rst && fault != "unreset" || fault == "stuck") valids <= {DEPTH{1'b0}};
    if (drops) done_once <= 1'b1;
    if (fault == "hang" && in_valid === 1'b1 && row_now == at) hung <= 1'b1;
    was_valid <= plain_valid;
  end

  wire plain_valid = latency == 0 ? (now_valid && !drops) : valids[latency - 1];
  wire spare = fault == "extra" && was_valid === 1'b1 && plain_valid === 1'b0;
  wire silent = fault == "silent" || hung;
  wire unknown = fault == "xvalid" && in_valid === 1'b1 && row_now == at;
  assign out_valid = unknown ? 1'bx : fault == "always" ? 1'b1 : silent ? 1'b0 : plain_valid || spare;
  always @* begin
    if (latency == 0) answer = now;
    else answer = pipe[latency - 1];
    if (fault == "late") answer = pipe[latency];
  end
endmodule
