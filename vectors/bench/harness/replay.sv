// replay.sv: a stand-in for a design: module `dut` looks the row up in the suite and answers what stands there, one clock later. It tries bench,
// simulator and files together, and no design. Plusarg +replay=<file.mem>: the suite, also when the bench reads another file.
// Compiled after the suite's .svh and the bench, whose macros list the ports.

module dut (
    input  wire clk,
    input  wire rst,
    input  wire in_valid,
    output reg  out_valid
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) , input wire [(E_BITS)-1:0] E_PORT
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) , output wire [(E_BITS)-1:0] E_PORT
    `TC_INS
    `EMU_COLUMNS
`undef EMU_IN
`undef EMU_OUT
);
    localparam integer W = `TC_WIDTH;
    localparam [W-1:0] ONES = {W{1'b1}};
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) | ((ONES >> (W - (E_BITS))) << (E_LSB))
    localparam [W-1:0] GIVEN = {W{1'b0}} `TC_INS;
`undef EMU_IN
    reg [W-1:0] rows [0:`TC_WORDS-1];
    reg [8*4096-1:0] file;
    reg [W-1:0] answer;
    integer place, tried;
    initial begin
        place = 0;
        if ($value$plusargs("replay=%s", file)) $readmemh(file, rows);
        else $display("replay: no rows: say +replay=<file.mem>");
    end
    wire [W-1:0] asked;
`define EMU_IN(E_PORT, E_TEXT, E_LSB, E_BITS) | ({{W{1'b0}}, E_PORT} << (E_LSB))
    assign asked = {W{1'b0}} `TC_INS;
`undef EMU_IN
    always @(posedge clk) begin
        out_valid <= in_valid && !rst;
        if (in_valid && !rst) begin
            tried = 0;
            while (tried <= `TC_N && ((rows[place] ^ asked) & GIVEN) != {W{1'b0}}) begin
                place = place >= `TC_N - 1 ? 0 : place + 1;
                tried = tried + 1;
            end
            answer <= rows[place];
        end
    end
`define EMU_OUT(E_PORT, E_TEXT, E_LSB, E_BITS, E_MASK, E_KIND, E_LANES, E_NAN) assign E_PORT = answer[(E_LSB) +: (E_BITS)];
    `EMU_COLUMNS
`undef EMU_OUT
endmodule
