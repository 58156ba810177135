"""The kernel of tiles side by side: against NumPy's engine on tensors of one, 63 to 65 and more tiles, against `exact` on drawn tiles."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.base.errors import EmuError, OpenError, OperandError
from emu.engines.exact import arithmetic as exact
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.native import convert as kernel
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.block import can_quantize, quantize
from emu.engines.native.program import plan_of
from emu.engines.native.tiles import _near, tile_plan_of
from emu.engines.numpy.block import quantize as quantize_numpy
from emu.spec import derive, get, names
from emu.spec.derive import EntryCodes
from emu.spec.models import Recipe
from emu.strategies import decision_points

FORMS = range(kernel.BEST_FORM + 1)
FP32, RNE = get("format", "fp32"), get("rounding", "rne")
RECIPES = [name for name in names("recipe") if plan_of(get("recipe", name)) is None and tile_plan_of(get("recipe", name)) is not None]
SHAPE = {name: get("block", get("recipe", name).facts.block).facts.shape for name in RECIPES}
OPEN, NAN, ACROSS = lib.EMU_TILE_OPEN, 0x7FC00000, lib.EMU_ACROSS
NUMBERS = [0, 1, 2, 0x400000, 0x7FFFFF, 0x800000, 0x33800001, 0x3E800000, 0x3E800001, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3FC00000,
           0x3FFFFFFF, 0x40200000, 0x40C00000, 0x40E00000, 0x40F00000, 0x41000000, 0x43E00000, 0x47600000, 0x7F7FFFFF,
           0x7F800000, NAN]  # fmt: skip
BITS = np.array([code | sign for code in NUMBERS for sign in (0, 1 << 31)], np.uint32)


def tensors(rng, shape):
    """Yield tensors whose blocks meet ties, zeros of both signs, subnormals, the ends of binary32, equal maxima and specials."""
    normal = rng.standard_normal(shape, dtype=np.float32)
    yield normal
    yield np.round(normal * 4) / np.float32(4)
    yield normal * np.exp2(rng.integers(-140, 120, shape)).astype(np.float32)
    yield np.where(rng.random(shape) < 0.9, np.float32(-0.0), normal)
    yield rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)


def answer(function, *operands, **more):
    """Return codes and levels, or the error's type."""
    try:
        codes, levels = function(*operands, **more)
    except EmuError as error:
        return type(error).__name__, {}
    return codes, levels


def assert_same(found, wanted):
    assert isinstance(found[0], str) == isinstance(wanted[0], str)
    assert np.array_equal(found[0], wanted[0]) and list(found[1]) == list(wanted[1])
    for name, level in wanted[1].items():
        assert np.array_equal(found[1][name], level) and found[1][name].shape == level.shape, name


def test_which_recipes():
    """Nearly every program that the faster kernel cannot do, and none of those that it can."""
    assert len(RECIPES) > 50 and {"hif4", "if4_mse", "nvfp4_te_4over6_mse_256", "nvfp4_te_2d_ref", "mxfp8_e4m3_te"} <= set(RECIPES)
    assert all(can_quantize(get("recipe", name), FP32) for name in RECIPES)
    assert not can_quantize(get("recipe", RECIPES[0]), get("format", "fp64"))


@pytest.mark.cases(28)
@pytest.mark.parametrize("name", RECIPES)
def test_numpy_engine(name):
    """Sizes around one, and beyond, what lies side by side; both memory orders; every form; 16-bit sources."""
    recipe, rng, (rows, columns) = get("recipe", name), np.random.default_rng(7), SHAPE[name]
    for tiles in ((1, 1), (1, ACROSS - 1), (1, ACROSS), (ACROSS + 1, 1), (3, ACROSS - 20)):
        for number, x in enumerate(tensors(rng, (rows * tiles[0], columns * tiles[1]))):
            for order in "CF":
                bits = np.array(x, order=order).view(np.uint32)
                wanted = answer(quantize_numpy, recipe, bits, FP32)
                for form in FORMS if number == 0 or tiles[1] == ACROSS - 20 else FORMS[-1:]:
                    assert_same(answer(quantize, recipe, bits, FP32, form=form), wanted)
    for source, view in (("bf16", (bits >> 16).astype(np.uint16)), ("fp16", x.view(np.uint16)[:, ::2].copy())):
        for codes in (view, np.asfortranarray(view)):
            wanted = answer(quantize_numpy, recipe, codes, get("format", source))
            assert_same(answer(quantize, recipe, codes, get("format", source)), wanted)


@pytest.mark.parametrize("name", [name for name in RECIPES if get("recipe", name).facts.tail != "error"])
def test_tails(name):
    """Matrices that are filled up with zeros; those zeros are not returned where the recipe drops them."""
    recipe, (rows, columns) = get("recipe", name), SHAPE[name]
    for shape in ((rows * 2, columns * 3 - 1), (rows * 2 - rows // 2, columns + 1), (1, 1)):
        x = np.random.default_rng(3).standard_normal(shape, dtype=np.float32)
        for whole in (x, np.asfortranarray(x)):
            found = quantize(recipe, whole.view(np.uint32), FP32)
            assert_same(found, tuple(quantize_numpy(recipe, whole.view(np.uint32), FP32)))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(RECIPES), st.data())
def test_reference_model(name, data):
    """Tiles of drawn binary32 codes, near one another and anywhere."""
    recipe, (rows, columns) = get("recipe", name), SHAPE[name]
    code = st.one_of(st.integers(0, (1 << 32) - 1), st.sampled_from(BITS.tolist()), st.integers(0x3F000000, 0x41800000))
    pool = np.array(data.draw(st.lists(code, min_size=1, max_size=columns)), np.uint32)
    bits = np.resize(pool, (rows, columns))
    wanted = answer(quantize_exact, recipe, bits.tolist(), FP32)
    for form in FORMS:
        found, levels = answer(quantize, recipe, bits, FP32, form=form)
        assert found == wanted[0] if isinstance(found, str) else np.array_equal(found, np.array(wanted[0]))
        assert all(np.array_equal(levels[level], np.array(rows)) for level, rows in dict(wanted[1]).items())


def run(form, operation, arguments, rows, terms=1, shift=(0, 0, 0, 0), **more):
    """Return what one step gives; arguments: [rows, ACROSS] each."""
    room = np.concatenate([*arguments, np.full((rows, ACROSS), 0xEEEEEEEE, np.uint32)])
    starts = np.cumsum([0, *(len(argument) for argument in arguments)]).tolist()
    step = ffi.new("emu_tile_step *", {"rows": rows, "terms": terms, "shift": list(shift)})
    step.step = ffi.new("emu_kernel_step *", {"operation": operation, **more})[0]
    step.step.out, step.step.args = starts[-1], (starts[:-1] + [0] * 4)[:4]
    assert lib.emu_run_tiles(form, step, 1, len(room), ffi.from_buffer("uint32_t[]", room)) == lib.EMU_KERNEL_OK
    return room[starts[-1] :]


def steps_of(plan):
    """Return the steps of a plan on each tile."""
    return [plan.pointer.steps[k] for k in range(plan.pointer.step_count)]


def lanes(values):
    """Return values as rows of lanes, filled up with the last."""
    rows = -(-len(values) // ACROSS)
    return np.pad(np.array(values, np.uint32), (0, rows * ACROSS - len(values)), "edge").reshape(rows, ACROSS)


@pytest.mark.cases(28)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["rne", "rz", "rna"])
@pytest.mark.parametrize("name", ["e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "e5m2"])
def test_signed_casts(form, mode, name):
    """Every middle and value of the format with its neighbours, and the ends, saturating and wrapped."""
    fmt, facts = get("format", name), get("format", name).facts
    points = np.array([float(point) for point in decision_points(fmt)], np.float32).view(np.uint32)
    near = np.concatenate([points, points + 1, points[1:] - 1, BITS, np.array([0x46000000, 0x49800001], np.uint32)])
    inputs = np.concatenate([near, near | np.uint32(1 << 31)])
    bits = derive.codes(fmt).bits
    how = {"frac_bits": facts.frac_bits, "bias": facts.bias, "largest": derive.codes(fmt).max_code, "sign_bit": bits - 1, "nan": OPEN}
    toward = {"rne": lib.EMU_TO_EVEN, "rz": lib.EMU_TO_ZERO, "rna": lib.EMU_TO_AWAY}[mode]
    for overflow, variant in [("saturate", toward), ("wrap", lib.EMU_TO_EVEN_WRAPPED)][: 2 if mode == "rne" else 1]:
        entry = EntryCodes(overflow, (OPEN, OPEN), None)
        wanted = [convert_value(decode_code(int(code), FP32), fmt, get("rounding", mode), entry) for code in inputs]
        found = run(form, lib.EMU_STEP_CAST_SIGNED, [lanes(inputs)], len(lanes(inputs)), variant=variant, wraps=(1 << bits) - 1, **how)
        assert found.reshape(-1)[: len(inputs)].tolist() == wanted
    codes = np.array([*range(1 << bits), OPEN], np.uint32)
    found = run(form, lib.EMU_STEP_DECODE_SIGNED, [lanes(codes)], len(lanes(codes)), **how).reshape(-1)[: len(codes)]
    finite = [code for code in range(1 << bits) if decode_code(code, fmt).kind == "finite"]
    assert [found[code] for code in finite] == [encode_value(decode_code(code, fmt), FP32) for code in finite] and found[-1] == NAN


@pytest.mark.parametrize("form", FORMS)
def test_integer_casts(form):
    """Halves, both ends, Inf and NaN; two's complement has one more below zero."""
    fmt = get("format", "int4")
    values = [Fraction(k, 4) for k in range(-40, 41)]
    inputs = np.concatenate([np.array([float(value) for value in values], np.float32).view(np.uint32), BITS])
    entry = EntryCodes("saturate", (OPEN, OPEN), None)
    how = {"sign_bit": 3, "largest": 7, "emax": 8, "nan": OPEN}
    found = run(form, lib.EMU_STEP_CAST_INTEGER, [lanes(inputs)], len(lanes(inputs)), **how).reshape(-1)[: len(inputs)]
    assert found.tolist() == [convert_value(decode_code(int(code), FP32), fmt, RNE, entry) for code in inputs]
    codes = np.array([*range(16), OPEN], np.uint32)
    back = run(form, lib.EMU_STEP_DECODE_INTEGER, [lanes(codes)], 1, **how).reshape(-1)[: len(codes)]
    assert back.tolist() == [encode_value(decode_code(code, fmt), FP32) for code in range(16)] + [NAN]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("operation", ["mul", "div"])
def test_results_of_bf16_are_rounded_once(form, operation):
    """All pairs of awkward numbers, and products and quotients beside middles of bf16 numbers, subnormal ones too."""
    odd = np.array([0x3F808001, 0x3F818000, 0x3F7F8000, 0x3F808000, 0x00018001, 0x00FF8000, 0x3F000001, 0x7F7F8000, 0x3FFFFFFF], np.uint32)
    pairs = np.array(list(itertools.product([*BITS[::3], *odd], [*BITS[1::3], *odd])), np.uint32)
    number = lib.EMU_STEP_MUL_BF16 if operation == "mul" else lib.EMU_STEP_DIV_BF16
    a, b = lanes(pairs[:, 0]), lanes(pairs[:, 1])
    found = run(form, number, [a, b], len(a)).reshape(-1)[: len(pairs)].tolist()
    one, bf16 = exact.multiply if operation == "mul" else exact.divide, get("format", "bf16")
    for (x, y), bits in zip(pairs.tolist(), found, strict=True):
        wanted = encode_value(exact.round_result(one(decode_code(x, FP32), decode_code(y, FP32)), bf16, RNE), FP32)
        assert bits == wanted or wanted == bits == NAN, (hex(x), hex(y))


@pytest.mark.parametrize("form", FORMS)
def test_grids_without_an_end(form):
    """Rounded to E2M1's grid, which goes on; to bf16."""
    fmt = get("format", "e2m1")
    inputs = np.concatenate([BITS, np.array([float(k) / 8 for k in range(-90, 90)], np.float32).view(np.uint32)])
    rows = len(lanes(inputs))
    found = run(form, lib.EMU_STEP_ROUND_GRID, [lanes(inputs)], rows, frac_bits=1, bias=1).reshape(-1)[: len(inputs)].tolist()
    narrow = run(form, lib.EMU_STEP_ROUND_BF16, [lanes(inputs)], rows).reshape(-1)[: len(inputs)].tolist()
    for code, bits, short in zip(inputs.tolist(), found, narrow, strict=True):
        value = decode_code(code, FP32)
        wanted = encode_value(exact.carried(exact.round_value(value, fmt, RNE), FP32), FP32)
        assert bits == wanted or value.kind == "nan", hex(code)
        assert short == encode_value(exact.round_result(value, get("format", "bf16"), RNE), FP32), hex(code)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ["tree", "halves", "sequential"])
def test_orders_of_additions(form, order):
    """Terms whose sum depends on the order; -0 alone gives +0 but in a tree; rows of two sums lie one after another."""
    number = {"sequential": lib.EMU_ADDS_IN_TURN, "halves": lib.EMU_ADDS_IN_HALVES, "tree": lib.EMU_ADDS_AS_TREE}
    rng = np.random.default_rng(11)
    for terms in (16, 4, 2, 1):
        x = (rng.standard_normal((2 * terms, ACROSS)) * np.exp2(rng.integers(-20, 20, (2 * terms, ACROSS)))).astype(np.float32)
        x[:, 0] = -0.0
        found = run(form, lib.EMU_STEP_SUM, [x.view(np.uint32)], 2, terms, variant=number[order])
        for row, lane in itertools.product(range(2), range(0, ACROSS, 7)):
            values = [decode_code(int(bits), FP32) for bits in x.view(np.uint32)[row * terms : (row + 1) * terms, lane]]
            if order == "halves" and terms == 1:
                continue
            assert found[row, lane] == encode_value(exact.total(values, order, FP32, RNE), FP32)


@pytest.mark.parametrize("form", FORMS)
def test_maxima(form):
    for word, variant in (("propagate", lib.EMU_NAN_PROPAGATES), ("drop", lib.EMU_NAN_DROPS)):
        terms = np.array([[a, b, c] for a in BITS[-8:] for b in BITS[-8:] for c in BITS[-8:]], np.uint32)[: 4 * ACROSS]
        for part in terms.reshape(4, ACROSS, 3):
            found = run(form, lib.EMU_STEP_AMAX, [np.ascontiguousarray(part.T)], 1, 3, variant=variant)[0].tolist()
            values = [[decode_code(int(bits), FP32) for bits in row] for row in part]
            assert found == [encode_value(exact.largest_magnitude_of(row, word), FP32) for row in values]


@cache
def nearest_answers():
    awkward = np.array([0, -0.0, 0.25, -0.25, 0.75, 2.5, -5, 6, 100, 1e-30, 3e38, -np.inf, np.nan], np.float32).view(np.uint32)
    pairs = np.array(list(itertools.product(awkward, awkward)), np.uint32)
    numbers = {bits: decode_code(bits, FP32) for bits in awkward.tolist()}
    return pairs, [exact.nearest_code(numbers[x], numbers[y], get("format", "e2m1"), FP32, RNE) for x, y in pairs.tolist()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mirrored", [False, True])
def test_nearest_codes(form, mirrored):
    """Ties, both signs of value and unit, zeros, Inf and NaN; with and without the mirror."""
    fmt = get("format", "e2m1")
    pairs, wanted = nearest_answers()
    values = np.array([encode_value(decode_code(code, fmt), FP32) for code in range(8 if mirrored else 16)], np.uint32)
    codes = np.arange(len(values), dtype=np.uint8)
    how = {"values": ffi.from_buffer("uint32_t[]", values), "codes": ffi.from_buffer("uint8_t[]", codes), "largest": len(values)}
    a, b = lanes(pairs[:, 0]), lanes(pairs[:, 1])
    found = run(form, lib.EMU_STEP_NEAREST, [a, b], len(a), sign_bit=3 * mirrored, **how).reshape(-1)[: len(pairs)].tolist()
    assert found == wanted


@pytest.mark.parametrize("form", FORMS)
def test_clamps_and_shared_rows(form):
    """Bounds of -6 and 6, shared by all rows; a factor that four rows share."""
    low, high = (np.full((1, ACROSS), np.float32(value).view(np.uint32)) for value in (-6, 6))
    x = lanes(np.resize(BITS, 8 * ACROSS))
    found = run(form, lib.EMU_STEP_CLAMP_NUMBERS, [x, low, high], 8, shift=(0, 30, 30, 0)).reshape(-1).tolist()
    six = decode_code(int(high[0, 0]), FP32)
    for bits, result in zip(x.reshape(-1).tolist(), found, strict=True):
        wanted = exact.clamp(decode_code(bits, FP32), exact.negate(six), six, "propagate")
        assert result == encode_value(wanted, FP32) or wanted.kind == "nan"
    factor = np.array([[2.0], [3.0]], np.float32).repeat(ACROSS, 1)
    values = np.arange(8 * ACROSS, dtype=np.float32).reshape(8, ACROSS)
    found = run(form, lib.EMU_STEP_MUL, [values.view(np.uint32), factor.view(np.uint32)], 8, shift=(0, 2, 0, 0))
    assert np.array_equal(found.view(np.float32), values * factor.repeat(4, 0))


@pytest.mark.parametrize("name", ["e2m1", "int4", "e5m2"])
def test_casts_are_compared_beside_every_point_at_which_a_code_changes(name):
    """Of both signs; and every bf16 number, and both sides of further ends."""
    found, end = set(_near(get("format", name), [0x42C80000]).tolist()), 0x42C80000
    points = [int(np.float32(float(point)).view(np.uint32)) for point in decision_points(get("format", name))]
    assert {point + step | sign for point in [*points, end] if point for step in (-1, 0, 1) for sign in (0, 1 << 31)} <= found
    assert set(range(0, 1 << 32, 1 << 16)) <= found


@pytest.mark.parametrize(("low", "high", "kept"), [
    ("-6", "6", 0), ("-7", "15/2", 0), ("-5", "6", 2), ("-6", "9/2", 2), ("-6", "5", 2), ("-6", "0x40A00001", 0), ("0", "6", 2),
])  # fmt: skip
@pytest.mark.parametrize("clamped", ["the product", "x"])
def test_clamps_that_change_no_code_are_left_out(low, high, kept, clamped):
    """Those of the elements, between a product and a saturating cast: 5 is a tie that goes to 4, so an end there counts."""
    shipped = get("recipe", "nvfp4_te_4over6_mse_256").model_dump(by_alias=True, exclude_none=True)
    steps = list(shipped["facts"]["steps"])
    for number, step in enumerate(steps):
        if "clamped_" in step.get("out", "") and step["args"][1] == "-6":
            steps[number] = {**step, "args": ("x" if clamped == "x" else step["args"][0], low, high)}
    recipe = Recipe.model_validate(shipped | {"id": "mine", "facts": shipped["facts"] | {"steps": tuple(steps)}})
    plan = tile_plan_of(recipe)
    assert sum(step.step.operation == lib.EMU_STEP_CLAMP_NUMBERS and step.rows > 1 for step in steps_of(plan)) == kept
    x = np.random.default_rng(5).standard_normal((4, 160), dtype=np.float32)
    x[:, ::7] = np.float32(-0.0)
    for scale in (1, 5 / 6, 2.0**-20):
        bits = (x * np.float32(scale)).view(np.uint32)
        assert_same(answer(quantize, recipe, bits, FP32), answer(quantize_numpy, recipe, bits, FP32))


@pytest.mark.parametrize("form", FORMS)
def test_codes_of_a_table_and_what_is_open(form):
    """By the bf16 number that a binary32 one goes to when it is rounded to odd; NaN leaves a mark, which is decoded as NaN."""
    table = (np.arange(1 << 16) * 37 >> 4).astype(np.uint8)
    inputs = np.concatenate([BITS, BITS ^ 1, BITS ^ 0x8000, np.array([0x7F800001, 0xFFFFFFFF], np.uint32)])
    codes = run(form, lib.EMU_STEP_CAST_OPEN, [lanes(inputs)], len(lanes(inputs)), codes=ffi.from_buffer("uint8_t[]", table)).reshape(-1)
    for bits, code in zip(inputs.tolist(), codes.tolist(), strict=False):
        odd = bits >> 16 | (bits & 0xFFFF != 0)
        assert code == (OPEN if bits & 0x7FFFFFFF > 0x7F800000 else table[odd]), hex(bits)
    values = np.arange(256, dtype=np.uint32) * 3
    back = run(form, lib.EMU_STEP_DECODE_OPEN, [lanes(codes)], len(lanes(codes)), values=ffi.from_buffer("uint32_t[]", values)).reshape(-1)
    assert back[: codes.size].tolist() == [NAN if code == OPEN else code * 3 for code in codes.tolist()]


def test_operands_that_are_refused():
    recipe, x = get("recipe", "hif4"), np.ones((2, 64), np.float32)
    with pytest.raises(OperandError, match="random"):
        quantize(recipe, x.view(np.uint32), FP32, random=np.zeros((2, 64), np.uint8))
    with pytest.raises(OperandError, match="tensor_amax"):
        quantize(recipe, x.view(np.uint32), FP32, tensor_amax=0x3F800000)
    x[1, 63] = np.nan
    with pytest.raises(OpenError):
        quantize(recipe, x.view(np.uint32), FP32)


def test_steps_that_reach_beyond_the_room_are_refused():
    """A kernel that is handed a wrong plan writes nothing."""
    room = np.zeros((4, ACROSS), np.uint32)
    memory = ffi.from_buffer("uint32_t[]", room)
    for out, args, rows, terms, operation in (
        (3, [0] * 4, 2, 1, lib.EMU_STEP_ABS),
        (-1, [0] * 4, 1, 1, lib.EMU_STEP_ABS),
        (3, [2] * 4, 2, 1, lib.EMU_STEP_ABS),
        (0, [0] * 4, 1, 1, lib.EMU_STEP_ABS),
        (3, [0] * 4, 1, 4, lib.EMU_STEP_SUM),
        (3, [0] * 4, 1, 1, lib.EMU_STEP_DECODE_INTEGER + 1),
    ):
        step = ffi.new("emu_tile_step *", {"rows": rows, "terms": terms})
        step.step.operation, step.step.out, step.step.args = operation, out, args
        assert lib.emu_run_tiles(0, step, 1, 4, memory) == lib.EMU_KERNEL_ARGUMENT
    assert not room.any()
