// align_term: a signed integer moved to the unit of the adder: LEFT places up, then `places` down; bits that fall off the end are cut from
// the magnitude (toward zero). LEFT is what a term under the largest exponent takes, places is E minus the exponent of this one.
module align_term #(
    parameter BITS = 20,
    parameter LEFT = 27,
    parameter WIDTH = 49
) (
    input  logic signed [BITS-1:0]  term,
    input  logic [9:0]              places,
    output logic signed [WIDTH-1:0] aligned
);
    wire             sign = term[BITS-1];
    wire [BITS-1:0]  magnitude = sign ? -term : term;
    wire [WIDTH-1:0] kept = (WIDTH'(magnitude) << LEFT) >> places;
    assign aligned = sign ? -kept : kept;
endmodule
