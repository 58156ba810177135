"""The public strategies: what they draw is legal for its contract, lies where it says, finds known faults, shrinks to simple tensors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import emu
from emu import strategies
from emu.base.errors import OpenError, OperandError
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.contract import any_plan_of, contracts, parse, recipes_of_blocks

SOURCES = ("fp32", "bf16", "fp16")
FEW = settings(max_examples=12, suppress_health_check=list(HealthCheck))
UNSHRUNK = settings(max_examples=3000, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
FINDS = settings(max_examples=300, suppress_health_check=list(HealthCheck))


def quantized(recipe, drawn, source="fp32", engine="auto"):
    amax = None if drawn.tensor_amax is None else np.uint32(drawn.tensor_amax).view(np.float32)
    random = np.zeros(drawn.x.shape, np.uint8) if strategies.draws_random(recipe) else None
    return emu.quantize(drawn.x, recipe, source=source, tensor_amax=amax, random=random, engine=engine)


def block_maxima(x, recipe, source):
    """Largest magnitude of each block, exactly."""
    fmt = get("format", source)
    _, lanes = get("block", get("recipe", recipe).facts.block).facts.shape
    values = [[decode_code(int(code), fmt).magnitude for code in row] for row in x]
    return [max(value for row in values for value in row[at : at + lanes]) for at in range(0, len(values[0]), lanes)]


@pytest.mark.cases(3)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "mxfp4_torchao_floor", "ufp4_sr", "hif4", "nvfp4_te_2d_ref", "f46_nvint4"])
def test_every_tensor_can_be_quantized(recipe, source):
    @FEW
    @given(strategies.tensors(recipe, source))
    def answers(drawn):
        assert quantized(recipe, drawn, source).codes.shape == drawn.x.shape

    answers()


@pytest.mark.cases(0, 30)
@pytest.mark.parametrize("recipe", recipes_of_blocks())
def test_tensors_of_every_recipe_and_source_can_be_quantized(recipe):
    @FEW
    @given(st.sampled_from(SOURCES).flatmap(lambda source: st.tuples(st.just(source), strategies.tensors(recipe, source))))
    def answers(drawn):
        assert quantized(recipe, drawn[1], drawn[0]).codes.shape == drawn[1].x.shape

    answers()


def test_a_large_tile_is_drawn_in_part_and_repeated():
    @FEW
    @given(strategies.blocks("e4m3_tile128_deepseek", count=1))
    def answers(drawn):
        flat = drawn.reshape(-1)
        assert drawn.shape == (128, 128) and (flat[256:] == flat[:-256]).all()

    answers()


@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "nvfp4_torchao", "mxfp4_torchao_floor", "nvufp4"])
def test_near_element_ties_fix_the_scale(recipe):
    """The scale stored is that of a number times a power of two: the maximum is the element maximum times it, exactly."""

    @FEW
    @given(strategies.near_element_ties(recipe))
    def holds(drawn):
        factor = Fraction(1)
        if drawn.tensor_amax:
            top = strategies.element_maximum(get("recipe", recipe)) * strategies.scale_values(recipe)[-1]
            factor = decode_code(drawn.tensor_amax, get("format", "fp32")).magnitude / top
        unit = block_maxima(drawn.x, recipe, "fp32")[0] / factor / strategies.element_maximum(get("recipe", recipe))
        assert unit in strategies.scale_values(recipe)

    holds()


@pytest.mark.parametrize("source", SOURCES)
def test_chosen_maxima_are_the_maxima(source):
    fmt = get("format", source)
    top = derive.codes(fmt).max_code

    @FEW
    @given(
        st.lists(st.integers(1, top), min_size=1, max_size=3).flatmap(
            lambda m: st.tuples(st.just(m), strategies.with_maxima("nvfp4_te_ref", m, source))
        )
    )
    def holds(drawn):
        maxima, x = drawn
        assert block_maxima(x, "nvfp4_te_ref", source) == [decode_code(code, fmt).magnitude for code in maxima]

    holds()


def same(first, second, drawn, source="fp32"):
    one, two = (quantized(recipe, drawn, source) for recipe in (first, second))
    return (one.codes == two.codes).all() and (one.levels[-1].codes == two.levels[-1].codes).all()


@pytest.mark.exhaustive
def test_boundaries_of_the_scale_tell_orders_apart():
    """Dividing by 6 and multiplying by fl(1/6) give other scale bytes; found among bf16 maxima too, and shrunk to one element a block."""
    drawn = find(
        strategies.near_scale_boundaries("mxfp4_torchao_floor"),
        lambda t: not same("mxfp4_torchao_floor", "mxfp4_torchao_even", t),
        settings=FINDS,
    )
    assert np.count_nonzero(drawn.x) <= 2


def test_ties_tell_roundings_apart():
    """A kernel that sends ties away from zero is found, and the tensor that shows it has the tie and the maximum alone."""
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])

    def differs(drawn):
        found = quantized("mxfp4_torchao_floor", drawn)
        x, scale = drawn.x.view(np.float32).astype(np.float64), float(emu.decode(found.levels[0].codes, "e8m0")[0, 0])
        away = np.searchsorted(middles, np.abs(x) / scale, side="right")
        return bool(((found.codes & 7) != away).any())

    drawn = find(strategies.near_element_ties("mxfp4_torchao_floor"), differs, settings=FINDS)
    assert np.count_nonzero(drawn.x) <= 2


ONE_OF_EACH = ("decode/e4m3", "convert/e2m1/sr_add8/nvidia", "quantize/ufp4_sr", "dequantize/nvfp4_te_ref/te", "transform/rht16_ufp4")


@pytest.mark.parametrize("contract", [*ONE_OF_EACH, "dot/blackwell_mxf4nvf4_b16_ue4m3", "layout/nvfp4/sf128x4"])
def test_operands_have_the_names_of_their_operation(contract):
    wanted = {
        "decode": {"codes"},
        "convert": {"codes", "random"},
        "quantize": {"x", "random", "signs"},
        "dequantize": {"codes", "tensor", "scale"},
        "transform": {"x", "signs"},
        "dot": {"a", "b", "scale_a", "scale_b", "c"},
        "layout": {"codes"},
    }[contract.split("/")[0]]

    @FEW
    @given(strategies.operands(contract))
    def holds(drawn):
        assert drawn.keys() == wanted
        assert all(array.dtype.kind == "u" for array in drawn.values())

    holds()


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("op", ["decode", "convert", "quantize", "dequantize", "transform", "dot", "layout"])
def test_operands_of_every_contract_can_be_drawn(op):
    chosen = [str(contract) for contract in contracts() if contract.op == op]

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(chosen).flatmap(strategies.operands))
    def holds(drawn):
        assert all(array.size for array in drawn.values())

    holds()


@pytest.mark.exhaustive
def test_drawn_operands_of_dot_products_have_answers():
    """Those of a datapath of levels, too: with its random words, with and without C."""
    chosen = [str(contract) for contract in contracts() if contract.op == "dot"]

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(chosen).flatmap(lambda name: st.tuples(st.just(name), strategies.operands(name))))
    def holds(pair):
        contract, drawn = pair
        plan = any_plan_of(parse(contract))
        scales = (drawn.get("scale_a"), drawn.get("scale_b"))
        more = {name: drawn[name] for name in ("c", "random") if name in drawn}
        found = emu.dot(drawn["a"], drawn["b"], plan.datapath, *scales, a_format=plan.a, b_format=plan.b, scale_format=plan.scale, **more)
        assert found.shape == (2,)

    holds()


def test_a_contract_without_operands_is_refused():
    with pytest.raises(OperandError, match="no strategy draws operands of insn"):
        strategies.operands("insn/cvt.rn.satfinite.e2m1x2.f32")


@pytest.mark.exhaustive
def test_specials_come_only_when_asked():
    def has_nan(drawn):
        return bool(((drawn.x & 0x7FFFFFFF) > 0x7F800000).any())

    found = find(strategies.tensors("nvfp4_te_ref", specials=True), has_nan, settings=UNSHRUNK)
    with pytest.raises(OpenError):
        quantized("nvfp4_f46_static_6", found)

    @FEW
    @given(strategies.tensors("nvfp4_te_ref"))
    def holds(drawn):
        assert not has_nan(drawn)

    holds()


@pytest.mark.parametrize("name", ["fp32", "fp64"])
def test_a_wide_destination_has_a_sample_of_its_decision_points(name):
    with pytest.raises(OperandError, match=rf"{name} has 2\^(31|63) grid points, too many for a list: use decision_sample"):
        strategies.decision_points(name)
    sample, facts = set(strategies.decision_sample(name)), get("format", name).facts
    assert len(sample) < 1 << 16
    ulp = Fraction(1, 1 << facts.frac_bits)
    around = {1 - ulp, 1 - ulp / 2, 1 - ulp / 4, 1, 1 + ulp / 2, 1 + ulp, Fraction(3, 2), Fraction(3, 2) + ulp / 2}
    assert around <= sample
    assert {Fraction(0), Fraction(2) ** (1 - facts.bias - facts.frac_bits) / 2} <= sample
    assert max(sample) == Fraction(2) ** (facts.bias + 1)  # one code beyond the maximum, where overflow begins


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ["e2m1", "e4m3", "bf16", "nf4"])
def test_a_narrow_format_has_all_of_them(name):
    assert strategies.decision_sample(name) == strategies.decision_points(name)


def test_operands_of_a_conversion_to_binary32_can_be_drawn():
    @FEW
    @given(strategies.operands("convert/fp32/rne/ieee"), strategies.near_ties("fp32", "fp64"))
    def holds(drawn, code):
        assert drawn["codes"].size and code >> 63 in (0, 1)

    holds()
