// Rows of a file through a running register (rtl/running_int.sv, rtl/running_float.sv), each compared at its end. For Icarus and Verilator.
//
//   +rows=<file>: words in hexadecimal. A row is a, b and the random word of each step, then c, then the code that the register must show.
//
// Macros: PARAMETERS of the design, CODE_BITS of a and b, RANDOM_BITS, OUT_BITS of d, STEPS of a row; INTEGER for
// running_int, which has neither c nor random; MUTANTS for a netlist
// whose port mutsel chooses one (+mutant=<number>). A clock without in_valid stands before each row
// and, with other operands, after it.
module bench;
    integer file, got, step, i;
    logic clk = 0, rst = 0, in_valid = 0, first = 0;
    logic [`CODE_BITS-1:0]   a = 0, b = 0, c = 0;
    logic [`RANDOM_BITS-1:0] random = 0;
    wire out_valid;
    wire [`OUT_BITS-1:0] d;
`ifdef MUTANTS
    integer mutant;
    initial got = $value$plusargs("mutant=%d", mutant);
`endif
`ifdef INTEGER
    running_int #(`PARAMETERS) dut (.clk(clk), .rst(rst), .in_valid(in_valid), .first(first), .a(a), .b(b), .out_valid(out_valid), 
        .acc(), .d(d)
`ifdef MUTANTS
        , .mutsel(mutant[7:0])
`endif
    );
`else
    running_float #(`PARAMETERS) dut (.clk(clk), .rst(rst), .in_valid(in_valid), .first(first), .a(a), .b(b), .c(c), .random(random),
        .out_valid(out_valid), .d(d)
`ifdef MUTANTS
        , .mutsel(mutant[7:0])
`endif
    );
`endif

    integer rows = 0;
    logic wrong = 0;
    logic [31:0] words [0:3*`STEPS+1];
    logic [8*200-1:0] name;

    task automatic tick;
        #1 clk = 1;
        #1 clk = 0;
    endtask

    initial begin
        got = $value$plusargs("rows=%s", name);
        file = $fopen(name, "r");
        rst = 1;
        in_valid = 1;
        tick;
        if (out_valid !== 1'b0) begin
            $display("DIFFERS row=0: an answer under reset");
            wrong = 1;
        end
        rst = 0;
        got = 1;
        while (got == 1) begin
            for (i = 0; i < 3 * `STEPS + 2 && got == 1; i = i + 1) got = $fscanf(file, "%h", words[i]);
            if (got == 1) begin
                in_valid = 0;
                first = 1;
                tick;
                if (out_valid !== 1'b0) begin
                    if (!wrong) $display("DIFFERS row=%0d: an answer to nothing", rows);
                    wrong = 1;
                end
                for (step = 0; step < `STEPS; step = step + 1) begin
                    in_valid = 1;
                    first = step == 0;
                    a = words[3*step][`CODE_BITS-1:0];
                    b = words[3*step+1][`CODE_BITS-1:0];
                    random = words[3*step+2][`RANDOM_BITS-1:0];
                    c = step == 0 ? words[3*`STEPS][`CODE_BITS-1:0] : ~words[3*`STEPS][`CODE_BITS-1:0];
                    tick;
                end
                in_valid = 0;
                a = ~a;
                #1 if (out_valid !== 1'b1 || d !== words[3*`STEPS+1][`OUT_BITS-1:0]) begin
                    if (!wrong) $display("DIFFERS row=%0d want=%h got=%h", rows, words[3*`STEPS+1], d);
                    wrong = 1;
                    got = 0;
                end
                tick;
                if (!wrong && d !== words[3*`STEPS+1][`OUT_BITS-1:0]) begin
                    $display("DIFFERS row=%0d: the register moves without in_valid", rows);
                    wrong = 1;
                end
                rows = rows + 1;
            end
        end
        if (!wrong) $display("EQUAL rows=%0d", rows);
        $finish;
    end
endmodule
