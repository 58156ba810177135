// bf16 to E2M1 by a state machine: one threshold an edge, seven edges a number. start is taken while busy is 0; done is 1 for one edge.
module walking (
    input  logic        clk_i, rst_ni,
    input  logic        start_i,
    output logic        ready_o,
    input  logic [15:0] bf16_i,
    output logic        done_o,
    output logic [3:0]  e2m1_o
);
    logic [15:0] word;
    logic [2:0]  step, code;
    logic        busy;
    logic [15:0] bound;  // the midpoint below a code; lowest bit 1: it goes up itself
    always_comb
        case (step)
            3'd0: bound = {15'h3e80, 1'b0};
            3'd1: bound = {15'h3f40, 1'b1};
            3'd2: bound = {15'h3fa0, 1'b0};
            3'd3: bound = {15'h3fe0, 1'b1};
            3'd4: bound = {15'h4020, 1'b0};
            3'd5: bound = {15'h4060, 1'b1};
            default: bound = {15'h40a0, 1'b0};
        endcase
    wire above = {word[14:0], bound[0]} > {bound[15:1], 1'b0};
    assign ready_o = !busy;
    assign e2m1_o = word[14:0] > 15'h7f80 ? 4'h7 : {word[15], code};
    always_ff @(posedge clk_i or negedge rst_ni)
        if (!rst_ni) begin
            busy <= 1'b0;
            done_o <= 1'b0;
        end else begin
            done_o <= busy && step == 3'd6;
            if (!busy) begin
                if (start_i) begin
                    word <= bf16_i;
                    step <= 3'd0;
                    code <= 3'd0;
                    busy <= 1'b1;
                end
            end else begin
                step <= step + 3'd1;
                if (above) code <= code + 3'd1;
                if (step == 3'd6) busy <= 1'b0;
            end
        end
endmodule
