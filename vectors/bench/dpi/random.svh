// The suite's rows and digest are not those of this run: a random RESULT line can never be taken for a golden one.
`ifndef EMU_RANDOM_ROWS
`define EMU_RANDOM_ROWS 100000
`endif
// The queues of wrappers of port maps (emu rtl wrap), which stand behind this file on the command line, take as many.
`ifndef EMU_QUEUE
`define EMU_QUEUE `EMU_RANDOM_ROWS
`endif
`undef TC_WORDS
`define TC_WORDS (`EMU_RANDOM_ROWS + 1)
`undef TC_ROWS_SHA256
`define TC_ROWS_SHA256 "random"
