// An example of a design that was not written for emu: two fp32 numbers a beat to two E2M1 codes in a byte, two clocks later.
// It cuts discarded bits off, and it knows no NaN and no infinity: an exponent field of 255 is a number like any other.
// data_i: the first number in the low half. code_o: the first code in the HIGH nibble. rst_ni: active low, asynchronous.

module fp4_pack2 (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        bypass_i,   // 1: the low byte of data_i comes out as it is
    input  logic [63:0] data_i,
    output logic [7:0]  code_o
);
    // Largest code at or below |x|: the exponent field tells the binade, the top fraction bit the half of it.
    function automatic [3:0] cut(input [31:0] x);
        if (x[30:23] > 8'd129) cut = {x[31], 3'd7};               // 8 and above: saturate to 6
        else if (x[30:23] == 8'd129) cut = {x[31], 2'd3, x[22]};  // 4, 6
        else if (x[30:23] == 8'd128) cut = {x[31], 2'd2, x[22]};  // 2, 3
        else if (x[30:23] == 8'd127) cut = {x[31], 2'd1, x[22]};  // 1, 1.5
        else cut = {x[31], 2'd0, x[30:23] == 8'd126};             // 0, 0.5
    endfunction

    logic [63:0] data_1;
    logic        bypass_1;

    always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) begin
            data_1 <= 64'd0;
            bypass_1 <= 1'b0;
            code_o <= 8'd0;
        end else begin
            data_1 <= data_i;
            bypass_1 <= bypass_i;
            code_o <= bypass_1 ? data_1[7:0] : {cut(data_1[31:0]), cut(data_1[63:32])};
        end
endmodule
