// An example of several clocks: numbers come on one, are converted on a second, codes leave on a third. A word crosses with a toggle that
// its receiver sees two flip-flops later; the sender waits until the toggle has come back.
module three_clocks (
    input  logic        clk_in, clk_core, clk_out, rst,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [15:0] in_data,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [3:0]  out_data
);
    logic [15:0] word;
    logic [3:0]  code, result;
    logic        sent, sent_1, sent_2, done, done_1, done_2, back_1, back_2, taken, taken_1, taken_2;

    assign in_ready = sent == back_2;
    always_ff @(posedge clk_in)
        if (rst) {sent, back_1, back_2} <= 3'd0;
        else begin
            {back_2, back_1} <= {back_1, done};
            if (in_valid && in_ready) begin
                word <= in_data;
                sent <= ~sent;
            end
        end

    e2m1_nearest nearest (.bf16(word), .e2m1(code));
    always_ff @(posedge clk_core)
        if (rst) {sent_1, sent_2, taken_1, taken_2, done} <= 5'd0;
        else begin
            {sent_2, sent_1} <= {sent_1, sent};
            {taken_2, taken_1} <= {taken_1, taken};
            if (sent_2 != done && taken_2 == done) begin
                result <= code;
                done <= sent_2;
            end
        end

    assign out_valid = done_2 != taken;
    assign out_data = result;
    always_ff @(posedge clk_out)
        if (rst) {done_1, done_2, taken} <= 3'd0;
        else begin
            {done_2, done_1} <= {done_1, done};
            if (out_valid && out_ready) taken <= done_2;
        end
endmodule
