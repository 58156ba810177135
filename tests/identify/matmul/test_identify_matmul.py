"""identify of products: right orders and accumulators are found, one that no candidate gives is unknown, and no wrong name is given."""

import json

import numpy as np
import pytest

import emu
from emu.base.errors import EmuError, OperandError, SpecError, TargetError
from emu.check.matmul.pair import pair_of
from emu.cli.main import run as run_command
from emu.identify.matmul.machines import Machine, machines, plans
from emu.identify.matmul.run import END, START, identify_matmul
from emu.identify.matmul.sums import Accumulator as Register
from emu.identify.matmul.sums import SumOrder, Terms, round_whole
from emu.ops.order import Order

NVFP4 = "matmul/nvfp4/nvfp4/fp32"
MXFP4 = "matmul/mxfp4/mxfp4/fp32"
FEW = [(9, 10, 256), (5, 6, 384)]  # two lengths: one may hide that two orders differ


def summed(order, bits=24, cut=False):
    """Return a kernel with an order and an accumulator, tensor scales after the sum."""

    def kernel(a_codes, a_scales, b_codes, b_scales):
        x, y = values(a_codes, a_scales), values(b_codes, b_scales)
        terms = Terms((x[:, None] * y[None]).reshape(-1, x.shape[1]))
        return terms.sum(order, Register(bits, cut)).reshape(len(x), len(y)).astype(np.float32)

    return kernel


def values(codes, scales, fmt="ue4m3"):
    size = codes.shape[1] // scales.shape[1]
    return emu.decode(codes, "e2m1").astype(np.float64) * np.repeat(emu.decode(scales, fmt), size, axis=1)


def along(found, axis="order"):
    return [item.finding for item in found.axes if item.stage == "replay" and item.axis == axis]


def chain(terms, register=0.0):
    found = np.zeros(terms.shape[:-1], np.float32) + np.float32(register)
    for k in range(terms.shape[-1]):
        found = found + terms[..., k]
    return found


def products(a, b):
    return a.dequantize()[:, None] * b.dequantize()[None]


def ascending(a, b):
    return chain(products(a, b))


def reversed_split(a, b):
    low, high = np.split(products(a, b), 2, axis=2)
    return chain(low[..., ::-1]) + chain(high[..., ::-1])


@pytest.mark.exhaustive
def test_a_chain_of_binary32_is_revealed():
    found = identify_matmul(ascending, NVFP4, FEW)
    assert (found.kind, found.exit_code) == ("revealed", 0), found.text()
    assert found.title == "one term after the other, ascending; 24 significand bits, rounded to nearest even"
    assert "one block after the other, ascending" in found.text()
    assert "before the sum (products rounded first)" in found.text()


@pytest.mark.exhaustive
def test_a_reversed_split_is_not_taken_for_another():
    found = identify_matmul(reversed_split, NVFP4, FEW)
    assert found.found == ("one term after the other, descending, split K by 2; 24 significand bits, rounded to nearest even",), (
        found.text()
    )


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize(
    ("order", "bits", "cut"),
    [
        (SumOrder(), 13, True),
        (SumOrder(), 14, False),
        (SumOrder("fused", 32), 24, True),
        (SumOrder("lanes", 8, joined="halves"), 24, False),
        (SumOrder("stepped", 32, split=2), 24, False),
        (SumOrder("chunks", 64), 24, False),
        (SumOrder("pairs"), 24, False),
        (SumOrder("chain", split=4, interleaved=True, joined="pairs"), 24, False),
        (SumOrder(descending=True), 20, True),
    ],
)
def test_orders_and_accumulators_are_found(order, bits, cut):
    found = identify_matmul(summed(order, bits, cut), NVFP4, FEW)
    assert found.kind in ("revealed", "documented"), found.text()
    assert any(name.endswith(Register(bits, cut).text) and name.startswith(order.step) and order.along in name for name in found.found), (
        found.text()
    )
    assert along(found, "accumulator") == [Register(bits, cut).text], found.text()


@pytest.mark.exhaustive
def test_an_exact_kernel_has_no_order():
    found = identify_matmul(lambda a, b: (a.dequantize(np.float64) @ b.dequantize(np.float64).T).astype(np.float32), NVFP4, FEW)
    assert found.title.startswith("order cannot matter"), found.text()


def permuted(a, b):
    terms = products(a, b)
    return chain(terms[..., np.argsort(np.arange(terms.shape[2]) * 7919 % 65537)])


def sometimes(a, b):
    """One addition of many is cut."""
    terms = products(a, b)
    found = chain(terms)
    with np.errstate(all="ignore"):
        return np.where((found.view(np.uint32) & 63) == 5, np.nextafter(found, np.float32(0)), found)


def long_rows(a, b):
    """Another order for long rows."""
    return ascending(a, b) if a.shape[1] <= 256 else reversed_split(a, b)


def by_column(a, b):
    """The last columns run the other way."""
    terms = products(a, b)
    return np.concatenate([chain(terms[:, :4]), chain(terms[:, 4:, ::-1])], axis=1)


def random_last_bit():
    calls = [0]

    def kernel(a, b):
        calls[0] += 1
        return chain(products(a, b)) * np.float32(1 + calls[0] * 2**-20)

    return kernel


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "kernel", [pytest.param(permuted, marks=pytest.mark.exhaustive), random_last_bit(), sometimes, long_rows, by_column]
)
def test_what_no_candidate_gives_is_unknown(kernel):
    found = identify_matmul(kernel, NVFP4, FEW)
    assert (found.kind, found.exit_code, found.found) == ("unknown", 1, ()), found.text()
    assert found.title.startswith("unknown")


@pytest.mark.exhaustive
def test_other_orders_for_other_shapes_are_said():
    found = identify_matmul(long_rows, NVFP4, FEW)
    assert "no order fits every shape" in found.title
    assert [
        word in line
        for word, line in zip(
            ("ascending", "descending"), along(found, "M, N, K = 9, 10, 256") + along(found, "M, N, K = 5, 6, 384"), strict=True
        )
    ]


def starts_at_c(a, b, c, beta):
    terms = products(a, b)
    return chain(terms, beta * c)


def ends_with_c(a, b, c):
    return chain(products(a, b)) + c


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize(("kernel", "words"), [(starts_at_c, f"{START}, times beta"), (ends_with_c, END)])
def test_where_c_enters(kernel, words):
    found = identify_matmul(kernel, MXFP4, FEW)
    assert any(words == item.finding for item in found.axes if item.axis.startswith("where")), found.text()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("epilogue", "words"),
    [(lambda s, x, y, z: (s * x) * (y * z), "(S * ta) * (tb * alpha)"), (lambda s, x, y, z: ((s * x) * y) * z, "((S * ta) * tb) * alpha")],
)
def test_how_scales_are_multiplied(epilogue, words):
    def kernel(a_codes, a_scales, a_tensor, b_codes, b_scales, b_tensor, alpha):
        x, y = (values(*side).astype(np.float32) for side in ((a_codes, a_scales), (b_codes, b_scales)))
        return epilogue(chain(x[:, None] * y[None]), a_tensor, b_tensor, alpha)

    found = identify_matmul(kernel, NVFP4, FEW)
    assert [item.finding for item in found.axes if item.axis.startswith("where")] == [f"S is the sum: {words}"], found.text()


@pytest.mark.exhaustive
def test_where_c_enters_can_be_unknown():
    found = identify_matmul(lambda a, b, c, beta: ascending(a, b) + c * beta * beta, MXFP4, FEW)
    assert found.kind == "unknown" and "where C and the scales enter is unknown" in found.title, found.text()


PLANS = [(contract, plan) for contract in (NVFP4, MXFP4) for plan in plans(pair_of(contract))]
ORDERS = [Order(tail="zero_pad"), Order(direction="descending", tail="zero_pad"), Order(2, direction="descending", tail="zero_pad"),
          Order(4, "interleaved", combine="pairwise", tail="zero_pad")]  # fmt: skip


def machine(plan, order):
    def kernel(a_codes, a_scales, b_codes, b_scales):
        from emu.ops.matmul import chains, filled
        from emu.ops.operands import Operand

        sides = [Operand(np.array(c), np.array(s), plan.a, plan.block, plan.scale) for c, s in ((a_codes, a_scales), (b_codes, b_scales))]
        return chains(filled(sides[0], plan, order), filled(sides[1], plan, order), None, order, plan, "auto", 1).view(np.float32)

    return kernel


def is_right(plan, order):
    contract = next(text for text, item in PLANS if item is plan)
    found = identify_matmul(machine(plan, order), contract, FEW)
    wanted = Machine(plan.name, plan, order, True).name
    assert found.kind == "documented", found.text()
    assert wanted in found.found or found.title.startswith("order cannot matter"), found.text()


@pytest.mark.exhaustive
def test_a_shipped_datapath_is_found():
    plan = next(item for _, item in PLANS if item.frac_bits is not None)
    is_right(plan, ORDERS[2])


SPLITTABLE = next(plan for _, plan in PLANS if plan.frac_bits is None and plan.accumulator is None)
EACH = [
    *((plan, ORDERS[at % len(ORDERS) if plan.accumulator is None else 0]) for at, (_, plan) in enumerate(PLANS)),
    *((SPLITTABLE, order) for order in ORDERS),
]


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize(("plan", "order"), EACH, ids=[f"{plan.name} {order.direction} {order.split_k}" for plan, order in EACH])
def test_every_shipped_datapath_is_found_and_every_order_of_one(plan, order):
    is_right(plan, order)


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref", "native"])
def test_every_engine_is_found(engine):
    datapath = "nv_like" if engine == "native" else "cheap"  # the kernels take machines that cut toward zero
    found = identify_matmul(lambda a, b: emu.matmul(a, b.T, datapath, engine=engine), NVFP4, [(3, 4, 256), (2, 3, 384)])
    assert any(name.startswith(datapath) and name.endswith("ascending") for name in found.found), found.text()


@pytest.mark.exhaustive
def test_bad_kernels_have_a_verdict():
    def raises(a, b):
        raise ValueError("no")

    for kernel, verdict in ((raises, "raises"), (lambda a, b: np.zeros((2, 2), np.float32), "shape"), (lambda a, b: "text", "dtype")):
        with pytest.raises(TargetError) as caught:
            identify_matmul(kernel, NVFP4, FEW)
        assert caught.value.verdict == verdict
    found = identify_matmul(lambda a, b: ascending(a, b) * np.float32("nan"), NVFP4, FEW)
    assert found.kind == "unknown"


def test_bad_calls_are_refused():
    with pytest.raises(OperandError, match="needs its contract"):
        identify_matmul(ascending)
    with pytest.raises(EmuError, match="a multiple of 16"):
        identify_matmul(ascending, NVFP4, [(4, 4, 17)])
    with pytest.raises(SpecError):
        identify_matmul(ascending, "matmul/nvfp4/nvfp4/fp64")


def test_a_register_rounds():
    rows = [(11, 3, False, 12), (11, 3, True, 10), (9, 3, False, 8), (-11, 3, False, -12), (5, 3, True, 5), (15, 3, False, 16)]
    assert [round_whole(value, bits, cut) for value, bits, cut, _ in rows] == [wanted for *_, wanted in rows]


def test_candidates_have_names_of_their_own():
    names = [item.name for item in machines(pair_of(NVFP4))]
    assert len(names) == len(set(names)) > 100


KERNELS = """
import numpy as np
def good(a, b):
    x, y = a.dequantize(), b.dequantize()
    out = np.zeros((len(x), len(y)), np.float32)
    for k in range(x.shape[1]):
        out = out + x[:, k, None] * y[None, :, k]
    return out
def odd(a, b):
    return good(a, b) * np.float32(1.0000001)
def dies(a, b):
    raise RuntimeError("out of order")
"""


@pytest.mark.exhaustive
def test_the_command(tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    words = ("--against", NVFP4, "--shapes", "5x6x256,4x5x384")
    assert run_command(["--json", "identify", f"{path}:good", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "revealed" and found["title"].startswith("one term after the other, ascending; 24")
    assert run_command(["identify", f"{path}:odd", *words]) == 1
    assert "unknown" in capsys.readouterr().out
    assert run_command(["identify", f"{path}:dies", *words]) == 1
    assert "raises" in capsys.readouterr().out
    for more, said in ((("--gives", "codes"), "--gives says nothing"), (("--shapes", "4x4"), "shape")):
        assert run_command(["identify", f"{path}:good", "--against", NVFP4, *more]) == 2
        assert said in capsys.readouterr().err
    assert run_command(["identify", f"{path}:good", "--against", "quantize/nvfp4"]) == 2
    assert "write matmul/A/B/OUT" in capsys.readouterr().err
