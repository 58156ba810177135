"""quantize and dequantize of the reference model: rows made by running real libraries, tails, operands.

The rows lie in recipe_rows/. Worked examples of the spec: test_exact_example.py; domains: test_exact_domain.py.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.exact.block import QuantizedCodes, dequantize, quantize
from emu.spec.loader import read
from emu.spec.registry import get

ROWS = Path(__file__).parent / "recipe_rows"
FP32 = get("format", "fp32")
LIBRARIES = ("torchao", "transformer_engine", "fouroversix")
OPEN = -1


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def digits(text: str) -> list[int]:
    return [int(digit, 16) for digit in text.replace(" ", "")]


def reads_amax(recipe: Any) -> bool:
    return any("tensor_amax" in getattr(step, "args", ()) for step in recipe.facts.steps)


def load_cases() -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Return (library, recipe, row, input) of every measured row."""
    inputs = {item["id"]: item for item in read(ROWS / "inputs.yaml").data["inputs"]}
    found = []
    for library in LIBRARIES:
        for group in read(ROWS / f"{library}.yaml").data["recipes"]:
            found += [(library, group["recipe"], row, inputs[row["input"]]) for row in group["rows"]]
    return found


CASES = load_cases()
KEPT = [case for case in CASES if "left_out" not in case[2]]


def quantize_row(name: str, given: dict[str, Any]) -> QuantizedCodes:
    """Quantize one row of binary32 codes; tensor_amax where the recipe reads it; open results are masked."""
    recipe = get("recipe", name)
    amax = int(given["tensor_amax"], 16) if reads_amax(recipe) else None
    return quantize(recipe, [words(given["x"])], FP32, tensor_amax=amax, masked=True)


def stored_scale(result: QuantizedCodes) -> int:
    """The scale as the libraries store it: the flag of IF4 in bit 7."""
    scale = result.levels["scale"][0][0]
    return scale | result.levels["flag"][0][0] << 7 if "flag" in result.levels and scale != OPEN else scale


def test_every_measured_row_is_here() -> None:
    assert Counter(library for library, *_ in CASES) == {"torchao": 61, "transformer_engine": 38, "fouroversix": 61}
    assert sum("special" in row for _, _, row, _ in CASES) == 10
    assert [(name, row["input"]) for _, name, row, _ in CASES if "left_out" in row] == [("mxfp4_torchao_rceil", "mx_rceil_log2")]
    assert len({name for _, name, _, _ in CASES}) == 17
    assert len(KEPT) == 159


@pytest.mark.parametrize(("library", "name", "row", "given"), KEPT, ids=[f"{name}-{row['input']}" for _, name, row, _ in KEPT])
def test_measured_row(library: str, name: str, row: dict[str, Any], given: dict[str, Any]) -> None:
    result = quantize_row(name, given)
    codes, wanted = result.codes[0], digits(row["codes"])
    if "special" not in row:
        assert (stored_scale(result), codes) == (int(row["scale"], 16), wanted)
        return
    if get("recipe", name).facts.domain.non_finite == "no":
        assert stored_scale(result) == OPEN and set(codes) == {OPEN}
        return
    nan = get("format", "e8m0" if name.startswith("mx") else "ue4m3").facts.nan
    is_nan = row["scale"] in ("FF", "7F")  # the sign of a NaN scale depends on the machine
    assert f"0x{stored_scale(result):02X}" in nan if is_nan else stored_scale(result) == int(row["scale"], 16)
    assert [wanted[i] for i, code in enumerate(codes) if code != OPEN] == [code for code in codes if code != OPEN]


def test_special_rows_state_some_codes() -> None:
    """So that the masked comparison above compares something: what is open, and what is not."""
    special = [(name, quantize_row(name, given).codes[0]) for _, name, row, given in KEPT if "special" in row]
    stated = Counter(name for name, codes in special if OPEN not in codes)
    assert stated == {
        "nvfp4_te_ref": 1,
        "mxfp4_te_pow2": 1,
        "mxfp4_torchao_floor": 1,
        "mxfp4_torchao_even": 1,
        "mxfp4_torchao_ceil": 1,
        "mxfp4_torchao_rceil": 1,
    }
    masked = Counter(name for name, codes in special if OPEN in codes)
    assert masked == {"nvfp4_torchao": 1, "nvfp4_torchao_1level": 1, "mxfp4_torchao_floor": 1, "nvfp4_f46_static_6": 1}


def test_left_out_row_is_one_scale_code_higher_by_the_bits() -> None:
    """3E400002 / 6 is one ulp above 2^-5: rounded up it is 2^-4; the library's logarithm says 2^-5."""
    (row, given), *others = [(row, given) for _, _, row, given in CASES if "left_out" in row]
    assert not others
    assert stored_scale(quantize_row("mxfp4_torchao_rceil", given)) == int(row["scale"], 16) + 1 == 0x7B


def test_libraries_differ_by_one_scale_code() -> None:
    found = {}
    for name in ("nvfp4_te_ref", "nvfp4_f46_static_6", "nvfp4_torchao"):
        for _, recipe, row, given in KEPT:
            if recipe == name and row["input"].startswith("nv_order"):
                found[name, row["input"]] = stored_scale(quantize_row(name, given))
    assert [found["nvfp4_te_ref", f"nv_order_{i}"] for i in range(4)] == [0x59] * 4
    assert [found["nvfp4_f46_static_6", f"nv_order_{i}"] for i in range(4)] == [0x58, 0x58, 0x59, 0x58]
    assert [found["nvfp4_torchao", f"nv_order_{i}"] for i in range(4)] == [0x58] * 4


HIF4 = read(ROWS / "hifloat4.yaml").data["rows"]


@pytest.mark.parametrize("row", HIF4, ids=[row["id"] for row in HIF4])
def test_hifloat4_row(row: dict[str, Any]) -> None:
    recipe = get("recipe", "hif4")
    result = quantize(recipe, [words(row["x"])], FP32)
    assert len(HIF4) == 6
    assert result.levels["scale"] == [[int(row["scale"], 16)]]
    assert result.levels["level8"] == [[int(row["level8"], 16) >> part & 1 for part in range(8)]]
    assert result.levels["level4"] == [[int(row["level4"], 16) >> part & 1 for part in range(16)]]
    assert result.codes == [digits(row["codes"])]
    assert dequantize(recipe, result.codes, result.levels) == [words(row["values"])]


def test_microxcaling_rows() -> None:
    """Two of six rows have a recipe; the library drops the sign of a -0 in x, which ours keeps."""
    data = read(ROWS / "microxcaling.yaml").data
    x = words(data["x"])
    kept = [row for row in data["rows"] if "left_out" not in row]
    assert [row["id"] for row in kept] == ["mxl_fp4_e2m1_even", "mxl_int4_even"] and len(data["rows"]) == 6
    for row in kept:
        recipe = get("recipe", row["recipe"])
        result = quantize(recipe, [x], FP32)
        values, wanted = dequantize(recipe, result.codes, result.levels)[0], words(row["values"])
        assert [i for i in range(32) if values[i] != wanted[i]] == [17]
        assert (x[17], values[17], wanted[17]) == (0x80000000, 0x80000000, 0)


def test_what_is_open_raises_unless_masked() -> None:
    nan = [0x7FC00000] + [0x3F800000] * 15
    with pytest.raises(OpenError, match="nvfp4_f46_static_6"):
        quantize(get("recipe", "nvfp4_f46_static_6"), [nan], FP32)
    with pytest.raises(OpenError, match="nvfp4_torchao_1level"):
        quantize(get("recipe", "nvfp4_torchao_1level"), [nan], FP32)
    assert quantize(get("recipe", "nvfp4_te_ref"), [nan], FP32).codes == [[0] * 16]
    assert quantize(get("recipe", "nvfp4_te_cuda"), [nan], FP32, tensor_amax=0x3F800000).codes[0][0] == 7


def test_unclamped_eight_is_stored_as_code_eight_for_both_signs() -> None:
    """fouroversix builds the code as sign, exponent, fraction of a bf16 number: 8.0 needs a bit more than there is."""
    (given,) = [given for _, name, row, given in CASES if row["input"] == "nv_overflow" and name == "nvfp4_f46_static_6"]
    x = words(given["x"])
    for sign in (0, 0x80000000):
        row = [x[0] & 0x7FFFFFFF | sign, *x[1:]]
        assert quantize(get("recipe", "nvfp4_f46_static_6"), [row], FP32, tensor_amax=int(given["tensor_amax"], 16)).codes[0][0] == 8


def ramp(rows: int, columns: int) -> list[list[int]]:
    """bf16 codes of r + c + 1, as binary32."""
    return [[encode_integer(r + c + 1) for c in range(columns)] for r in range(rows)]


def encode_integer(number: int) -> int:
    exp = number.bit_length() - 1
    return exp + 127 << 23 | (number << 23 - exp) & 0x7FFFFF


def test_tail_rules() -> None:
    rows = ramp(3, 20)
    dropped = quantize(get("recipe", "nvfp4_te_ref"), rows, FP32)
    assert [len(line) for line in dropped.codes] == [20] * 3 and [len(line) for line in dropped.levels["scale"]] == [2] * 3
    kept = quantize(get("recipe", "nvfp4_f46_static_6"), rows, FP32)
    assert [len(line) for line in kept.codes] == [32] * 3 and all(line[20:] == [0] * 12 for line in kept.codes)
    with pytest.raises(ShapeError, match="multiple"):
        quantize(get("recipe", "nvfp4_torchao"), rows, FP32)
    with pytest.raises(ShapeError):
        quantize(get("recipe", "nvfp4_te_ref"), [[0] * 16, [0] * 15], FP32)
    back = dequantize(get("recipe", "nvfp4_te_ref"), dropped.codes, dropped.levels)
    whole = dequantize(get("recipe", "nvfp4_te_ref"), [line + [0] * 12 for line in dropped.codes], dropped.levels)
    assert back == [line[:20] for line in whole]


def test_a_tile_shares_one_scale() -> None:
    """Four tiles, three cut off, their maxima 2688, 12, 3 and 6; with a tensor maximum of 2688 a scale is the tile's maximum / 6."""
    recipe, rows = get("recipe", "nvfp4_te_2d_ref"), [[0] * 20 for _ in range(17)]
    rows[15][0], rows[7][18], rows[16][3], rows[16][19] = (encode_integer(number) for number in (2688, 12, 3, 6))
    rows[0][1], rows[0][16], rows[16][16] = encode_integer(448), encode_integer(1), encode_integer(1) | 1 << 31
    result = quantize(recipe, rows, FP32)
    assert result.levels["tensor"] == [[encode_integer(2688)]]
    assert result.levels["scale"] == [[0x7E, 0x40]] * 16 + [[0x30, 0x38]] * 16  # 448, 2; 1/2, 1
    wanted = [[0] * 20 for _ in range(17)]
    wanted[15][0] = wanted[7][18] = wanted[16][3] = wanted[16][19] = 0x7  # 6
    wanted[0][1], wanted[0][16], wanted[16][16] = 0x2, 0x1, 0xA  # 1, 1/2, -1
    assert result.codes == wanted


def test_a_row_alone_is_a_tile_of_its_own() -> None:
    """Padded with zeros, it gives what the 1-D recipe gives: the measured rows judge the 2-D recipe too."""
    checked = 0
    for _, name, _, given in KEPT:
        if name == "nvfp4_te_ref":
            tile, row = quantize_row("nvfp4_te_2d_ref", given), quantize_row(name, given)
            assert tile.codes == row.codes and tile.levels["scale"] == row.levels["scale"] * 16
            checked += 1
    assert checked == 15


def test_tensor_maximum_is_taken_from_the_rows_when_absent() -> None:
    recipe, rows = get("recipe", "nvfp4_te_ref"), ramp(2, 32)
    assert quantize(recipe, rows, FP32) == quantize(recipe, rows, FP32, tensor_amax=encode_integer(33))
    assert quantize(recipe, rows, FP32) != quantize(recipe, rows, FP32, tensor_amax=encode_integer(66))


def test_operands_that_do_not_belong_are_refused() -> None:
    rows = ramp(1, 32)
    with pytest.raises(OperandError, match="tensor_amax"):
        quantize(get("recipe", "mxfp4_torchao_floor"), rows, FP32, tensor_amax=0x3F800000)
    with pytest.raises(OperandError, match="negative"):
        quantize(get("recipe", "nvfp4_te_ref"), rows, FP32, tensor_amax=0xBF800000)
    with pytest.raises(OperandError, match="random"):
        quantize(get("recipe", "ufp4_sr"), rows, FP32)
    with pytest.raises(OperandError, match="random"):
        quantize(get("recipe", "ufp4"), rows, FP32, random=[[0] * 32])


def test_stochastic_rounding_draws_between_truncation_and_one_below_certainty() -> None:
    recipe, rows = get("recipe", "ufp4_sr"), ramp(1, 16)
    low, high = (quantize(recipe, rows, FP32, random=[[r] * 16]).codes[0] for r in (0, 255))
    assert all(0 <= (b & 7) - (a & 7) <= 1 for a, b in zip(low, high, strict=True)) and low != high


def test_signs_negate_before_the_rotation() -> None:
    recipe, rows = get("recipe", "ufp4"), ramp(1, 16)
    negated = [[code ^ (0xA5C3 >> i & 1) << 31 for i, code in enumerate(rows[0])]]
    assert quantize(recipe, rows, FP32, signs=0xA5C3) == quantize(recipe, negated, FP32)
    assert quantize(recipe, rows, FP32, signs=0xA5C3) != quantize(recipe, rows, FP32)


def test_bf16_source_gives_the_codes_of_the_same_binary32_values() -> None:
    for name in ("nvfp4_te_ref", "hif4", "mxfp4_torchao_even"):
        rows = ramp(1, 64)
        narrow = [[code >> 16 for code in rows[0]]]
        assert quantize(get("recipe", name), narrow, get("format", "bf16")) == quantize(get("recipe", name), rows, FP32)


def test_nvufp4_and_nve0m3_write_the_same_codes() -> None:
    """E1M2 under 784 and E0M3 under 3136 are one format with two tensor factors."""
    checked = 0
    for _, name, row, given in KEPT:
        if name == "nvfp4_te_ref" and "special" not in row:
            one, other = (quantize_row(recipe, given) for recipe in ("nvufp4", "nve0m3"))
            assert one.codes == other.codes and one.levels == other.levels
            checked += 1
    assert checked == 14


def test_cuda_keeps_the_minus_zero_that_the_reference_drops() -> None:
    different = 0
    for _, name, row, given in KEPT:
        if name == "nvfp4_te_ref" and "special" not in row:
            cuda, reference = quantize_row("nvfp4_te_cuda", given), quantize_row(name, given)
            assert cuda.levels == reference.levels
            pairs = [pair for pair in zip(cuda.codes[0], reference.codes[0], strict=True) if pair[0] != pair[1]]
            assert set(pairs) <= {(8, 0)}
            different += len(pairs)
    assert different == 1
