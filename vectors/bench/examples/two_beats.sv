// An example of operands over several clock edges: a number comes in two bytes, the low one first, with a mark on the last; the code leaves
// in two pairs of bits, the high one first.
module two_beats (
    input  logic       clk, rst,
    input  logic       in_valid, in_last,
    output logic       in_ready,
    input  logic [7:0] in_data,
    output logic       out_valid, out_last,
    input  logic       out_ready,
    output logic [1:0] out_data
);
    logic [7:0] low;
    logic [3:0] code, kept;
    logic [1:0] left;
    e2m1_nearest nearest (.bf16({in_data, low}), .e2m1(code));
    assign out_valid = left != 2'd0;
    assign out_last = left == 2'd1;
    assign out_data = left == 2'd2 ? kept[3:2] : kept[1:0];
    assign in_ready = !in_last || !out_valid;
    always_ff @(posedge clk)
        if (rst) left <= 2'd0;
        else begin
            if (out_valid && out_ready) left <= left - 2'd1;
            if (in_valid && in_ready) begin
                if (!in_last) low <= in_data;
                else begin
                    kept <= code;
                    left <= 2'd2;
                end
            end
        end
endmodule
