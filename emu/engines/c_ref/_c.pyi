from typing import Any, Final

class _Ffi:
    NULL: Any
    CData: Any
    def new(self, declaration: str, initial: Any = ...) -> Any: ...
    def from_buffer(self, declaration: str, buffer: Any, require_writable: bool = ...) -> Any: ...
    def cast(self, declaration: str, value: Any) -> Any: ...
    def string(self, data: Any, limit: int = ...) -> bytes: ...
    def typeof(self, declaration: str, /) -> Any: ...
    def sizeof(self, declaration: str) -> int: ...

class _Lib:
    EMU_OK: Final[int]
    EMU_ERROR_NULL: Final[int]
    EMU_ERROR_FORMAT: Final[int]
    EMU_ERROR_ROUNDING: Final[int]
    EMU_ERROR_POLICY: Final[int]
    EMU_ERROR_CODE: Final[int]
    EMU_ERROR_RANDOM: Final[int]
    EMU_ERROR_GRID: Final[int]
    EMU_ERROR_OPEN: Final[int]
    EMU_ERROR_REFUSED: Final[int]
    EMU_ERROR_PROGRAM: Final[int]
    EMU_ERROR_SHAPE: Final[int]
    EMU_ERROR_SPACE: Final[int]
    EMU_ERROR_DATAPATH: Final[int]
    EMU_ERROR_OVERFLOW: Final[int]
    EMU_ERROR_NAME: Final[int]
    EMU_ERROR_DESCRIPTOR: Final[int]
    EMU_ERROR_LAYOUT: Final[int]
    EMU_MAX_DIGITS: Final[int]
    EMU_MAX_SIDE: Final[int]
    EMU_MAX_DESCRIPTOR: Final[int]
    EMU_MAX_TERMS: Final[int]
    EMU_MAX_SPLIT: Final[int]
    EMU_WIDE_LIMBS: Final[int]
    EMU_APPLY_NONE: Final[int]
    EMU_APPLY_GROUP: Final[int]
    EMU_APPLY_PRODUCT: Final[int]
    EMU_APPLY_PROMOTE: Final[int]
    EMU_STATED: Final[int]
    EMU_DERIVED: Final[int]
    EMU_UNLIMITED: Final[int]
    EMU_ALIGN_RZ: Final[int]
    EMU_ALIGN_RD: Final[int]
    EMU_ALIGN_RNE: Final[int]
    EMU_C_ALIGNED: Final[int]
    EMU_C_ADDED: Final[int]
    EMU_C_REALIGNED: Final[int]
    EMU_C_LAST: Final[int]
    EMU_MAX_SUM_LEVELS: Final[int]
    EMU_HOLD_EXACT: Final[int]
    EMU_HOLD_FLOAT: Final[int]
    EMU_HOLD_FIXED: Final[int]
    EMU_HOLD_CUT: Final[int]
    EMU_BEYOND_INF: Final[int]
    EMU_BEYOND_IEEE: Final[int]
    EMU_BEYOND_MAX: Final[int]
    EMU_BEYOND_WRAP: Final[int]
    EMU_BEYOND_ERROR: Final[int]
    EMU_BEYOND_SYMMETRIC: Final[int]
    EMU_RAISED_INVALID: Final[int]
    EMU_RAISED_OVERFLOW: Final[int]
    EMU_SUM_AT_ONCE: Final[int]
    EMU_SUM_ALIGNED: Final[int]
    EMU_SUM_CHAIN: Final[int]
    EMU_SUM_PAIRWISE: Final[int]
    EMU_OF_COUNT: Final[int]
    EMU_OF_ALL: Final[int]
    EMU_OF_BLOCK: Final[int]
    EMU_START_ZERO: Final[int]
    EMU_START_FIRST: Final[int]
    EMU_START_C: Final[int]
    EMU_OP_ADD: Final[int]
    EMU_OP_SUB: Final[int]
    EMU_OP_MUL: Final[int]
    EMU_OP_DIV: Final[int]
    EMU_OP_FMA: Final[int]
    EMU_OP_ABS: Final[int]
    EMU_OP_NEG: Final[int]
    EMU_OP_MIN: Final[int]
    EMU_OP_MAX: Final[int]
    EMU_OP_CLAMP: Final[int]
    EMU_OP_ROUND: Final[int]
    EMU_OP_POW2: Final[int]
    EMU_OP_E8M0_RULE: Final[int]
    EMU_OP_CAST: Final[int]
    EMU_OP_DECODE: Final[int]
    EMU_OP_SELECT: Final[int]
    EMU_OP_AMAX: Final[int]
    EMU_OP_SUM: Final[int]
    EMU_OP_TRANSFORM: Final[int]
    EMU_OP_LOG2: Final[int]
    EMU_OP_NEAREST: Final[int]
    EMU_OP_WRAP: Final[int]
    EMU_DO_CONVERT: Final[int]
    EMU_DO_NEGATE: Final[int]
    EMU_DO_ABS: Final[int]
    EMU_DO_RECIP: Final[int]
    EMU_DO_ADD: Final[int]
    EMU_DO_SUBTRACT: Final[int]
    EMU_DO_MULTIPLY: Final[int]
    EMU_DO_FMA: Final[int]
    EMU_DO_FAA: Final[int]
    EMU_DO_MINIMUM: Final[int]
    EMU_DO_MAXIMUM: Final[int]
    EMU_DO_MINIMUM_NUMBER: Final[int]
    EMU_DO_MAXIMUM_NUMBER: Final[int]
    EMU_DO_MINIMUM_MAGNITUDE: Final[int]
    EMU_DO_MAXIMUM_MAGNITUDE: Final[int]
    EMU_DO_MINIMUM_MAGNITUDE_NUMBER: Final[int]
    EMU_DO_MAXIMUM_MAGNITUDE_NUMBER: Final[int]
    EMU_DO_MINIMUM_FINITE: Final[int]
    EMU_DO_MAXIMUM_FINITE: Final[int]
    EMU_DO_SCALED_ADD: Final[int]
    EMU_DO_SCALED_SUBTRACT: Final[int]
    EMU_DO_SCALED_MULTIPLY: Final[int]
    EMU_DO_COMPARE_LESS: Final[int]
    EMU_DO_COMPARE_LESS_EQUAL: Final[int]
    EMU_DO_COMPARE_EQUAL: Final[int]
    EMU_DO_COMPARE_GREATER: Final[int]
    EMU_DO_COMPARE_GREATER_EQUAL: Final[int]
    EMU_DO_IS_ZERO: Final[int]
    EMU_DO_IS_ONE: Final[int]
    EMU_DO_IS_NAN: Final[int]
    EMU_DO_IS_INFINITE: Final[int]
    EMU_DO_IS_FINITE: Final[int]
    EMU_DO_IS_SIGN_MINUS: Final[int]
    EMU_DO_IS_NORMAL: Final[int]
    EMU_DO_IS_SUBNORMAL: Final[int]
    EMU_DO_NEXT_GREATER_THAN: Final[int]
    EMU_DO_NEXT_LESS_THAN: Final[int]
    EMU_MAX_OPERANDS: Final[int]
    EMU_OPERATE_BITS: Final[int]
    EMU_OPERATE_PRODUCT_BITS: Final[int]
    EMU_TEST_NAN: Final[int]
    EMU_TEST_INF: Final[int]
    EMU_TEST_ZERO: Final[int]
    EMU_TEST_NEG: Final[int]
    EMU_TEST_LT: Final[int]
    EMU_TEST_LE: Final[int]
    EMU_TEST_GE: Final[int]
    EMU_RULE_FLOOR: Final[int]
    EMU_RULE_CEIL: Final[int]
    EMU_RULE_EVEN: Final[int]
    EMU_RULE_FIELD_UP: Final[int]
    EMU_NAN_PROPAGATE: Final[int]
    EMU_NAN_DROP: Final[int]
    EMU_BOUNDED: Final[int]
    EMU_UNBOUNDED: Final[int]
    EMU_SUM_EXACT: Final[int]
    EMU_SUM_SEQUENTIAL: Final[int]
    EMU_SUM_TREE: Final[int]
    EMU_SUM_HALVES: Final[int]
    EMU_SUM_BUTTERFLY: Final[int]
    EMU_TAIL_ERROR: Final[int]
    EMU_TAIL_KEEP: Final[int]
    EMU_TAIL_DROP: Final[int]
    EMU_MAX_NAN_CODES: Final[int]
    EMU_MAX_CODEBOOK: Final[int]
    EMU_MAX_RANDOM_BITS: Final[int]
    EMU_MAX_VALUE_BITS: Final[int]
    EMU_FLOAT: Final[int]
    EMU_INTEGER: Final[int]
    EMU_EXPONENT: Final[int]
    EMU_CODEBOOK: Final[int]
    EMU_TWOS_COMPLEMENT: Final[int]
    EMU_SIGN_MAGNITUDE: Final[int]
    EMU_UNSIGNED: Final[int]
    EMU_INF_NONE: Final[int]
    EMU_INF_IEEE: Final[int]
    EMU_INF_TOP: Final[int]
    EMU_NAN_NONE: Final[int]
    EMU_NAN_IEEE: Final[int]
    EMU_NAN_LIST: Final[int]
    EMU_TIE_EVEN_CODE: Final[int]
    EMU_TIE_LOWER: Final[int]
    EMU_TIE_AWAY: Final[int]
    EMU_ZERO: Final[int]
    EMU_SUBNORMAL: Final[int]
    EMU_NORMAL: Final[int]
    EMU_INFINITE: Final[int]
    EMU_NAN: Final[int]
    EMU_OPEN: Final[int]
    EMU_KEEP: Final[int]
    EMU_NEXT: Final[int]
    EMU_TO_EVEN_CODE: Final[int]
    EMU_TO_ODD_CODE: Final[int]
    EMU_LESS_THAN_HALF: Final[int]
    EMU_AT_HALF: Final[int]
    EMU_MORE_THAN_HALF: Final[int]
    EMU_ADD_NONE: Final[int]
    EMU_ADD_CARRY: Final[int]
    EMU_ADD_COMPARE: Final[int]
    EMU_ADD_HALF: Final[int]
    EMU_ADD_TE_FMA: Final[int]
    EMU_ADD_NEAREST: Final[int]
    EMU_STOP_AT_MAX: Final[int]
    EMU_GO_AWAY: Final[int]
    EMU_STOP_AT_ODD: Final[int]
    EMU_SATURATE: Final[int]
    EMU_TO_INF: Final[int]
    EMU_TO_NAN: Final[int]
    EMU_IEEE_INF: Final[int]
    EMU_IEEE_NAN: Final[int]
    EMU_WRAP: Final[int]
    EMU_BY_RULE: Final[int]
    EMU_BY_CODE: Final[int]
    EMU_IS_OPEN: Final[int]
    EMU_IS_REFUSED: Final[int]
    EMU_BY_ROUNDED: Final[int]
    emu_convert_digest: Any
    emu_source_digest: Any
    def emu_check_format(self, fmt: Any, /) -> int: ...
    def emu_check_rounding(self, rounding: Any, destination: Any, /) -> int: ...
    def emu_check_policy(self, policy: Any, destination: Any, /) -> int: ...
    def emu_max_magnitude(self, fmt: Any, sign: int, magnitude: Any, /) -> int: ...
    def emu_find_format(self, name: bytes, /) -> Any: ...
    def emu_find_rounding(self, name: bytes, /) -> Any: ...
    def emu_find_word(self, rounding: bytes, /) -> Any: ...
    def emu_find_policy(self, name: bytes, destination: bytes, /) -> Any: ...
    def emu_find_transform(self, name: bytes, /) -> Any: ...
    def emu_find_recipe(self, name: bytes, /) -> Any: ...
    def emu_find_program(self, recipe: bytes, profile: Any, /) -> Any: ...
    def emu_find_datapath(self, name: Any, datapath: Any, /) -> int: ...
    def emu_measure_descriptor(self, text: bytes, length: int, size: Any, /) -> int: ...
    def emu_load_descriptor(self, text: bytes, length: int, memory: Any, size: int, library: Any, fault: Any, /) -> int: ...
    def emu_write_descriptor(self, library: Any, text: Any, size: int, length: Any, /) -> int: ...
    def emu_find_format_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_rounding_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_policy_in(self, library: Any, name: bytes, destination: bytes, /) -> Any: ...
    def emu_find_word_in(self, library: Any, rounding: bytes, /) -> Any: ...
    def emu_find_transform_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_block_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_layout_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_recipe_in(self, library: Any, name: bytes, /) -> Any: ...
    def emu_find_program_in(self, library: Any, recipe: bytes, profile: Any, /) -> Any: ...
    def emu_find_datapath_in(self, library: Any, name: Any, datapath: Any, /) -> int: ...
    def emu_find_levels_in(self, library: Any, name: Any, levels: Any, /) -> int: ...
    def emu_check_datapath(self, datapath: Any, /) -> int: ...
    def emu_derive_widths(self, datapath: Any, widths: Any, /) -> int: ...
    def emu_dot(self, datapath: Any, /, *operands: Any) -> int: ...
    def emu_check_dot_levels(self, levels: Any, /) -> int: ...
    def emu_count_dot_levels(self, levels: Any, products: int, draws: Any, numbers: Any, /) -> int: ...
    def emu_dot_levels(self, levels: Any, /, *operands: Any) -> int: ...
    def emu_dot_levels_flags(self, levels: Any, /, *operands: Any) -> int: ...
    def emu_find_stage(self, levels: Any, products: int, level: int, node: int, addition: int, place: Any, /) -> int: ...
    def emu_trace_levels(self, levels: Any, /, *operands: Any) -> int: ...
    def emu_trace_quantize(self, program: Any, /, *operands: Any) -> int: ...
    def emu_trace_dequantize(self, program: Any, /, *operands: Any) -> int: ...
    def emu_matmul(self, datapath: Any, /, *operands: Any) -> int: ...
    def emu_finish_register(self, datapath: Any, total: Any, c: int, code: Any, /) -> int: ...
    def emu_alpha(self, datapath: Any, facts: Any, scale_a: int, scale_b: int, alpha: Any, /) -> int: ...
    def emu_epilogue(self, datapath: Any, facts: Any, x: Any, alpha: int, c: Any, d: Any, /) -> int: ...
    def emu_add_results(self, datapath: Any, /, *operands: Any) -> int: ...
    def emu_decode_code(self, fmt: Any, code: int, value: Any, /) -> int: ...
    def emu_round_value(self, destination: Any, rounding: Any, value: Any, random: int, rounded: Any, /) -> int: ...
    def emu_overflow_magnitude(
        self, destination: Any, rounding: Any, policy: Any, sign: int, rounded: Any, code: Any, opened: Any, /
    ) -> int: ...
    def emu_encode_magnitude(self, fmt: Any, sign: int, magnitude: int, code: Any, /) -> int: ...
    def emu_encode_value(self, fmt: Any, value: Any, code: Any, /) -> int: ...
    def emu_convert_code(
        self, source: Any, destination: Any, rounding: Any, policy: Any, code: int, random: int, converted: Any, opened: Any, /
    ) -> int: ...
    def emu_code_bytes(self, fmt: Any, found: Any, /) -> int: ...
    def emu_decode_array(self, fmt: Any, codes: Any, count: int, sign: Any, significand: Any, lsb_exp: Any, value_class: Any, /) -> int: ...
    def emu_decode_to_array(self, fmt: Any, result: Any, codes: Any, count: int, decoded: Any, /) -> int: ...
    def emu_convert_array(
        self, source: Any, destination: Any, rounding: Any, policy: Any, codes: Any, random: Any, count: int, converted: Any, opened: Any, /
    ) -> int: ...
    def emu_split_words(self, words: Any, positions: Any, lanes: int, random_bits: int, count: int, random: Any, /) -> int: ...
    def emu_calculate_array(
        self, operation: int, fmt: Any, to: Any, rounding: Any, variant: int, a: Any, b: Any, c: Any, count: int, result: Any, /
    ) -> int: ...
    def emu_operate_array(
        self, operation: int, operands: Any, to: Any, rounding: Any, policy: Any, count: int, result: Any, opened: Any, /
    ) -> int: ...
    def emu_check_transform(self, transform: Any, /) -> int: ...
    def emu_check_layout(self, layout: Any, /) -> int: ...
    def emu_layout_place(self, layout: Any, row: int, index: int, rows: int, codes: int, place: Any, /) -> int: ...
    def emu_type_registers(self, program: Any, types: Any, /) -> int: ...
    def emu_transform_matrix(self, source: Any, transform: Any, signs: Any, x: Any, y: Any, /) -> int: ...
    def emu_layout_size(self, layout: Any, rows: int, codes: int, size: Any, /) -> int: ...
    def emu_layout_locate(self, layout: Any, place: int, rows: int, codes: int, row: Any, index: Any, /) -> int: ...
    def emu_check_program(self, program: Any, /) -> int: ...
    def emu_count_workspace(self, program: Any, columns: int, words: Any, /) -> int: ...
    def emu_quantize(
        self, program: Any, source: Any, x: Any, amax: Any, random: Any, signs: Any, codes: Any, levels: Any, work: Any, words: int, /
    ) -> int: ...
    def emu_dequantize(self, program: Any, codes: Any, levels: Any, result: Any, values: Any, work: Any, words: int, /) -> int: ...

ffi: _Ffi
lib: _Lib
