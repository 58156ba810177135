// An example of valid and ready on both sides: two stages, each holds its code until the next one takes it.
module pressed (
    input  logic        clk, rst,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [15:0] in_data,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [3:0]  out_data
);
    logic [3:0] code, first_code;
    logic       first_valid;
    e2m1_nearest nearest (.bf16(in_data), .e2m1(code));
    wire first_moves = !out_valid || out_ready;
    assign in_ready = !first_valid || first_moves;
    always_ff @(posedge clk)
        if (rst) begin
            first_valid <= 1'b0;
            out_valid <= 1'b0;
        end else begin
            if (in_ready) begin
                first_valid <= in_valid;
                first_code <= code;
            end
            if (first_moves) begin
                out_valid <= first_valid;
                out_data <= first_code;
            end
        end
endmodule
