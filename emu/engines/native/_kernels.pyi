from typing import Any, Final

class _Ffi:
    NULL: Any
    def new(self, declaration: str, initial: Any = ...) -> Any: ...
    def cast(self, declaration: str, value: Any) -> Any: ...
    def from_buffer(self, declaration: str, buffer: Any, require_writable: bool = ...) -> Any: ...
    def string(self, data: Any, limit: int = ...) -> bytes: ...

class _Lib:
    EMU_PORTABLE: Final[int]
    EMU_AVX2: Final[int]
    EMU_AVX512: Final[int]
    EMU_KERNEL_OK: Final[int]
    EMU_KERNEL_ARGUMENT: Final[int]
    EMU_KERNEL_FORM: Final[int]
    EMU_KERNEL_FLUSHED: Final[int]
    EMU_KERNEL_ROUNDING: Final[int]
    EMU_KERNEL_WIDER: Final[int]
    EMU_SOURCE_FP32: Final[int]
    EMU_SOURCE_BF16: Final[int]
    EMU_SOURCE_FP16: Final[int]
    EMU_MARK_OPEN: Final[int]
    EMU_MARK_REFUSED: Final[int]
    EMU_MAX_THRESHOLDS: Final[int]
    EMU_STEP_ADD: Final[int]
    EMU_STEP_SUB: Final[int]
    EMU_STEP_MUL: Final[int]
    EMU_STEP_DIV: Final[int]
    EMU_STEP_MIN: Final[int]
    EMU_STEP_MAX: Final[int]
    EMU_STEP_CLAMP: Final[int]
    EMU_STEP_ABS: Final[int]
    EMU_STEP_NEG: Final[int]
    EMU_STEP_SELECT: Final[int]
    EMU_STEP_CAST: Final[int]
    EMU_STEP_DECODE: Final[int]
    EMU_STEP_E8M0: Final[int]
    EMU_STEP_CAST_FLOAT: Final[int]
    EMU_STEP_DECODE_FLOAT: Final[int]
    EMU_STEP_CAST_SIGNED: Final[int]
    EMU_STEP_DECODE_SIGNED: Final[int]
    EMU_STEP_CAST_OPEN: Final[int]
    EMU_STEP_DECODE_OPEN: Final[int]
    EMU_STEP_ROUND_BF16: Final[int]
    EMU_STEP_ROUND_GRID: Final[int]
    EMU_STEP_MUL_BF16: Final[int]
    EMU_STEP_DIV_BF16: Final[int]
    EMU_STEP_NEAREST: Final[int]
    EMU_STEP_AMAX: Final[int]
    EMU_STEP_SUM: Final[int]
    EMU_STEP_CLAMP_NUMBERS: Final[int]
    EMU_STEP_CAST_INTEGER: Final[int]
    EMU_STEP_DECODE_INTEGER: Final[int]
    EMU_TO_EVEN: Final[int]
    EMU_TO_ZERO: Final[int]
    EMU_TO_AWAY: Final[int]
    EMU_TO_EVEN_WRAPPED: Final[int]
    EMU_ADDS_IN_TURN: Final[int]
    EMU_ADDS_IN_HALVES: Final[int]
    EMU_ADDS_AS_TREE: Final[int]
    EMU_ACROSS: Final[int]
    EMU_TILE_TERMS: Final[int]
    EMU_TILE_PARTS: Final[int]
    EMU_TREE_PARTS: Final[int]
    EMU_TILE_OPEN: Final[int]
    EMU_NAN_PROPAGATES: Final[int]
    EMU_NAN_DROPS: Final[int]
    EMU_TEST_ZERO: Final[int]
    EMU_TEST_NAN: Final[int]
    EMU_TEST_INF: Final[int]
    EMU_TEST_NEG: Final[int]
    EMU_TEST_LT: Final[int]
    EMU_TEST_LE: Final[int]
    EMU_TEST_GE: Final[int]
    EMU_RULE_FLOOR: Final[int]
    EMU_RULE_CEIL: Final[int]
    EMU_RULE_EVEN: Final[int]
    EMU_RULE_FIELD_UP: Final[int]
    EMU_LANES: Final[int]
    EMU_MAX_REGISTERS: Final[int]
    EMU_SUM_BUTTERFLY: Final[int]
    EMU_SUM_SEQUENTIAL: Final[int]
    EMU_SUM_EXACT: Final[int]
    EMU_DOT_LANES: Final[int]
    EMU_DOT_MAX_TERMS: Final[int]
    EMU_DOT_DEAD: Final[int]
    EMU_KIND_NUMBER: Final[int]
    EMU_KIND_NAN: Final[int]
    EMU_KIND_INF: Final[int]
    EMU_KIND_ZERO: Final[int]
    EMU_KIND_MINUS: Final[int]
    EMU_HOLD_BY_MASKS: Final[int]
    EMU_HOLD_NEAREST: Final[int]
    EMU_HOLD_CUT: Final[int]
    EMU_HOLD_DRAWS: Final[int]
    EMU_HOLD_SINGLE: Final[int]
    EMU_DRAW_ADD: Final[int]
    EMU_DRAW_CMP: Final[int]
    EMU_DRAW_HALF: Final[int]
    EMU_KEEPS_FLOAT: Final[int]
    EMU_KEEPS_DIGITS: Final[int]
    EMU_KEEPS_BELOW: Final[int]
    EMU_KEEPS_FIXED: Final[int]
    EMU_FLAG_INVALID: Final[int]
    EMU_FLAG_OVERFLOW: Final[int]
    EMU_ADDS_EXACT: Final[int]
    EMU_ADDS_ALIGNED: Final[int]
    EMU_ADDS_CHAIN: Final[int]
    EMU_ADDS_PAIRS: Final[int]
    EMU_BEYOND_STOPS: Final[int]
    EMU_BEYOND_WRAPS: Final[int]
    EMU_BEYOND_INFINITE: Final[int]
    EMU_BEYOND_FAILS: Final[int]
    emu_kernels_digest: Any
    def emu_best_form(self) -> int: ...
    def emu_check_floats(self) -> int: ...
    def emu_convert_4bit(self, form: int, thresholds: Any, source: int, x: Any, count: int, packed: int, codes: Any, marks: Any) -> int: ...
    def emu_convert_8bit(self, form: int, table: Any, marks_table: Any, source: int, x: Any, count: int, codes: Any, marks: Any) -> int: ...
    def emu_decode_4bit(self, form: int, table: Any, codes: Any, count: int, packed: int, values: Any) -> int: ...
    def emu_amax(self, form: int, source: int, x: Any, count: int, magnitude: Any) -> int: ...
    def emu_run_steps(self, form: int, steps: Any, step_count: int, count: int, registers: Any) -> int: ...
    def emu_run_tiles(self, form: int, steps: Any, step_count: int, room_rows: int, room: Any) -> int: ...
    def emu_quantize_tiles(
        self,
        form: int,
        plan: Any,
        source: int,
        x: Any,
        tiles_down: int,
        tiles_right: int,
        along_rows: int,
        outputs: Any,
        room: Any,
        marks: Any,
    ) -> int: ...
    def emu_quantize_4bit(
        self,
        form: int,
        plan: Any,
        source: int,
        x: Any,
        rows: int,
        columns: int,
        along_rows: int,
        random: Any,
        codes: Any,
        levels: Any,
        tensor: Any,
        marks: Any,
    ) -> int: ...
    def emu_random_bytes(self, form: int, key: int, stream: int, groups: int, mask: int, out: Any) -> int: ...
    def emu_dequantize_4bit(
        self, form: int, plan: Any, codes: Any, rows: int, columns: int, along_rows: int, levels: Any, values: Any
    ) -> int: ...
    def emu_rotate(self, form: int, rotation: Any, source: int, x: Any, groups: int, y: Any, left: Any) -> int: ...
    def emu_dot_room(self, plan: Any, rows: int, columns: int, k: int) -> int: ...
    def emu_dot_panel(
        self,
        form: int,
        plan: Any,
        a: Any,
        b: Any,
        scale_a: Any,
        scale_b: Any,
        rows: int,
        columns: int,
        k: int,
        paired: int,
        d: Any,
        d_stride: int,
        room: Any,
    ) -> int: ...
    def emu_dot_epilogue(self, plan: Any, alpha: int, d: Any, c: Any, count: int, fused: int, out: Any) -> int: ...
    def emu_levels_room(self, plan: Any, rows: int, columns: int, k: int) -> int: ...
    def emu_levels_panel(
        self,
        form: int,
        plan: Any,
        a: Any,
        b: Any,
        scale_a: Any,
        scale_b: Any,
        rows: int,
        columns: int,
        k: int,
        paired: int,
        c: Any,
        random: Any,
        d: Any,
        flags: Any,
        failed: Any,
        room: Any,
    ) -> int: ...
    def emu_read_4_write_1(self, form: int, x: Any, count: int, out: Any) -> int: ...

ffi: Final[_Ffi]
lib: Final[_Lib]
