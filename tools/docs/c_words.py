"""The words of emu_ref.h for the numbers in its structs, and which fields are written when they are 0."""

from __future__ import annotations

from typing import Any, Final

from emu.engines.c_ref._c import lib

# Fields whose numbers have names, and the names; their order does not matter.
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "emu_format.format_class": ("EMU_FLOAT", "EMU_INTEGER", "EMU_EXPONENT", "EMU_CODEBOOK"),
    "emu_format.inf": ("EMU_INF_NONE", "EMU_INF_IEEE", "EMU_INF_TOP"),
    "emu_format.nan": ("EMU_NAN_NONE", "EMU_NAN_IEEE", "EMU_NAN_LIST"),
    "emu_format.integer_sign": ("EMU_TWOS_COMPLEMENT", "EMU_SIGN_MAGNITUDE", "EMU_UNSIGNED"),
    "emu_format.tie": ("EMU_TIE_EVEN_CODE", "EMU_TIE_LOWER", "EMU_TIE_AWAY"),
    "emu_rounding.choice": ("EMU_KEEP", "EMU_NEXT", "EMU_TO_EVEN_CODE", "EMU_TO_ODD_CODE"),
    "emu_rounding.add": ("EMU_ADD_NONE", "EMU_ADD_CARRY", "EMU_ADD_COMPARE", "EMU_ADD_HALF", "EMU_ADD_TE_FMA", "EMU_ADD_NEAREST"),
    "emu_rounding.beyond_max": ("EMU_STOP_AT_MAX", "EMU_GO_AWAY", "EMU_STOP_AT_ODD"),
    "emu_policy.overflow": ("EMU_SATURATE", "EMU_TO_INF", "EMU_TO_NAN", "EMU_IEEE_INF", "EMU_IEEE_NAN", "EMU_WRAP"),
    "emu_special.rule": ("EMU_BY_RULE", "EMU_BY_CODE", "EMU_IS_OPEN", "EMU_IS_REFUSED", "EMU_BY_ROUNDED"),
    "emu_transform.order": ("EMU_SUM_EXACT", "EMU_SUM_SEQUENTIAL", "EMU_SUM_BUTTERFLY"),
    "emu_program.tail": ("EMU_TAIL_ERROR", "EMU_TAIL_KEEP", "EMU_TAIL_DROP"),
    "emu_datapath.apply": ("EMU_APPLY_NONE", "EMU_APPLY_GROUP", "EMU_APPLY_PRODUCT", "EMU_APPLY_PROMOTE"),
    "emu_datapath.frac_rule": ("EMU_STATED", "EMU_DERIVED", "EMU_UNLIMITED"),
    "emu_datapath.integer_rule": ("EMU_STATED", "EMU_DERIVED", "EMU_UNLIMITED"),
    "emu_datapath.floor_rule": ("EMU_STATED", "EMU_DERIVED", "EMU_UNLIMITED"),
    "emu_datapath.align_mode": ("EMU_ALIGN_RZ", "EMU_ALIGN_RD", "EMU_ALIGN_RNE"),
    "emu_datapath.c_kind": ("EMU_C_ALIGNED", "EMU_C_ADDED", "EMU_C_REALIGNED", "EMU_C_LAST"),
    "emu_step.operation": tuple(
        f"EMU_OP_{name}"
        for name in (
            *("ADD", "SUB", "MUL", "DIV", "FMA", "ABS", "NEG", "MIN", "MAX", "CLAMP", "ROUND", "POW2"),
            *("E8M0_RULE", "CAST", "DECODE", "SELECT", "AMAX", "SUM", "TRANSFORM", "LOG2", "NEAREST", "WRAP"),
        )
    ),
}
# What the variant of a step means, by its operation.
_NAN: Final = ("EMU_NAN_PROPAGATE", "EMU_NAN_DROP")
VARIANTS: Final[dict[int, tuple[str, ...]]] = {
    **dict.fromkeys((lib.EMU_OP_MIN, lib.EMU_OP_MAX, lib.EMU_OP_CLAMP, lib.EMU_OP_AMAX), _NAN),
    lib.EMU_OP_ROUND: ("EMU_BOUNDED", "EMU_UNBOUNDED"),
    lib.EMU_OP_SUM: ("EMU_SUM_EXACT", "EMU_SUM_SEQUENTIAL", "EMU_SUM_TREE", "EMU_SUM_HALVES"),
    lib.EMU_OP_SELECT: tuple(f"EMU_TEST_{name}" for name in ("NAN", "INF", "ZERO", "NEG", "LT", "LE", "GE")),
    lib.EMU_OP_E8M0_RULE: tuple(f"EMU_RULE_{name}" for name in ("FLOOR", "CEIL", "EVEN", "FIELD_UP")),
}
# Fields that are written even when they are 0, because 0 is a word or a number that the reader looks for.
ALWAYS: Final = {
    *("emu_format.format_class", "emu_rounding.choice", "emu_rounding.beyond_max", "emu_policy.overflow", "emu_transform.order"),
    *("emu_register.rows", "emu_register.columns", "emu_step.operation", "emu_step.out", "emu_step.args", "emu_step.random"),
    *("emu_layout.holds_scales", "emu_digit.is_row", "emu_digit.count"),
    *("emu_level.reg", "emu_level.rows", "emu_level.columns", "emu_program.tail"),
    *(f"emu_datapath.{name}" for name in ("apply", "frac_rule", "integer_rule", "floor_rule", "align_mode", "c_kind")),
    *(f"emu_program.{name}" for name in ("x", "tensor_amax", "random", "codes", "values")),
}
HEX: Final = {
    *("emu_format.nan_codes", "emu_special.code", "emu_register.bits", "emu_transform.signs"),
    *("emu_program.tensor_amax_min", "emu_datapath.nan_code"),
}


def number(where: str, value: int, struct: Any) -> str:
    """Return the text of a number. where: struct and field, as "emu_step.out"; struct: the one it is in."""
    words = VARIANTS.get(struct.operation, ()) if where == "emu_step.variant" else WORDS.get(where, ())
    for word in words:
        if getattr(lib, word) == value:
            return word
    return hex(value) if where in HEX else str(value)
