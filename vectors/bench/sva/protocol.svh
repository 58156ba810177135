// What every checker watches, of any operation: rows in flight, and the rules of the handshake. The module that includes this has the ports
// clk, rst, in_valid, out_valid, IN_BITS and OUT_BITS, and `given`, `taken`: all inputs and all outputs side by side.
//
// Rules of the contract: answers come in order, one for each row, none without a row, none after a reset for a row before it; none takes
// longer than LATENCY cycles; a valid output has no unknown bit. There is no rule of a stable output: an output means something only while
// out_valid is 1, and there is no ready to wait for.

`ifndef EMU_LATENCY
`define EMU_LATENCY 256
`endif

  localparam LATENCY = `EMU_LATENCY;
  localparam DEPTH = 512;                    // rows in flight
  reg [IN_BITS-1:0] queue [0:DEPTH-1];
  reg [31:0] queue_cycle [0:DEPTH-1];        // when each was given
  reg [15:0] first, pending;                 // oldest row in flight, their number
  reg [31:0] cycle;
  initial {first, pending, cycle} = 64'd0;

  wire asks = in_valid === 1'b1;
  wire answers = out_valid === 1'b1;
  wire at_once = answers && pending == 0;    // a combinational design answers in the same cycle
  wire [IN_BITS-1:0] asked = at_once ? given : queue[first];

  always @(posedge clk)
    if (rst !== 1'b0) {first, pending, cycle} <= 64'd0;
    else begin
      if (asks && !at_once) queue[(first + pending) % DEPTH] <= given;
      if (asks && !at_once) queue_cycle[(first + pending) % DEPTH] <= cycle;
      if (answers && !at_once) first <= (first + 1) % DEPTH;
      pending <= pending + (asks && !at_once ? 16'd1 : 16'd0) - (answers && !at_once ? 16'd1 : 16'd0);
      cycle <= cycle + 32'd1;
    end

  wire ok_valid_known = ^out_valid !== 1'bx;
  wire ok_output_known = !answers || ^taken !== 1'bx;
  wire ok_asked = !answers || asks || pending != 0;
  wire ok_in_time = pending == 0 || (cycle - queue_cycle[first] <= LATENCY && pending < DEPTH - 1);

`define EMU_PROTOCOL \
  `EMU_RULE(law_valid_known, "valid_known", ok_valid_known) \
  `EMU_RULE(law_asked, "asked", ok_asked) \
  `EMU_RULE(law_output_known, "output_known", ok_output_known) \
  `EMU_RULE(law_in_time, "in_time", ok_in_time)
