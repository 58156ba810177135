"""Classes of failures: what kind of input or answer a difference belongs to. The list, and how one difference is put into it."""

from __future__ import annotations

from typing import Final

CLASSES: Final = {
    "layout": "scale codes are right but in other places: transposed, swizzled or not",
    "nibble_order": "element codes are right but the two halves of each byte are exchanged",
    "nan": "NaN among the inputs, or NaN given or missing",
    "inf": "infinity among the inputs",
    "minus_zero": "only the sign of a zero differs",
    "sign": "only the sign differs",
    "zero_block": "a block of zeros",
    "tail": "the last, short block of a row",
    "scale_saturation": "the scale is the largest or the smallest code of its format",
    "scale": "another scale",
    "overflow": "beyond the largest number",
    "subnormal": "a subnormal source or result",
    "tie": "exactly half way between two codes",
    "double_rounding": "rounded to a narrower float first",
    "random": "stochastic rounding: the random operand, or its distribution",
    "code": "another code",
    "value": "another value",
}
