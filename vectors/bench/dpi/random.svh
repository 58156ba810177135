// The suite's rows and digest are not those of this run: a random RESULT line can never be taken for a golden one.
`ifndef EMU_RANDOM_ROWS
`define EMU_RANDOM_ROWS 100000
`endif
`undef TC_WORDS
`define TC_WORDS (`EMU_RANDOM_ROWS + 1)
`undef TC_ROWS_SHA256
`define TC_ROWS_SHA256 "random"
