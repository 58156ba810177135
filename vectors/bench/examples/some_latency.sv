// An example of a design without valid ports, whose latency nobody wrote down: it is always the same.
module some_latency #(parameter EDGES = 5) (
    input  logic        clk,
    input  logic [15:0] data,
    output logic [3:0]  result
);
    logic [3:0] code;
    logic [4*EDGES-1:0] pipe;
    e2m1_nearest nearest (.bf16(data), .e2m1(code));
    always_ff @(posedge clk) pipe <= {pipe, code};
    assign result = pipe[4*EDGES-1 -: 4];
endmodule
