"""Flags of rows: what each row is about, and which classes of faults it kills (`emu-kill-1`). Every flag in use is defined here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

KILL_CLASSES: Final = (
    "tie", "sticky", "double_round", "carry", "saturate", "overflow_mode", "round_mode", "subnormal", "flush", "zero_sign", "inf", "nan",
    "scale_special", "decode", "packing", "acc_width", "align", "floor", "live", "order", "sr_threshold", "sr_op", "latency",
)  # fmt: skip
KINDS: Final = ("BASIC", "BOUNDARY", "SPECIAL", "TIE", "STICKY", "OVERFLOW", "UNDERFLOW", "ORDER", "OPEN")


class Note(NamedTuple):
    """What a flag says."""

    kind: str
    kills: tuple[str, ...]
    text: str
    sources: tuple[str, ...] = ()


NOTES: Final[dict[str, Note]] = {
    "code": Note("BASIC", ("decode", "packing", "latency"), "one code of the table"),
    "value": Note("BASIC", ("decode", "round_mode", "saturate", "latency"), "the source is a value of the destination: it must not move"),
    "near_value": Note("STICKY", ("sticky", "round_mode", "carry", "subnormal"), "1 to 3 source ulps beside a value"),
    "tie": Note("TIE", ("tie", "round_mode", "carry"), "exactly half way between two codes"),
    "near_tie": Note("STICKY", ("sticky", "tie", "double_round", "round_mode"), "1 to 3 source ulps beside a midpoint"),
    "sticky_bit": Note("STICKY", ("sticky", "double_round", "round_mode"), "a single low bit, 2^k source ulps beside a value or midpoint"),
    "negative": Note("BASIC", ("zero_sign", "round_mode", "latency"), "negative source"),
    "overflow": Note("OVERFLOW", ("saturate", "overflow_mode", "carry"), "beyond the largest value, from a finite source"),
    "huge": Note("OVERFLOW", ("saturate", "overflow_mode", "acc_width"), "2 or 4 times the largest value, or the largest source"),
    "min_normal": Note("BOUNDARY", ("subnormal", "flush"), "the smallest normal of the source, or beside it"),
    "source_subnormal": Note("UNDERFLOW", ("subnormal", "flush", "round_mode", "sticky"), "a subnormal source: not zero"),
    "zero": Note("SPECIAL", ("zero_sign", "decode"), "+0 or -0"),
    "inf": Note("SPECIAL", ("inf", "overflow_mode"), "an infinite source"),
    "nan_quiet": Note("SPECIAL", ("nan",), "a quiet NaN"),
    "nan_signalling": Note("SPECIAL", ("nan", "inf"), "a signalling NaN"),
    "nan": Note("SPECIAL", ("nan", "scale_special"), "NaN among the inputs"),
    "nan_payload": Note("SPECIAL", ("nan", "inf"), "a NaN with one payload bit set, each bit in turn"),
    "source_exponent": Note(
        "BOUNDARY",
        ("decode", "flush", "subnormal", "saturate", "sticky", "sr_threshold"),
        "every exponent of the source, with the lowest and with all fraction bits",
    ),
    "cover_special": Note("SPECIAL", ("nan", "inf", "scale_special"), "each kind of special operand, alone, with each other kind, and all"),
    "cover_exponent": Note(
        "BOUNDARY", ("align", "live", "floor"), "each operand that can set E, under each set of operands that are there"
    ),
    "cover_distance": Note(
        "BOUNDARY",
        ("align", "acc_width", "sticky", "flush", "subnormal", "live"),
        "each distance from E, with significands that lose nothing, a part, all; each place of the leading bit; sums of 2, 4, 8 ...",
    ),
    "cover_sum": Note(
        "BOUNDARY",
        ("align", "live", "floor", "round_mode", "tie", "sticky", "zero_sign", "carry", "saturate", "overflow_mode"),
        "sums of nothing, or nearly, under each source of E; each part that the last rounding loses; sums beyond the largest number",
    ),
    "cover_random": Note(
        "BOUNDARY", ("sr_threshold", "sr_op", "zero_sign"), "exact values of both signs, and random integers between the extremes"
    ),
    "c_field": Note(
        "BOUNDARY",
        ("live", "decode", "subnormal", "flush", "nan", "inf", "align", "saturate"),
        "C with every exponent, every single subnormal bit and every single NaN payload bit, alone or beside a product of 1",
    ),
    "result_tie": Note(
        "TIE",
        ("tie", "sticky", "carry", "round_mode"),
        "the exact sum is half way between two results, alone or beside a C far below it; also below a power of two",
    ),
    "random": Note("BASIC", (), "drawn by Philox4x32-10 from the stem and the row"),
    "sr_extreme": Note("BOUNDARY", ("sr_threshold",), "random integer 0, 1 or all ones"),
    "sr_threshold": Note("BOUNDARY", ("sr_threshold", "sr_op"), "random integer on one side of the threshold of add, cmp or half"),
    "sr_exact": Note("BASIC", ("sr_threshold", "round_mode"), "an exact value never moves, whatever is drawn"),
    "exhaustive": Note("BASIC", (), "one of all inputs"),
    "zero_block": Note("SPECIAL", ("scale_special", "zero_sign"), "every element is zero"),
    "zero_tensor": Note("SPECIAL", ("scale_special",), "the tensor maximum is zero"),
    "unit_scale": Note("BASIC", ("packing", "decode"), "the block scale is one: elements meet the grid unchanged"),
    "threshold": Note(
        "TIE", ("tie", "sticky", "double_round", "round_mode"), "elements on a midpoint of the element grid and one ulp to each side"
    ),
    "lanes": Note("BASIC", ("packing", "latency"), "a different value in each lane"),
    "one_lane": Note("BASIC", ("packing",), "one lane differs from zero"),
    "scale_tie": Note(
        "TIE", ("tie", "double_round", "order"), "the block maximum puts the scale half way between two codes, or one ulp beside"
    ),
    "scale_edge": Note("BOUNDARY", ("saturate", "subnormal", "carry", "scale_special"), "smallest or largest scale codes"),
    "scale_rule": Note("BOUNDARY", ("carry", "round_mode"), "a block maximum where the published E8M0 rules part"),
    "subnormal": Note("UNDERFLOW", ("subnormal", "flush"), "subnormal elements or maxima"),
    "tiny_tensor": Note(
        "UNDERFLOW", ("flush", "saturate", "inf", "subnormal"), "a tensor maximum so small that its reciprocal overflows, or nearly"
    ),
    "huge_tensor": Note("OVERFLOW", ("saturate", "inf"), "the largest maxima"),
    "amax_gap": Note("BOUNDARY", ("scale_special", "subnormal"), "the block maximum is far below the tensor's"),
    "amax_below": Note("BOUNDARY", ("saturate",), "a tensor maximum from elsewhere, below the block's"),
    "ragged": Note("BOUNDARY", ("packing",), "n_valid elements; the lanes above hold numbers that must be ignored"),
    "order": Note("ORDER", ("order", "double_round"), "documented recipes with another order of operations give another scale here"),
    "decision": Note(
        "ORDER",
        ("order", "tie", "sticky", "round_mode", "carry"),
        "one pair of significands of block and tensor maximum and their exponent gap: the rounding of each step decides",
    ),
    "step_tie": Note(
        "TIE",
        ("tie", "round_mode", "double_round"),
        "a step lies half way between two numbers of the arithmetic, beside a midpoint of the grid",
    ),
    "spread": Note("BASIC", ("align", "packing"), "random elements of similar size"),
    "cancel": Note("BOUNDARY", ("align", "order", "sticky", "zero_sign"), "terms that cancel, wholly or but for a small rest"),
    "impulse": Note("BASIC", ("packing",), "one element: the result is one column of the matrix"),
    "scale_code": Note("BASIC", ("decode", "scale_special"), "one code of the scale against several elements"),
    "uniform_bits": Note(
        "BASIC",
        ("decode", "packing", "align", "round_mode", "overflow_mode", "latency"),
        "all codes, scales and C uniform over the finite bit patterns",
    ),
    "gaussian": Note(
        "BASIC", ("round_mode", "order", "packing", "subnormal", "latency"), "rounded normal data, scales near 1, C of the size of the sum"
    ),
    "cancelled_group": Note(
        "BOUNDARY",
        ("live", "align", "acc_width", "sticky", "flush"),
        "large products that cancel under the largest exponents, small terms at the end of the adder",
    ),
    "exp_spread": Note("BOUNDARY", ("align", "round_mode", "subnormal", "order"), "exponents of terms and C over a wide range"),
    "subnormal_out": Note(
        "UNDERFLOW", ("subnormal", "flush", "live", "zero_sign"), "the result is subnormal, or the products vanish beside a subnormal C"
    ),
    "nan_scale": Note("SPECIAL", ("nan", "scale_special"), "one NaN scale; in half of the rows its block is zero"),
    "special_c": Note("SPECIAL", ("nan", "inf", "zero_sign", "flush"), "C is NaN, infinite, the largest, the smallest, zero"),
    "zeros": Note(
        "SPECIAL", ("live", "zero_sign", "scale_special", "flush"), "zero blocks, zero scales and zero products under large partners"
    ),
    "align_edge": Note("BOUNDARY", ("align", "acc_width", "round_mode"), "two terms, or one and C, as far apart as the adder is wide"),
    "saturated_same_sign": Note(
        "OVERFLOW",
        ("carry", "acc_width", "round_mode"),
        "every element and scale significand at its largest, one sign: the full carry width",
    ),
    "floor_edge": Note(
        "UNDERFLOW",
        ("floor", "align", "flush", "subnormal", "zero_sign", "round_mode", "live"),
        "sums of the smallest subnormals with one opposite term where the floor of E cuts",
    ),
    "c_edge": Note(
        "BOUNDARY",
        ("align", "sticky", "round_mode", "order", "zero_sign"),
        "C is minus the product sum, or an ulp beside it, or an adder's width away",
    ),
    "elem_special": Note("SPECIAL", ("nan", "inf"), "NaN and infinite elements, infinity times zero, infinities of both signs"),
    "scale_signbit": Note("OPEN", ("scale_special",), "the unused bit of a scale is set: the sources do not say what it means"),
    "element_pair": Note(
        "BASIC", ("decode", "packing", "zero_sign"), "one product of two element codes in one lane, or codes of all lanes"
    ),
    "random_bit": Note("BOUNDARY", ("packing", "sr_threshold", "sr_op"), "a single bit of the random word, or all but one"),
    "code_place": Note("BASIC", ("packing",), "one code of the tensor"),
    "tile_edge": Note("BOUNDARY", ("packing",), "the first or last row or index of a part of a tile"),
    "padded_tile": Note("BOUNDARY", ("packing",), "a code of a tile that the tensor fills in part"),
    "chain": Note(
        "ORDER",
        ("order", "double_round", "latency", "acc_width", "align", "packing"),
        "one instruction of a chain; its state is that of the row before",
    ),
    "open": Note("OPEN", (), "the sources do not decide this row: masked 0"),
    "unsupported": Note("OPEN", (), "a design's port map does not claim this row: masked 0 in the suite derived for it"),
    "erratum": Note("OPEN", (), "a wrong row of an earlier version, masked 0; see ERRATA.json"),
    "correction": Note("BASIC", (), "the right form of a row named in ERRATA.json"),
}


def is_about(kill_class: str, flags: Iterable[str]) -> bool:
    """Tell whether one of the flags of a row names a class of faults. Raises: KeyError for an undefined flag."""
    return any(kill_class in NOTES[flag].kills for flag in flags)


def described(flags: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the `notes` object of the flags that a suite uses, in the order of this file. Raises: KeyError for an undefined flag."""
    used = set(flags)
    missing = used - set(NOTES)
    if missing:
        raise KeyError(f"flags without a note: {', '.join(sorted(missing))}")
    return {
        flag: note._asdict() | {"kills": list(note.kills), "sources": list(note.sources)} for flag, note in NOTES.items() if flag in used
    }
