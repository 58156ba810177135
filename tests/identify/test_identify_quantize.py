"""identify of quantize kernels: every documented recipe is itself, every edit is named, layouts are found, a foreign kernel departs."""

import numpy as np
import pytest

from emu.base.errors import OperandError, TargetError
from emu.contracts.quantize.axes import axes
from emu.contracts.quantize.edit import apply
from emu.contracts.quantize.variants import code_variants, documented, joined_of, scale_variants
from emu.engines.c_ref.block import quantize_with_open
from emu.identify.cases import MASKS, of_recipe, plain
from emu.identify.operands import IGNORED
from emu.identify.rows import calls
from emu.identify.run import identify
from emu.spec import get
from emu.spec.contract import recipes_of_blocks

QUICK = ("nvfp4_te_ref", "mxfp4_torchao_even", "nvfp4_te_2d_ref", "hif4")


def variant(base, stage, says):
    made = {item.changes[0][1]: item for item in (scale_variants if stage == "scale" else code_variants)(documented([base])[0])[1:]}
    return made[says]


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", QUICK)
def test_a_recipe_is_itself(quantize_target, name):
    found = identify(quantize_target(get("recipe", name)))
    assert found.kind == "documented" and name in found.found and found.agreed == found.asked > 0
    assert not found.departures and found.exit_code == 0


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("source", ["bf16", "fp32"])
@pytest.mark.parametrize("name", recipes_of_blocks())
def test_every_recipe_is_itself_or_equal(quantize_target, name, source):
    found = identify(quantize_target(get("recipe", name), source))
    assert found.kind == "documented" and name in found.found
    recipes = [pair for pair in found.pairs if ": " not in pair.second]  # not its own variants, some of which no row separates
    others = [pair for pair in recipes if pair.verdict != "separated"]
    assert all(pair.verdict in ("equal", "unobservable") for pair in others), [pair.text for pair in others]
    assert set(found.found) - {name} <= {pair.second for pair in others} | {pair.first for pair in others}


@pytest.mark.exhaustive
def test_a_logarithm_and_a_reciprocal_part_in_binary32_alone(quantize_target):
    """MXFP8 of vLLM and of Transformer Engine: a block maximum just above 448 * 2^n; a maximum of bf16 never comes so near.

    Both divide by a power of two, exactly or rounded once, so where the scale bytes of every maximum are equal, the codes are.
    """
    first, second = documented(["mxfp8_e4m3_vllm", "mxfp8_e4m3_te"])
    x = np.zeros((0x7F80, 32), np.uint16)
    x[:, 0] = np.arange(0x7F80)  # every finite maximum of bf16
    (scale, marks), (other, others) = (
        (made.levels["scale"], open_.levels["scale"])
        for made, open_ in (quantize_with_open(item.recipe, x, get("format", "bf16")) for item in (first, second))
    )
    assert not marks.any() and not others.any() and np.array_equal(scale, other)
    found = identify(quantize_target(first.recipe, "fp32"))
    (pair,) = [pair for pair in found.pairs if {pair.first, pair.second} == {"mxfp8_e4m3_vllm", "mxfp8_e4m3_te"}]
    assert pair.verdict == "separated" and found.found == ("mxfp8_e4m3_vllm",)


def slow(*words):
    return pytest.param(*words, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("base", "stage", "says"),
    [
        ("mxfp4_torchao_floor", "codes", "ties away from zero"),
        ("mxfp4_torchao_floor", "scale", "exponent of the maximum plus one"),
        slow("nvfp4_te_ref", "scale", "block maximum divided by the element maximum"),
        slow("nvfp4_te_ref", "scale", "scale rounded up"),
        slow("nvfp4_te_ref", "codes", "NaN -> +max (code 7)"),
        slow("nvfp4_torchao", "scale", "no smallest scale, zero allowed"),
    ],
)
def test_an_edit_is_named(quantize_target, base, stage, says):
    found = identify(quantize_target(variant(base, stage, says).recipe, "fp32"))
    rival = "nvfp4_comfy: element codes as nvfp4_torchao"  # without a smallest scale torchao's scales are those of comfy-kitchen
    assert found.found[0] == rival if says == "no smallest scale, zero allowed" else found.found[0].startswith(base), found.text()
    assert found.found[0] == rival or any(axis.finding == says for axis in found.axes), found.text()
    assert found.exit_code == (1 if found.kind == "variant" else 0)


@pytest.mark.exhaustive
def test_a_drawing_recipe_that_ignores_its_integers(quantize_target):
    found = identify(quantize_target(variant("ufp4_sr", "codes", "random integers ignored: ties to even").recipe))
    assert found.kind == "documented" and found.found == ("ufp4",)


@pytest.mark.exhaustive
def test_scale_of_one_recipe_and_codes_of_another(quantize_target):
    te, torchao = documented(["nvfp4_te_ref", "nvfp4_torchao"])
    found = identify(quantize_target(joined_of(te, torchao).recipe, "fp32"))
    assert found.kind == "variant" and "nvfp4_te_ref: element codes as nvfp4_torchao" in found.found, found.text()


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("what", "said"),
    [
        (("high nibble first",), "high nibble first (pairs exchanged)"),
        (("bytes",), "bytes, low nibble first"),
        (("bytes", "high nibble first"), "bytes, high nibble first"),
        (("sf128x4",), "sf128x4"),
        (("transposed",), "transposed"),
    ],
)
def test_layout_is_found_before_the_recipe(quantize_target, what, said):
    found = identify(quantize_target(get("recipe", "mxfp4_torchao_even"), what=what + (("multiples of 128",) if "sf128x4" in what else ())))
    assert found.kind == "documented" and said in [axis.finding for axis in found.axes]


@pytest.mark.exhaustive
def test_high_nibble_of_rotated_elements(quantize_target):
    found = identify(quantize_target(get("recipe", "ufp4"), what=("high nibble first",)))
    assert found.kind == "documented" and found.axes[0].finding == "high nibble first (pairs exchanged)"


@pytest.mark.exhaustive
def test_a_kernel_with_its_own_maximum(quantize_target):
    found = identify(quantize_target(get("recipe", "nvfp4_te_ref"), what=("own maximum",)))
    assert "nvfp4_te_ref" in found.found and any("taken from x" in axis.finding for axis in found.axes)


def test_a_kernel_of_whole_tiles(quantize_target):
    target = quantize_target(get("recipe", "mxfp4_te_pow2"), what=("multiples of 128",))
    found = identify(target)
    assert found.kind == "documented" and all(rows % 128 == 0 for rows, _ in target.asked[2:])


def test_values_alone(quantize_target):
    target = quantize_target(get("recipe", "mxfp4_torchao_floor"), "fp32", ("values",), "fp32")
    target.recipe = get("recipe", "ufp4")
    found = identify(target, among=["ufp4", "e1m2_fp32scale"])
    assert found.kind == "documented" and found.found[0].startswith("ufp4") and "unobservable" in found.axes[0].finding


@pytest.mark.exhaustive
def test_values_alone_of_wider_blocks_are_asked_and_confirmed(quantize_target):
    class Wider(quantize_target):
        late = False

        def __call__(self, operands):
            found = super().__call__(operands)["values"]
            return {"values": np.where(self.late & (operands["x"] == 0x40C00001), found ^ 1, found).astype(np.uint32)}

    target = Wider(get("recipe", "mxfp4_te_pow2"), "fp32", ("values",), "fp32")
    found = identify(target)  # raises ShapeError where it is asked blocks of 16
    assert found.kind == "documented" and found.found == ("mxfp4_te_pow2, dequantize profile exact",), found.text()
    target.late = True  # one code of a row that is asked only beside the edges of scales
    found = identify(target)
    assert found.kind == "nearest" and found.departures[0].operands["x"].startswith("40c00001"), found.text()


def test_a_foreign_kernel_departs_in_rows(quantize_target):
    class Foreign(quantize_target):
        def shaped(self, codes, levels):
            found = super().shaped(codes, levels)
            return found | {"scale": np.where(found["scale"] > 0x80, found["scale"] ^ 3, found["scale"]).astype(np.uint8)}

    found = identify(Foreign(get("recipe", "mxfp4_te_pow2")))
    assert found.kind == "nearest" and found.exit_code == 1 and found.departures and found.agreed < found.asked
    assert "nearest" in found.title and found.departures[0].where.startswith("scale")


@pytest.mark.cases(1)
@pytest.mark.parametrize("lane", [9, 17, 30])
@pytest.mark.exhaustive
def test_a_headline_is_confirmed_by_rows_that_were_not_used_to_find_it(quantize_target, lane):
    """A block maximum that forgets one element, and wrong for NaN: not "departs only where NaN"."""

    class Forgets(quantize_target):
        def __call__(self, operands):
            x = operands["x"].copy()
            special = ~np.isfinite(self.values(x)).reshape(len(x), -1, 32).all(-1)
            found = super().__call__(operands)
            x[:, lane::32] = 0
            return found | {"scale": np.where(special, 0, super().__call__(dict(operands) | {"x": x})["scale"]).astype(np.uint8)}

    found = identify(Forgets(get("recipe", "mxfp4_torchao_floor"), "fp32"))
    assert found.kind == "nearest" and found.found == ("mxfp4_torchao_floor",) and "departs only" not in found.title, found.text()
    codes = [int(code, 16) for row in found.departures for code in row.operands["x"].split()]
    assert codes and all(code & 0x7FFFFFFF < 0x7F800000 for code in codes), found.text()


@pytest.mark.exhaustive
def test_what_departs_for_nan_alone_is_said_so(quantize_target):
    class Nan(quantize_target):
        def __call__(self, operands):
            found = super().__call__(operands)
            special = ~np.isfinite(self.values(operands["x"])).reshape(*found["scale"].shape, 32).all(-1)
            return found | {"scale": np.where(special, 0, found["scale"]).astype(np.uint8)}

    found = identify(Nan(get("recipe", "mxfp4_torchao_floor"), "fp32"))
    assert found.kind == "nearest" and found.title.startswith("nothing documented; nearest mxfp4_torchao_floor, departs only where"), (
        found.text()
    )


@pytest.mark.exhaustive
def test_a_changed_rule_that_nothing_confirms_is_no_name(quantize_target):
    """The logarithm of binary32 fits the rule "block maximum rounded to bf16" on many rows, and is another."""

    class Logarithm(quantize_target):
        def __call__(self, operands):
            found = super().__call__(operands)
            x = np.where(operands["x"] & 0x7F800000 == 0x7F800000, 0, operands["x"]).astype(np.uint32)
            top = np.abs(self.values(x)).reshape(*found["scale"].shape, 32).max(axis=-1)
            with np.errstate(all="ignore"):
                byte = np.floor(np.log2(top)) - 2 + np.float32(127)
            return found | {"scale": np.where((byte > 0) & (byte < 254), byte, 0).astype(np.uint8)}

    found = identify(Logarithm(get("recipe", "mxfp4_torchao_floor"), "fp32"))
    assert found.kind == "nearest" and "bf16" not in found.title, found.text()
    assert found.found == ("mxfp4_inc_even",), "a recipe that takes this logarithm, and no minus zero"
    assert "departs only" not in found.title


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("base", "rule"),
    [
        ("mxfp4_te_pow2", lambda top: np.ceil(np.log2(top / np.float32(6)))),  # every bf16 pattern and directed row is right
        ("mxfp4_torchao_floor", lambda top: np.floor(np.log2(top)) - 2),
    ],
)
@pytest.mark.exhaustive
def test_a_logarithm_of_float32_departs(quantize_target, base, rule):
    class Logarithm(quantize_target):
        def __call__(self, operands):
            found = super().__call__(operands)
            top = np.abs(self.values(operands["x"])).reshape(*found["scale"].shape, 32).max(axis=-1)
            with np.errstate(all="ignore"):
                byte = rule(top) + np.float32(127)
            return found | {"scale": np.where((byte > 0) & (byte < 254), byte, found["scale"]).astype(np.uint8)}

    found = identify(Logarithm(get("recipe", base), "fp32"))
    assert found.kind == "nearest" and found.departures, found.text()
    assert found.found[0].startswith(base) or found.found[0].startswith("mxfp4_inc"), found.text()  # they share the scales, not -0
    assert not identify(Logarithm(get("recipe", base))).departures  # sources of bf16 never come so near


@pytest.mark.exhaustive
def test_the_unused_bit_of_a_nan_scale_is_not_compared(quantize_target):
    class Signed(quantize_target):
        def shaped(self, codes, levels):
            return super().shaped(codes, levels | {"scale": np.where(levels["scale"] == 0x7F, 0xFF, levels["scale"]).astype(np.uint8)})

    found = identify(Signed(get("recipe", "nvfp4_torchao")))
    assert found.kind == "documented" and found.found == ("nvfp4_torchao",), found.text()


def test_open_points_are_resolved_by_the_kernel(quantize_target):
    floor = documented(["mxfp4_torchao_floor"])[0]
    rule = axes("codes").rule("plus_max")
    found = identify(quantize_target(apply(floor.recipe, rule, "codes")))
    assert found.kind == "documented" and "mxfp4_torchao_floor" in found.found
    assert [axis.finding for axis in found.axes if axis.stage == "open in the sources"] == ["NaN -> +max (code 7)"]


def test_another_operation_is_refused(quantize_target):
    with pytest.raises(OperandError, match="layout cannot be identified"):
        identify(quantize_target(get("recipe", "hif4"), op="layout"))


def test_no_recipe_of_the_shape(quantize_target):
    with pytest.raises(OperandError, match="no recipe has one scale"):
        identify(quantize_target(get("recipe", "hif4")), among=["nvfp4_te_ref"])


def test_scales_of_another_block_are_no_documented_behaviour(quantize_target):
    class Late(quantize_target):
        def shaped(self, codes, levels):
            return super().shaped(codes, levels | {"scale": np.roll(levels["scale"], 1, axis=1)})

    found = identify(Late(get("recipe", "mxfp4_torchao_even")))
    assert found.kind == "nearest" and any("no known view" in axis.finding for axis in found.axes)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("what", "wants", "kind", "name", "said"),
    [
        ((), ("signs",), "documented", "ufp4", "followed"),
        (("signs ignored",), (), "documented", "ufp4", "not taken by this kernel: nothing negated"),
        (("signs ignored",), ("signs",), "variant", f"ufp4: {IGNORED}", IGNORED),
    ],
)
@pytest.mark.parametrize("gives", [(), ("values",)])
def test_signs_are_followed_or_named(quantize_target, what, wants, kind, name, said, gives):
    target = quantize_target(get("recipe", "ufp4"), "fp32", (*what, *gives), "fp32" if gives else None)
    target.wants = wants
    found = identify(target, among=["ufp4", "e1m2_fp32scale"])
    assert (found.kind, found.exit_code) == (kind, int(kind == "variant")), found.text()
    assert found.found == (name + (", dequantize profile exact" if gives else ""),), found.text()
    assert gives or said in [axis.finding for axis in found.axes]


@pytest.mark.parametrize("mask", [0x0001, 0x0200])
def test_a_mask_that_is_half_followed_departs(quantize_target, mask):
    class Some(quantize_target):
        def __call__(self, operands):
            return super().__call__(dict(operands) | {"signs": operands["signs"] & ~np.uint32(mask)})

    found = identify(Some(get("recipe", "ufp4")), among=["ufp4", "e1m2_fp32scale"])
    assert found.kind == "nearest" and "signs" in found.departures[0].operands, found.text()


def test_rows_are_asked_under_several_masks():
    rows = plain((1, 16), signed=True)
    assert {row.signs for row in rows} == set(MASKS) and len(MASKS) > 2 and MASKS[0] == 0
    assert any(int(f"{mask:016b}"[::-1], 2) != mask for mask in MASKS)
    assert {row.signs for row in plain((1, 16))} == {0}
    asked = calls(rows, (1, 16), get("format", "fp32"))
    assert all(rows[number].signs == call.signs for call in asked for number in call.numbers)
    assert {row.signs for row in of_recipe("ufp4", "bf16")} == set(MASKS) and {row.signs for row in of_recipe("nve0m3", "bf16")} == {0}


@pytest.mark.exhaustive
def test_a_multiple_that_is_known_is_kept_to(quantize_target):
    class Wide(quantize_target):
        def __call__(self, operands):
            if operands["x"].shape[0] % 8 or operands["x"].shape[1] % 64:
                raise TargetError("shape", "rows of 8, columns of 64")
            return super().__call__(operands)

    target = Wide(get("recipe", "mxfp4_torchao_even"))
    assert identify(target, multiple=(8, 64)).kind == "documented" and max(rows for rows, _ in target.asked[2:] if rows % 128) % 8 == 0
    with pytest.raises(OperandError, match="matrices of 128 x 256 are asked: give a multiple that divides them"):
        identify(target, multiple=(3, 1))


@pytest.mark.exhaustive
def test_shapes_confirm_what_was_found(quantize_target, convert_target):
    class Rows(quantize_target):
        def __call__(self, operands):
            found = super().__call__(operands)
            return found | ({"scale": found["scale"] + np.uint8(1)} if operands["x"].shape == (3, 96) else {})

    shapes = [(1, 32), (5, 64), (3, 96)]
    right = identify(quantize_target(get("recipe", "mxfp4_torchao_even")), shapes=shapes)
    assert right.kind == "documented" and [axis.finding for axis in right.axes if axis.stage == "shapes"] == ["agrees"] * 3
    found = identify(Rows(get("recipe", "mxfp4_torchao_even")), shapes=shapes)
    assert (found.kind, found.found, found.exit_code) == ("nearest", ("mxfp4_torchao_even",), 1) and "departs in shapes" in found.title
    assert [row.where for row in found.departures] == ["scale[0, 0]"] and found.departures[0].operands == {"x": "random, 3x96"}
    with pytest.raises(OperandError, match="multiples and shapes are of quantize kernels, not of convert"):
        identify(convert_target("e2m1/rne/nvidia"), shapes=shapes)
