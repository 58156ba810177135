// The C reference for SystemVerilog. Generated from emu_ref.h and emu_dpi.h by: python -m tools.docs build. Do not edit.
// A chandle is a descriptor: what an emu_find_* function returns. The other functions return EMU_OK or an EMU_ERROR_* number.
package emu_ref_pkg;
  localparam int EMU_OK = 0;
  localparam int EMU_ERROR_NULL = 1;
  localparam int EMU_ERROR_FORMAT = 2;
  localparam int EMU_ERROR_ROUNDING = 3;
  localparam int EMU_ERROR_POLICY = 4;
  localparam int EMU_ERROR_CODE = 5;
  localparam int EMU_ERROR_RANDOM = 6;
  localparam int EMU_ERROR_GRID = 7;
  localparam int EMU_ERROR_OPEN = 8;
  localparam int EMU_ERROR_REFUSED = 9;
  localparam int EMU_ERROR_PROGRAM = 10;
  localparam int EMU_ERROR_SHAPE = 11;
  localparam int EMU_ERROR_SPACE = 12;
  localparam int EMU_ERROR_DATAPATH = 13;
  localparam int EMU_ERROR_OVERFLOW = 14;
  localparam int EMU_ERROR_NAME = 15;
  localparam int EMU_ERROR_DESCRIPTOR = 16;
  localparam int EMU_ERROR_LAYOUT = 17;
  localparam int EMU_MAX_NAN_CODES = 16;
  localparam int EMU_MAX_CODEBOOK = 256;
  localparam int EMU_MAX_RANDOM_BITS = 32;
  localparam int EMU_MAX_VALUE_BITS = 61;
  localparam int EMU_FLOAT = 0;
  localparam int EMU_INTEGER = 1;
  localparam int EMU_EXPONENT = 2;
  localparam int EMU_CODEBOOK = 3;
  localparam int EMU_TWOS_COMPLEMENT = 0;
  localparam int EMU_SIGN_MAGNITUDE = 1;
  localparam int EMU_UNSIGNED = 2;
  localparam int EMU_INF_NONE = 0;
  localparam int EMU_INF_IEEE = 1;
  localparam int EMU_INF_TOP = 2;
  localparam int EMU_NAN_NONE = 0;
  localparam int EMU_NAN_IEEE = 1;
  localparam int EMU_NAN_LIST = 2;
  localparam int EMU_TIE_EVEN_CODE = 0;
  localparam int EMU_TIE_LOWER = 1;
  localparam int EMU_TIE_AWAY = 2;
  localparam int EMU_ZERO = 0;
  localparam int EMU_SUBNORMAL = 1;
  localparam int EMU_NORMAL = 2;
  localparam int EMU_INFINITE = 3;
  localparam int EMU_NAN = 4;
  localparam int EMU_OPEN = 5;
  localparam int EMU_KEEP = 0;
  localparam int EMU_NEXT = 1;
  localparam int EMU_TO_EVEN_CODE = 2;
  localparam int EMU_TO_ODD_CODE = 3;
  localparam int EMU_LESS_THAN_HALF = 0;
  localparam int EMU_AT_HALF = 1;
  localparam int EMU_MORE_THAN_HALF = 2;
  localparam int EMU_ADD_NONE = 0;
  localparam int EMU_ADD_CARRY = 1;
  localparam int EMU_ADD_COMPARE = 2;
  localparam int EMU_ADD_HALF = 3;
  localparam int EMU_ADD_TE_FMA = 4;
  localparam int EMU_ADD_NEAREST = 5;
  localparam int EMU_STOP_AT_MAX = 0;
  localparam int EMU_GO_AWAY = 1;
  localparam int EMU_STOP_AT_ODD = 2;
  localparam int EMU_SATURATE = 0;
  localparam int EMU_TO_INF = 1;
  localparam int EMU_TO_NAN = 2;
  localparam int EMU_IEEE_INF = 3;
  localparam int EMU_IEEE_NAN = 4;
  localparam int EMU_WRAP = 5;
  localparam int EMU_BY_RULE = 0;
  localparam int EMU_BY_CODE = 1;
  localparam int EMU_IS_OPEN = 2;
  localparam int EMU_IS_REFUSED = 3;
  localparam int EMU_BY_ROUNDED = 4;
  localparam int EMU_OP_ADD = 0;
  localparam int EMU_OP_SUB = 1;
  localparam int EMU_OP_MUL = 2;
  localparam int EMU_OP_DIV = 3;
  localparam int EMU_OP_FMA = 4;
  localparam int EMU_OP_ABS = 5;
  localparam int EMU_OP_NEG = 6;
  localparam int EMU_OP_MIN = 7;
  localparam int EMU_OP_MAX = 8;
  localparam int EMU_OP_CLAMP = 9;
  localparam int EMU_OP_ROUND = 10;
  localparam int EMU_OP_POW2 = 11;
  localparam int EMU_OP_E8M0_RULE = 12;
  localparam int EMU_OP_CAST = 13;
  localparam int EMU_OP_DECODE = 14;
  localparam int EMU_OP_SELECT = 15;
  localparam int EMU_OP_AMAX = 16;
  localparam int EMU_OP_SUM = 17;
  localparam int EMU_OP_TRANSFORM = 18;
  localparam int EMU_OP_LOG2 = 19;
  localparam int EMU_OP_NEAREST = 20;
  localparam int EMU_OP_WRAP = 21;
  localparam int EMU_NAN_PROPAGATE = 0;
  localparam int EMU_NAN_DROP = 1;
  localparam int EMU_BOUNDED = 0;
  localparam int EMU_UNBOUNDED = 1;
  localparam int EMU_SUM_EXACT = 0;
  localparam int EMU_SUM_SEQUENTIAL = 1;
  localparam int EMU_SUM_TREE = 2;
  localparam int EMU_SUM_HALVES = 3;
  localparam int EMU_SUM_BUTTERFLY = 4;
  localparam int EMU_TEST_NAN = 0;
  localparam int EMU_TEST_INF = 1;
  localparam int EMU_TEST_ZERO = 2;
  localparam int EMU_TEST_NEG = 3;
  localparam int EMU_TEST_LT = 4;
  localparam int EMU_TEST_LE = 5;
  localparam int EMU_TEST_GE = 6;
  localparam int EMU_RULE_FLOOR = 0;
  localparam int EMU_RULE_CEIL = 1;
  localparam int EMU_RULE_EVEN = 2;
  localparam int EMU_RULE_FIELD_UP = 3;
  localparam int EMU_TAIL_ERROR = 0;
  localparam int EMU_TAIL_KEEP = 1;
  localparam int EMU_TAIL_DROP = 2;
  localparam int EMU_MAX_DIGITS = 32;
  localparam int EMU_MAX_SIDE = 4096;
  localparam int EMU_MAX_TERMS = 1024;
  localparam int EMU_MAX_SPLIT = 8;
  localparam int EMU_WIDE_LIMBS = 20;
  localparam int EMU_APPLY_NONE = 0;
  localparam int EMU_APPLY_GROUP = 1;
  localparam int EMU_APPLY_PRODUCT = 2;
  localparam int EMU_APPLY_PROMOTE = 3;
  localparam int EMU_STATED = 0;
  localparam int EMU_DERIVED = 1;
  localparam int EMU_UNLIMITED = 2;
  localparam int EMU_ALIGN_RZ = 0;
  localparam int EMU_ALIGN_RD = 1;
  localparam int EMU_ALIGN_RNE = 2;
  localparam int EMU_C_ALIGNED = 0;
  localparam int EMU_C_ADDED = 1;
  localparam int EMU_C_REALIGNED = 2;
  localparam int EMU_C_LAST = 3;
  localparam int EMU_MAX_SUM_LEVELS = 16;
  localparam int EMU_HOLD_EXACT = 0;
  localparam int EMU_HOLD_FLOAT = 1;
  localparam int EMU_HOLD_FIXED = 2;
  localparam int EMU_HOLD_CUT = 3;
  localparam int EMU_BEYOND_INF = 0;
  localparam int EMU_BEYOND_IEEE = 1;
  localparam int EMU_BEYOND_MAX = 2;
  localparam int EMU_BEYOND_WRAP = 3;
  localparam int EMU_BEYOND_ERROR = 4;
  localparam int EMU_BEYOND_SYMMETRIC = 5;
  localparam int EMU_SUM_AT_ONCE = 0;
  localparam int EMU_SUM_ALIGNED = 1;
  localparam int EMU_SUM_CHAIN = 2;
  localparam int EMU_SUM_PAIRWISE = 3;
  localparam int EMU_OF_COUNT = 0;
  localparam int EMU_OF_ALL = 1;
  localparam int EMU_OF_BLOCK = 2;
  localparam int EMU_START_ZERO = 0;
  localparam int EMU_START_FIRST = 1;
  localparam int EMU_START_C = 2;
  localparam int EMU_RAISED_INVALID = 1;
  localparam int EMU_RAISED_OVERFLOW = 2;
  localparam int EMU_DO_CONVERT = 0;
  localparam int EMU_DO_NEGATE = 1;
  localparam int EMU_DO_ABS = 2;
  localparam int EMU_DO_RECIP = 3;
  localparam int EMU_DO_ADD = 4;
  localparam int EMU_DO_SUBTRACT = 5;
  localparam int EMU_DO_MULTIPLY = 6;
  localparam int EMU_DO_FMA = 7;
  localparam int EMU_DO_FAA = 8;
  localparam int EMU_DO_MINIMUM = 9;
  localparam int EMU_DO_MAXIMUM = 10;
  localparam int EMU_DO_MINIMUM_NUMBER = 11;
  localparam int EMU_DO_MAXIMUM_NUMBER = 12;
  localparam int EMU_DO_MINIMUM_MAGNITUDE = 13;
  localparam int EMU_DO_MAXIMUM_MAGNITUDE = 14;
  localparam int EMU_DO_MINIMUM_MAGNITUDE_NUMBER = 15;
  localparam int EMU_DO_MAXIMUM_MAGNITUDE_NUMBER = 16;
  localparam int EMU_DO_MINIMUM_FINITE = 17;
  localparam int EMU_DO_MAXIMUM_FINITE = 18;
  localparam int EMU_DO_SCALED_ADD = 19;
  localparam int EMU_DO_SCALED_SUBTRACT = 20;
  localparam int EMU_DO_SCALED_MULTIPLY = 21;
  localparam int EMU_DO_COMPARE_LESS = 22;
  localparam int EMU_DO_COMPARE_LESS_EQUAL = 23;
  localparam int EMU_DO_COMPARE_EQUAL = 24;
  localparam int EMU_DO_COMPARE_GREATER = 25;
  localparam int EMU_DO_COMPARE_GREATER_EQUAL = 26;
  localparam int EMU_DO_IS_ZERO = 27;
  localparam int EMU_DO_IS_ONE = 28;
  localparam int EMU_DO_IS_NAN = 29;
  localparam int EMU_DO_IS_INFINITE = 30;
  localparam int EMU_DO_IS_FINITE = 31;
  localparam int EMU_DO_IS_SIGN_MINUS = 32;
  localparam int EMU_DO_IS_NORMAL = 33;
  localparam int EMU_DO_IS_SUBNORMAL = 34;
  localparam int EMU_DO_NEXT_GREATER_THAN = 35;
  localparam int EMU_DO_NEXT_LESS_THAN = 36;
  localparam int EMU_MAX_OPERANDS = 4;
  localparam int EMU_OPERATE_BITS = 58;
  localparam int EMU_OPERATE_PRODUCT_BITS = 64;
  localparam int EMU_MAX_DESCRIPTOR = 1048576;
  localparam int EMU_DPI_ERROR_HANDLE = 64;
  localparam int EMU_DPI_ERROR_FILE = 65;
  localparam int EMU_DPI_SHIPPED = 0;
  localparam int EMU_DPI_LIBRARIES = 64;
  localparam int EMU_DPI_BITS = 8192;

  import "DPI-C" function int emu_check_format(input chandle format);
  import "DPI-C" function int emu_check_rounding(input chandle rounding, input chandle destination);
  import "DPI-C" function int emu_check_policy(input chandle policy, input chandle destination);
  import "DPI-C" function int emu_max_magnitude(input chandle format, input int sign, output longint unsigned magnitude);
  import "DPI-C" function int emu_encode_magnitude(input chandle format, input int sign, input longint unsigned magnitude,
      output longint unsigned code);
  import "DPI-C" function int emu_convert_code(input chandle source, input chandle destination, input chandle rounding,
      input chandle policy, input longint unsigned code, input int unsigned random, output longint unsigned converted,
      output byte unsigned open);
  import "DPI-C" function int emu_code_bytes(input chandle format, output int bytes);
  import "DPI-C" function int emu_check_transform(input chandle transform);
  import "DPI-C" function int emu_check_layout(input chandle layout);
  import "DPI-C" function int emu_layout_place(input chandle layout, input longint unsigned row, input longint unsigned index,
      input longint unsigned rows, input longint unsigned codes, output longint unsigned place);
  import "DPI-C" function int emu_layout_size(input chandle layout, input longint unsigned rows, input longint unsigned codes,
      output longint unsigned size);
  import "DPI-C" function int emu_layout_locate(input chandle layout, input longint unsigned place, input longint unsigned rows,
      input longint unsigned codes, output longint unsigned row, output longint unsigned index);
  import "DPI-C" function int emu_check_program(input chandle program_);
  import "DPI-C" function int emu_type_registers(input chandle program_, input chandle types);
  import "DPI-C" function int emu_check_dot_levels(input chandle levels);
  import "DPI-C" function chandle emu_find_format(input string id);
  import "DPI-C" function chandle emu_find_rounding(input string id);
  import "DPI-C" function chandle emu_find_word(input string rounding);
  import "DPI-C" function chandle emu_find_policy(input string id, input string destination);
  import "DPI-C" function chandle emu_find_transform(input string id);
  import "DPI-C" function chandle emu_find_recipe(input string id);
  import "DPI-C" function chandle emu_find_program(input string recipe, input string profile);
  import "DPI-C" function chandle emu_find_format_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_rounding_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_policy_in(input chandle library_, input string id, input string destination);
  import "DPI-C" function chandle emu_find_word_in(input chandle library_, input string rounding);
  import "DPI-C" function chandle emu_find_transform_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_block_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_layout_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_recipe_in(input chandle library_, input string id);
  import "DPI-C" function chandle emu_find_program_in(input chandle library_, input string recipe, input string profile);

  import "DPI-C" function int emu_dpi_open(input string path);
  import "DPI-C" function int emu_dpi_close(input int handle);
  import "DPI-C" function string emu_dpi_fault();
  import "DPI-C" function int emu_dpi_fault_line();
  import "DPI-C" function int emu_dpi_decode(input string format, input longint unsigned code, output int value_class, output int sign,
      output longint unsigned significand, output int lsb_exp);
  import "DPI-C" function int emu_dpi_decode_to(input string format, input string result, input longint unsigned code,
      output longint unsigned decoded);
  import "DPI-C" function int emu_dpi_convert(input string source, input string destination, input string rounding, input string policy,
      input longint unsigned code, input int unsigned random, output longint unsigned converted, output byte unsigned open);
  import "DPI-C" function int emu_dpi_quantize(input string recipe, input string source, input bit [EMU_DPI_BITS-1:0] x,
      input int columns, input int unsigned tensor_amax, input bit [EMU_DPI_BITS-1:0] random, output bit [EMU_DPI_BITS-1:0] codes,
      output bit [EMU_DPI_BITS-1:0] levels, output byte unsigned open);
  import "DPI-C" function int emu_dpi_dequantize(input string recipe, input string profile, input string result,
      input bit [EMU_DPI_BITS-1:0] codes, input bit [EMU_DPI_BITS-1:0] levels, output bit [EMU_DPI_BITS-1:0] values);
  import "DPI-C" function int emu_dpi_transform(input string transform, input string source, input bit [EMU_DPI_BITS-1:0] x,
      input bit [EMU_DPI_BITS-1:0] signs, output bit [EMU_DPI_BITS-1:0] y);
  import "DPI-C" function int emu_dpi_dot(input string datapath, input bit [EMU_DPI_BITS-1:0] a, input bit [EMU_DPI_BITS-1:0] scale_a,
      input bit [EMU_DPI_BITS-1:0] b, input bit [EMU_DPI_BITS-1:0] scale_b, input longint unsigned c, output longint unsigned d,
      output byte unsigned open);
  import "DPI-C" function int emu_dpi_decode_in(input int handle, input string format, input longint unsigned code,
      output int value_class, output int sign, output longint unsigned significand, output int lsb_exp);
  import "DPI-C" function int emu_dpi_decode_to_in(input int handle, input string format, input string result,
      input longint unsigned code, output longint unsigned decoded);
  import "DPI-C" function int emu_dpi_convert_in(input int handle, input string source, input string destination, input string rounding,
      input string policy, input longint unsigned code, input int unsigned random, output longint unsigned converted,
      output byte unsigned open);
  import "DPI-C" function int emu_dpi_quantize_in(input int handle, input string recipe, input string source,
      input bit [EMU_DPI_BITS-1:0] x, input int columns, input int unsigned tensor_amax, input bit [EMU_DPI_BITS-1:0] random,
      output bit [EMU_DPI_BITS-1:0] codes, output bit [EMU_DPI_BITS-1:0] levels, output byte unsigned open);
  import "DPI-C" function int emu_dpi_dequantize_in(input int handle, input string recipe, input string profile, input string result,
      input bit [EMU_DPI_BITS-1:0] codes, input bit [EMU_DPI_BITS-1:0] levels, output bit [EMU_DPI_BITS-1:0] values);
  import "DPI-C" function int emu_dpi_transform_in(input int handle, input string transform, input string source,
      input bit [EMU_DPI_BITS-1:0] x, input bit [EMU_DPI_BITS-1:0] signs, output bit [EMU_DPI_BITS-1:0] y);
  import "DPI-C" function int emu_dpi_layout_place_in(input int handle, input string layout, input longint unsigned row,
      input longint unsigned index, input longint unsigned rows, input longint unsigned codes, output longint unsigned place);
  import "DPI-C" function int emu_dpi_layout_size_in(input int handle, input string layout, input longint unsigned rows,
      input longint unsigned codes, output longint unsigned size);
  import "DPI-C" function int emu_dpi_layout_locate_in(input int handle, input string layout, input longint unsigned place,
      input longint unsigned rows, input longint unsigned codes, output longint unsigned row, output longint unsigned index);
  import "DPI-C" function int emu_dpi_dot_in(input int handle, input string datapath, input int products, input bit [EMU_DPI_BITS-1:0] a,
      input bit [EMU_DPI_BITS-1:0] scale_a, input bit [EMU_DPI_BITS-1:0] b, input bit [EMU_DPI_BITS-1:0] scale_b,
      input longint unsigned c, input bit [EMU_DPI_BITS-1:0] random, output longint unsigned d, output int unsigned flags,
      output byte unsigned open);
  import "DPI-C" function int emu_dpi_dot_row_in(input int handle, input string datapath, input int products, output int row_products,
      output int draws, output int draw_bits, output int unsigned flags, output byte unsigned any_nan);

  // not here, because they take structs or arrays:
  //   emu_decode_code
  //   emu_round_value
  //   emu_overflow_magnitude
  //   emu_encode_value
  //   emu_decode_array
  //   emu_decode_to_array
  //   emu_convert_array
  //   emu_split_words
  //   emu_calculate_array
  //   emu_operate_array
  //   emu_transform_matrix
  //   emu_count_workspace
  //   emu_quantize
  //   emu_dequantize
  //   emu_trace_quantize
  //   emu_trace_dequantize
  //   emu_check_datapath
  //   emu_derive_widths
  //   emu_dot
  //   emu_matmul
  //   emu_finish_register
  //   emu_alpha
  //   emu_epilogue
  //   emu_add_results
  //   emu_count_dot_levels
  //   emu_dot_levels
  //   emu_dot_levels_flags
  //   emu_find_stage
  //   emu_trace_levels
  //   emu_find_datapath
  //   emu_measure_descriptor
  //   emu_load_descriptor
  //   emu_write_descriptor
  //   emu_find_datapath_in
  //   emu_find_levels_in
endpackage
