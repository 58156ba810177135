from typing import Any, Final

class _Ffi:
    NULL: Any
    def new(self, declaration: str, initial: Any = ...) -> Any: ...
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
    emu_kernels_digest: Any
    def emu_best_form(self) -> int: ...
    def emu_check_floats(self) -> int: ...
    def emu_convert_4bit(self, form: int, thresholds: Any, source: int, x: Any, count: int, packed: int, codes: Any, marks: Any) -> int: ...
    def emu_decode_4bit(self, form: int, table: Any, codes: Any, count: int, packed: int, values: Any) -> int: ...
    def emu_read_4_write_1(self, form: int, x: Any, count: int, out: Any) -> int: ...

ffi: Final[_Ffi]
lib: Final[_Lib]
