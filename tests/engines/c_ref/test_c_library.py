"""A descriptor in Python gives what the reference model gives, for every operation; names and lines that are wrong are told."""

import pytest
from support.descriptor_samples import drawn_format, drawn_policy, drawn_rounding, renamed

from emu.base.errors import OpenError, OperandError, ShapeError, SpecError
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.c_ref.library import Library
from emu.engines.exact import block, convert, datapath, levels
from emu.spec import get
from emu.spec.datapath import plans_of
from emu.spec.levels import resolve_levels

X = [[0x3F800000 + 0x00345678 * (7 * i % 61) + (i % 5 == 0) * 0x80000000 for i in range(32)] for _ in range(16)]


def told(codes: list[int], fmt, rounding, policy, random: list[int] | None) -> list[str]:
    """What the reference model says of codes, as Marked.words() has it."""
    out = []
    for i, code in enumerate(codes):
        try:
            made = convert.convert_code(code, get("format", "bf16"), fmt, rounding, policy, None if random is None else random[i])
            out.append(f"0x{made:X}")
        except OpenError:
            out.append("open")
        except OperandError:
            out.append("refused")
    return out


def test_formats_roundings_and_policies_of_a_descriptor_convert():
    codes, seen = [0x7FC0, 0xFF80, 0x8000, 0x0001, 0x3FC0, 0xC0B1, 0x4049], set()
    for seed in range(24):
        fmt = drawn_format(seed)
        rounding = get("rounding", "rne") if fmt.facts.class_ == "codebook" else drawn_rounding(seed)
        policy, bits = drawn_policy(seed, fmt), rounding.random_bits
        random = [37 * (i + seed) % (1 << bits) for i in range(len(codes))] if bits else None
        mine = Library(descriptor_text([fmt, rounding, policy]))
        made = mine.convert([codes], fmt.id, rounding.id, policy.id, "bf16", None if random is None else [random])
        assert made.words() == told(codes, fmt, rounding, policy, random) and made.codes.shape == (1, len(codes)), seed
        seen |= {word for word in made.words() if word[0] != "0"} | {bits > 0}
    assert seen == {"open", "refused", True, False}


@pytest.mark.parametrize(("name", "amax"), [("nvfp4_modelopt", 0x41000000), ("nvfp4_te_2d_ref", None), ("ufp4_sr", None), ("ufp4", None)])
def test_recipes_of_a_descriptor_quantize_and_go_back(name, amax):
    recipe = get("recipe", name).model_copy(update={"id": "mine"})
    mine, x = Library(descriptor_text([recipe])), [row[:24] for row in X] if name.startswith("ufp4") else X  # a last block that is not full
    words = [[(77 * (i + j)) % 256 for i in range(len(x[0]))] for j in range(len(x))] if name == "ufp4_sr" else None
    made, sides = mine.quantize(x, "mine", tensor_amax=amax, random=words)
    if words is None:
        exact = block.quantize(recipe, x, get("format", "fp32"), tensor_amax=amax)
        assert made.codes.tolist() == exact.codes and not made.marks.any()
        assert [side.codes.tolist() for side in sides] == list(exact.levels.values())
        profile = next(iter(recipe.facts.dequantize))
        back = mine.dequantize(made.codes, [side.codes for side in sides], "mine", profile, "bf16")
        wanted = block.dequantize(recipe, exact.codes, exact.levels, profile=profile, result=get("format", "bf16"))
        assert back.tolist() == wanted
    else:
        plain = Library().quantize(x, name, random=words)  # the shipped recipe, by C's own tables
        assert plain[0].words() == made.words() and plain[0].words() != Library().quantize(x, name, random=[[0] * 24] * 16)[0].words()


def test_signs_of_a_recipe_that_rotates():
    recipe, x = get("recipe", "ufp4").model_copy(update={"id": "mine"}), X[0][:24]
    mine, seen = Library(descriptor_text([recipe])), set()
    for signs in (None, 0, 1, 0x8000, 0xBEEF):
        made, (scales,) = mine.quantize([x], "mine", signs=signs)
        exact = block.quantize(recipe, [x], get("format", "fp32"), signs=signs)
        assert made.codes.tolist() == exact.codes and scales.codes.tolist() == exact.levels["scale"]
        seen.add(tuple(made.words()))
    assert len(seen) == 4  # its own are none
    for name, signs, why in (("ufp4", 1 << 16, "write 16 bits"), ("ufp4", -1, "write 16 bits"), ("nvfp4_te_ref", 1, "it rotates nothing")):
        with pytest.raises(OperandError, match=why):
            Library().quantize([x[:16]], name, signs=signs)


def test_datapaths_of_a_descriptor_multiply():
    a, b, c = [0x38, 0xB9, 0x7E, 0x01] * 16, [0x40, 0x38, 0xC8, 0x3A] * 16, 0x3F800001
    model = renamed("hopper_fp8", "mine", 3)
    mine = Library(descriptor_text([model]))
    for name, facts in (("mine/e4m3xe4m3", model), ("hopper_fp8/e4m3xe4m3", get("datapath", "hopper_fp8"))):
        plan = next(found for found in plans_of(facts) if found.name.endswith("/e4m3xe4m3"))
        made = mine.dot(a, b, name, c=c)
        assert made.words() == [f"0x{datapath.dot(a, b, (), (), c, plan).code:X}"]
    assert mine.add(made, made, name).words() == Library().add(made, made, "ada_fp8/e4m3xe4m3").words() != made.words()


def test_datapaths_of_levels_of_a_descriptor_multiply_with_their_words():
    plan = resolve_levels("bf16_register_random")
    mine, a, b, words = Library(descriptor_text([plan.datapath])), [0x3F81] * 8, [0x3F83] * 8, [0x80 + i for i in range(8)]
    wanted = levels.dot(a, b, (), (), 0x3F80, words, plan).code
    assert mine.dot(a, b, plan.name, c=0x3F80, random=words).words() == [f"0x{wanted:X}"]


def test_what_is_wrong_is_told_in_a_line():
    text = descriptor_text([get("format", "e2m1")])
    with pytest.raises(SpecError, match=r"^descriptor line 4: "):
        Library(text.replace("class float", "class flaot"))
    with pytest.raises(SpecError, match=r"^format nothing: neither the descriptor nor the shipped spec has it"):
        Library(text).convert([1], "nothing", "rne", "nvidia")
    with pytest.raises(SpecError, match=r"^datapath nothing: "):
        Library(text).dot([1], [1], "nothing")
    with pytest.raises(ShapeError):
        Library(text).quantize([[1, 2, 3]], "mxfp4_torchao_floor")
    for codes in ([[1.5]], [[-1]], [["1"]], [[True]], [[1], [2, 3]]):
        with pytest.raises(OperandError, match=r"^codes are "):
            Library().convert(codes, "e2m1", "rne", "nvidia")
    for random in ([[1]], [[1, 1 << 32]]):
        with pytest.raises(OperandError, match=r"one integer below 2\^32 for each code"):
            Library().convert([[1, 2]], "e2m1", "sr_add8", "nvidia", random=random)
    for codes in ([1] * 32, [[[1] * 32]]):
        with pytest.raises(ShapeError, match="codes are a matrix"):
            Library().quantize(codes, "mxfp4_torchao_floor")
    with pytest.raises(ShapeError, match="of a level are a matrix"):
        Library().dequantize([[1] * 32], [[127]], "mxfp4_torchao_floor", "torchao")
    made, _ = Library().quantize([[0x3FC00000, 0x7FC00000] * 8], "e4m3_row_bf16_compressed_tensors")
    assert made.words() == ["open"] * 16
