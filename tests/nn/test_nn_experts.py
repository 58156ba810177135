"""Experts: each one as a layer of its own, by equal shares and by counts; products through datapaths."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, ShapeError, SpecError

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
nn = importlib.import_module("emu.nn")


def passed(layer, x, **options):
    """Outputs, gradient of x and gradient of the weight for dy = a fixed pattern."""
    x = x.clone().requires_grad_()
    layer.weight.grad = None
    y = layer(x, **options)
    y.backward(torch.sin(torch.arange(y.numel(), dtype=torch.float32)).reshape(y.shape))
    return y.detach(), x.grad, layer.weight.grad


def test_each_expert_is_a_layer_of_its_own():
    torch.manual_seed(2)
    experts = nn.QuantExperts(3, 32, 16, seed=5, layer=4, label="mlp.up")
    nn.set_step(experts, 8)
    x = torch.randn(3, 20, 32)
    y, dx, dw = passed(experts, x)
    dy = torch.sin(torch.arange(y.numel(), dtype=torch.float32)).reshape(y.shape)
    for number in range(3):
        single = nn.QuantLinear(32, 16, seed=5, layer=4 + number)
        nn.set_step(single, 8)
        with torch.no_grad():
            single.weight.copy_(experts.weight[number])
        part = x[number].clone().requires_grad_()
        out = single(part)
        out.backward(dy[number])
        assert torch.equal(out, y[number]) and torch.equal(part.grad, dx[number]) and torch.equal(single.weight.grad, dw[number])


def test_counts_and_experts_without_tokens():
    torch.manual_seed(3)
    experts = nn.QuantExperts(3, 16, 16)
    x = torch.randn(21, 16)
    y, _, dw = passed(experts, x, counts=(17, 0, 4))
    assert y.shape == (21, 16) and not dw[1].any() and dw[0].any() and dw[2].any()
    padded = torch.zeros(3, 17, 16)
    padded[0], padded[2, :4] = x[:17], x[17:]
    whole = experts(padded)
    assert torch.equal(whole[0], y[:17]) and torch.equal(whole[2, :4], y[17:])


def test_convert_model_and_capture_take_experts():
    torch.manual_seed(4)
    plain = torch.nn.ModuleDict({"router": torch.nn.Linear(16, 4), "up": nn.Experts(4, 16, 32), "down": nn.Experts(4, 32, 16)})
    wanted = plain["up"](torch.ones(4, 2, 16))
    assert torch.equal(wanted[1], torch.ones(2, 16) @ plain["up"].weight[1].T)
    weight = plain["up"].weight
    nn.convert_model(plain, "ufp4", seed=1, keep=("router",))
    assert type(plain["router"]) is torch.nn.Linear and plain["up"].weight is weight
    assert [(plain[name].label, plain[name].layer) for name in ("up", "down")] == [("up", 0), ("down", 4)]
    nn.set_step(plain, 2)
    with nn.capture(plain) as records:
        plain["down"](plain["up"](torch.ones(4, 2, 16, requires_grad=True))).sum().backward()
    assert len(records) == 2 * 4 * 6
    assert {record.name for record in records} == {f"{name}[{number}]" for name in ("up", "down") for number in range(4)}
    assert {record.layer for record in records} == set(range(8))


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda e: e(torch.ones(2, 3, 16)), ShapeError, r"mlp: x has shape \(2, 3, 16\): give \[3, tokens, features\], or counts="),
        (lambda e: e(torch.ones(5, 16), counts=(1, 2)), ShapeError, r"mlp: counts are 2 numbers of sum 3, x has 5 tokens, 3 experts"),
        (lambda e: e(torch.ones(3, 3, 15)), ShapeError, r"mlp: x has 15 features, not 16"),
        (lambda e: nn.QuantExperts(3, 20, 16, label="mlp"), ShapeError, r"mlp: fprop.x has length 20, no multiple of 16"),
        (lambda e: nn.QuantExperts(0, 16, 16), OperandError, r"experts: there must be at least one"),
    ],
)
def test_one_line_for_bad_input(work, error, message):
    with pytest.raises(error, match=message):
        work(nn.QuantExperts(3, 16, 16, label="mlp"))


PAIRS = [("nvfp4_te_train", "blackwell_mxf4nvf4_b16_ue4m3"), ("mxfp4_train", "blackwell_mxf4_b32_ue8m0"), ("nve0m3", "blackwell_e0m3_f35")]


@pytest.mark.parametrize(("training", "datapath"), PAIRS)
def test_products_through_a_datapath_equal_the_reference_model(training, datapath):
    torch.manual_seed(5)
    size = 32
    layer = nn.QuantLinear(size, size, training=training, gemm=datapath)
    with nn.capture(layer) as records:
        y, dx, dw = passed(layer, torch.randn(6, size))
    found = {f"{item.gemm}.{item.operand}": item for item in records}
    for gemm, first, second, result in (("fprop", "x", "w", y), ("dgrad", "dy", "w", dx), ("wgrad", "dy", "x", dw)):
        left, right = (quantized(found[f"{gemm}.{name}"]) for name in (first, second))
        left, right = (left.T if gemm == "wgrad" else left), (right.T if gemm == "fprop" else right)
        wanted = emu.matmul(left, right, datapath, order=emu.Order(tail="zero_pad"), engine="exact")
        assert np.array_equal(wanted.view(np.uint32), result.numpy().view(np.uint32))
    plain = nn.QuantLinear(size, size, training=training)
    assert not torch.equal(plain(torch.ones(1, size)), torch.zeros(1, size))


def quantized(record):
    """A captured operand as emu.quantize gives it."""
    from emu.ops.quantized import make_quantized

    levels = {name: level.contiguous().numpy() for name, level in record.levels.items()}
    levels = {name: level.view(f"u{level.itemsize}").reshape(() if name == "tensor" else level.shape) for name, level in levels.items()}
    codes = record.codes.contiguous().numpy()
    return make_quantized(codes, levels, record.recipe, codes.shape, record.axis, 1 - record.axis)


def test_datapaths_that_do_not_take_the_operands():
    with pytest.raises(SpecError, match=r"up: gemm='blackwell_mxf4nvf4_b16_ue4m3': .*: use gemm='fp32', or a datapath"):
        nn.QuantLinear(16, 16, gemm="blackwell_mxf4nvf4_b16_ue4m3", label="up")
    with pytest.raises(SpecError, match=r"layer 0: gemm='fp16': datapath 'fp16' is unknown"):
        nn.QuantLinear(16, 16, gemm="fp16")
    layer = nn.QuantLinear(5, 3, training="bf16", gemm="blackwell_mxf4nvf4_b16_ue4m3")
    assert layer(torch.ones(2, 5)).shape == (2, 3)
