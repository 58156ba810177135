// delay_valid: the valid bit beside DEPTH registers of data; reset empties them. rst is active high and synchronous.
module delay_valid #(
    parameter DEPTH = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic d,
    output logic q
);
    generate
        if (DEPTH == 0) begin : wires
            wire unused = clk & rst;
            assign q = d;
        end else begin : registers
            reg [DEPTH-1:0] held;
            always @(posedge clk) held <= rst ? {DEPTH{1'b0}} : DEPTH'({held, d});
            assign q = held[DEPTH-1];
        end
    endgenerate
endmodule
