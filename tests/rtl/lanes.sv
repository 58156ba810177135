// Sums of LANES products of 4-bit codes with adders of four shapes, as users write them, for tests of emu rtl prove.
// E2M1, E1M2 or INT4: the elements.   CHAIN, HALVES, SAVE, SIGNS: the adders.   FAULT: a seeded fault.
module dut (
    input  [4*`LANES-1:0]      a,
    input  [4*`LANES-1:0]      b,
    output signed [`BITS-1:0]  sg
);
    localparam W = `BITS;
    function signed [W-1:0] value(input [3:0] code);
        reg signed [W-1:0] size;
        begin
`ifdef INT4
            value = {{(W-4){code[3]}}, code};
`else
`ifdef E1M2
            size = {{(W-3){1'b0}}, code[2:0]};
`else
            size = code[2:1] == 0 ? {{(W-1){1'b0}}, code[0]} : {{(W-2){1'b0}}, 1'b1, code[0]} << (code[2:1] - 2'd1);
`endif
            value = code[3] ? -size : size;
`endif
        end
    endfunction
    wire signed [W-1:0] p [0:`LANES-1];
    genvar g;
    generate
        for (g = 0; g < `LANES; g = g + 1) begin : lane
            assign p[g] = value(a[4*g+:4]) * value(b[4*g+:4]);
        end
    endgenerate
    integer i, n;
    reg signed [W-1:0] s [0:`LANES-1];
    reg signed [W-1:0] total, more;
    reg [W-1:0] x, y, z;
    always @* begin
        for (i = 0; i < `LANES; i = i + 1) s[i] = p[i];
        total = 0;
        more = 0;
        x = 0; y = 0; z = 0; n = 0;
`ifdef CHAIN
        for (i = 0; i < `LANES; i = i + 1) total = total + s[i];
`elsif HALVES
        for (n = `LANES / 2; n > 0; n = n / 2)                 // the first half on the second
            for (i = 0; i < n; i = i + 1) s[i] = s[i] + s[i + n];
        total = s[0];
`elsif SAVE
        for (i = 0; i < `LANES; i = i + 1) begin               // sums and carries apart until the end
            x = total; y = more; z = s[i];
            total = x ^ y ^ z;
            more = ((x & y) | (x & z) | (y & z)) << 1;
        end
        total = total + more;
`else
        for (i = 0; i < `LANES; i = i + 1)                      // positive and negative products apart
            if (s[i] < 0) more = more - s[i];
            else total = total + s[i];
        total = total - more;
`endif
`ifdef FAULT
        if (a[3:0] == 4'd9 && b[3:0] == 4'd7 && a[4*`LANES-1-:4] == 4'd5) total = total + 1;
`endif
    end
    assign sg = total;
endmodule
