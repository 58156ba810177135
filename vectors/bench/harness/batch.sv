// batch: several copies of a converter `dut` side by side, 32 bits a source code and 8 bits a result, so that one evaluation of a Verilator
// model serves them all. They run in step: any_valid and all_valid must agree.
`ifndef RANDOM_BITS
`define RANDOM_R
`else
`define RANDOM_R .r(r[32*lane +: `RANDOM_BITS]),
`endif
module batch #(
    parameter COPIES = 8
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 in_valid,
    input  logic [32*COPIES-1:0] x,
    input  logic [32*COPIES-1:0] r,
    output logic                 any_valid,
    output logic                 all_valid,
    output logic [8*COPIES-1:0]  y
);
    wire [COPIES-1:0] out_valid;
    genvar lane;
    generate
        for (lane = 0; lane < COPIES; lane = lane + 1) begin : g_lane
            wire [`DST_BITS-1:0] code;
            dut unit (
                .clk(clk), .rst(rst), .in_valid(in_valid), .x(x[32*lane +: `SRC_EXP_BITS+`SRC_FRAC_BITS+1]), `RANDOM_R
                .out_valid(out_valid[lane]), .y(code)
            );
            assign y[8*lane +: 8] = {{(8-`DST_BITS){1'b0}}, code};
        end
    endgenerate
    assign any_valid = |out_valid;
    assign all_valid = &out_valid;
endmodule
