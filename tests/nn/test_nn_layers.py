"""Layers in models: conversion, kept layers, steps, compiled graphs, resumed runs, and one line for each bad input."""

from __future__ import annotations

import copy
import importlib
import os
import shutil

import pytest

from emu.base.errors import EmuError, EngineError, OperandError, ShapeError, SpecError

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
nn = importlib.import_module("emu.nn")


def model(training="ufp4", seed=0, **options):
    torch.manual_seed(1)
    plain = torch.nn.Sequential(
        torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(64, 64, bias=False)), torch.nn.Linear(64, 32)
    )
    return nn.convert_model(plain, training, seed=seed, **options)


def data(step):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(33, 32, generator=generator), torch.randn(33, 32, generator=generator)


def run(network, steps, optimizer=None, forward=None):
    """Train; return the losses."""
    optimizer = optimizer or torch.optim.Adam(network.parameters(), lr=1e-3)
    losses = []
    for step in steps:
        nn.set_step(network, step)
        x, target = data(step)
        optimizer.zero_grad()
        loss = ((forward or network)(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


def bits(network):
    return [value.detach().view(torch.int32).tolist() for value in network.parameters()]


def test_convert_model_keeps_parameters_and_numbers_layers():
    torch.manual_seed(1)
    plain = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Linear(64, 32, bias=False))
    weight, names = plain[0].weight, list(plain.state_dict())
    network = nn.convert_model(plain, "ufp4", seed=7)
    assert network is plain and plain[0].weight is weight and list(plain.state_dict()) == names
    assert [(layer.label, layer.layer, layer.seed, layer.recipe) for layer in plain] == [("0", 0, 7, "ufp4"), ("1", 1, 7, "ufp4")]


def test_kept_layers_come_from_the_training_recipe():
    layers = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(10)))
    assert [layer.recipe for layer in nn.convert_model(layers, "nvfp4_te_train")] == ["nvfp4_te_train"] * 8 + ["bf16"] * 2
    named = nn.convert_model(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 5)), "ufp4", keep=("1",))
    assert type(named[1]) is torch.nn.Linear and named[0].layer == 0


def test_a_layer_of_two_names_stays_one_layer():
    shared, inner = torch.nn.Linear(16, 16), torch.nn.Sequential(torch.nn.Linear(16, 16))
    network = torch.nn.ModuleDict({"a": shared, "b": torch.nn.Sequential(shared, inner), "c": inner, "d": torch.nn.Linear(16, 16)})
    nn.convert_model(network, "ufp4")
    assert type(network["a"]) is nn.QuantLinear and network["b"][0] is network["a"]
    assert network["c"][0] is network["b"][1][0]
    assert [(layer.label, layer.layer) for layer in (network["a"], network["c"][0], network["d"])] == [("a", 0), ("b.1.0", 1), ("d", 2)]


class Own(torch.nn.Linear):
    """A subclass with another product."""

    def forward(self, x):
        return 2 * super().forward(x)


def linear(change):
    layer = torch.nn.Linear(16, 16)
    change(layer)
    return layer


def own_forward(layer):
    layer.forward = lambda x: x


REFUSED = {
    "Own is a subclass, and what it multiplies is not known: list it in keep=, or put a plain torch.nn.Linear": lambda: Own(16, 16),
    "LazyLinear is a subclass": lambda: torch.nn.LazyLinear(16),
    "ParametrizedLinear is a subclass": lambda: linear(torch.nn.utils.parametrizations.weight_norm),
    "QuantLinear is quantized already: convert a plain model once": lambda: nn.QuantLinear(16, 16),
    "Linear has hooks, which its quantized form would not have": lambda: linear(lambda layer: layer.register_forward_hook(lambda *_: None)),
    "Linear has a forward of its own": lambda: linear(own_forward),
    "Linear has adapter beside its weight": lambda: linear(lambda layer: layer.register_module("adapter", torch.nn.Identity())),
    "Linear has scale beside its weight": lambda: linear(lambda layer: layer.register_buffer("scale", torch.ones(1))),
    "TransformerEncoderLayer is not supported": lambda: torch.nn.TransformerEncoderLayer(16, 2, 16),
}


@pytest.mark.parametrize(("line", "layer"), REFUSED.items(), ids=[line.partition(":")[0] for line in REFUSED])
def test_layers_that_would_stay_as_they_are_are_refused_by_name(line, layer):
    network = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Sequential(layer()))
    with pytest.raises(OperandError) as caught:
        nn.convert_model(network, "ufp4", keep=("1.0.self_attn",) if "Encoder" in line else ())
    assert str(caught.value).startswith(f"1.0: {line}") and "\n" not in str(caught.value)
    assert type(network[0]) is torch.nn.Linear, "nothing was done"
    nn.convert_model(network, "ufp4", keep=("1.0",))
    assert type(network[0]) is nn.QuantLinear and str(caught.value)[5:].startswith(type(network[1][0]).__name__)


def test_a_layer_that_is_kept_under_one_of_its_names_is_refused():
    shared = torch.nn.Linear(16, 16)
    network = torch.nn.ModuleDict({"a": shared, "b": shared, "c": torch.nn.Linear(16, 16)})
    with pytest.raises(OperandError, match=r"keep: b and a are one module: list both, or neither"):
        nn.convert_model(network, "ufp4", keep=("b",))
    assert type(nn.convert_model(network, "ufp4", keep=("a", "b"))["a"]) is torch.nn.Linear


def passes(network, x):
    """Output and gradients of one pass, as they are."""
    x = x.clone().requires_grad_()
    network.zero_grad()
    y = network(x)
    y.sin().sum().backward()
    return [y.detach(), x.grad, *(value.grad for value in network.parameters())]


@pytest.mark.parametrize("training", ["bf16", "ufp4"])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_autocast_does_not_change_a_product(training, backend):
    network = model(training)
    wanted = passes(network, data(0)[0])
    forward = network if backend is None else torch.compile(network, backend=backend)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = [forward(data(0)[0]), *passes(network, data(0)[0])]
    for mine, theirs in zip([wanted[0], *wanted], found, strict=True):
        assert mine.dtype == theirs.dtype and torch.equal(mine, theirs)


def test_bf16_products_are_those_of_rounded_operands():
    layer = nn.QuantLinear(5, 3, bias=True, training="bf16")
    x = torch.randn(2, 7, 5)
    wanted = x.bfloat16().float().reshape(-1, 5) @ layer.weight.bfloat16().float().T
    assert torch.equal(layer(x), wanted.reshape(2, 7, 3) + layer.bias)


def test_the_step_and_the_seed_change_the_draws_and_nothing_else():
    first, second, third, other = model(), model(), model(), model(seed=1)
    x, target = data(0)
    gradients = []
    for network, step in ((first, 3), (second, 3), (third, 4), (other, 3)):
        nn.set_step(network, step)
        y = network(x)
        (y - target).square().mean().backward()
        gradients.append((y.detach(), network[0].weight.grad))
    assert torch.equal(gradients[0][0], gradients[1][0]) and torch.equal(gradients[0][1], gradients[1][1])
    assert torch.equal(gradients[0][0], gradients[2][0]) and not torch.equal(gradients[0][1], gradients[2][1])
    assert not torch.equal(gradients[0][0], gradients[3][0])


@pytest.mark.parametrize("training", ["ufp4", "nvfp4_te_train"])
def test_a_resumed_run_has_the_same_bits(training):
    whole = model(training)
    losses, _ = run(whole, range(6))
    half = model(training)
    head, optimizer = run(half, range(3))
    saved = copy.deepcopy((half.state_dict(), optimizer.state_dict()))
    again = model(training)
    again.load_state_dict(saved[0])
    optimizer = torch.optim.Adam(again.parameters(), lr=1e-3)
    optimizer.load_state_dict(saved[1])
    tail, _ = run(again, range(3, 6), optimizer)
    assert head + tail == losses
    assert bits(again) == bits(whole)


NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, inside inductor
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=[pytest.mark.exhaustive, NEEDS_COMPILER])])
def test_a_compiled_model_has_the_same_bits(backend):
    eager, compiled = model(), model()
    forward = torch.compile(compiled, backend=backend, fullgraph=True)
    wanted, _ = run(eager, range(4))
    found, _ = run(compiled, range(4), forward=forward)
    assert (found, bits(compiled)) == (wanted, bits(eager))


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputed_activations_have_the_same_bits(reentrant):
    from torch.utils.checkpoint import checkpoint

    plain, sparing = model(), model()
    wanted, _ = run(plain, range(2))
    found, _ = run(sparing, range(2), forward=lambda x: checkpoint(sparing, x.requires_grad_(), use_reentrant=reentrant))
    assert (found, bits(sparing)) == (wanted, bits(plain))


@pytest.mark.parametrize("reentrant", [False, True])
def test_activations_recomputed_at_another_step_are_refused(reentrant):
    from torch.utils.checkpoint import checkpoint

    network = model()
    nn.set_step(network, 3)
    y = checkpoint(network, data(0)[0].requires_grad_(), use_reentrant=reentrant)
    nn.set_step(network, 4)
    with pytest.raises(OperandError, match="0: activations of step 3 are recomputed at step 4: call set_step after backward"):
        y.sum().backward()
    plain = network(data(0)[0])
    nn.set_step(network, 5)
    plain.sum().backward()  # nothing is recomputed: the backward pass has the step of its forward pass


def test_other_dtypes_keep_theirs():
    layer = nn.QuantLinear(32, 16, dtype=torch.bfloat16)
    x = torch.randn(4, 32, dtype=torch.bfloat16, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert (y.dtype, x.grad.dtype, layer.weight.grad.dtype) == (torch.bfloat16,) * 3
    frozen = nn.QuantLinear(32, 16)
    frozen.weight.requires_grad_(False)
    x = torch.randn(4, 32, requires_grad=True)
    frozen(x).sum().backward()
    assert frozen.weight.grad is None and x.grad is not None


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda: nn.QuantLinear(40, 32, label="up"), ShapeError, r"up: fprop.x has length 40, no multiple of 16: use multiples of 16"),
        (lambda: nn.QuantLinear(32, 40, training="mxfp4_train"), ShapeError, r"layer 0: dgrad.dy has length 40, no multiple of 32"),
        (lambda: nn.QuantLinear(16, 16, training="upf4"), SpecError, r"training 'upf4' is unknown: did you mean ufp4"),
        (lambda: nn.QuantLinear(16, 16, seed=-1), OperandError, r"seed -1 must be in 0 \.\."),
        (lambda: nn.QuantLinear(16, 16)(torch.ones(3, 15)), ShapeError, r"layer 0: x has 15 features, not 16"),
        (lambda: nn.set_step(model(), -1), OperandError, r"step -1 must be in 0 \.\. 4294967295"),
        (lambda: nn.set_step(torch.nn.Linear(2, 2), 1), OperandError, r"the model has no quantized layers: call convert_model first"),
        (lambda: model(keep=("nine",)), OperandError, r"keep: the model has no module 'nine'"),
        (lambda: nn.convert_model(torch.nn.ReLU()), OperandError, r"the model has no torch.nn.Linear and no Experts to convert"),
        (lambda: nn.convert_model(torch.nn.Linear(16, 16)), OperandError, r"the model itself is a linear layer: put it into"),
        (
            lambda: nn.convert_model(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Conv2d(3, 8, 3))),
            OperandError,
            r"1: Conv2d is not supported: list it in keep=, or build it from torch.nn.Linear",
        ),
        (
            lambda: nn.convert_model(torch.nn.Sequential(torch.nn.Linear(16, 24))),
            ShapeError,
            r"0: dgrad.dy has length 24, no multiple of 16: use multiples of 16, or list the layer in keep=",
        ),
    ],
)
def test_one_line_for_bad_input(work, error, message):
    with pytest.raises(error, match=message) as caught:
        work()
    assert isinstance(caught.value, EmuError) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_gradients_that_are_no_numbers_name_the_layer(value):
    network = model()
    nn.set_step(network, 9)
    y = network(data(0)[0])
    bad = torch.zeros_like(y)
    bad[0, 0] = value
    with pytest.raises(OperandError, match=r"3: NaN or Inf in the gradient of its output at step 9: lower the learning rate or clip"):
        y.backward(bad)


def test_hooks_see_the_product_of_the_recipe():
    plain, hooked = model(), model()
    seen = []
    hooked[0].register_forward_pre_hook(lambda layer, args: (args[0] * 2,))
    hooked[0].register_forward_hook(lambda layer, args, y: seen.append((args[0], y)))
    hooked[0].register_full_backward_hook(lambda layer, dx, dy: seen.append(dy))
    passes(hooked, data(0)[0])
    assert torch.equal(seen[0][0], data(0)[0] * 2) and torch.equal(seen[0][1], plain[0](data(0)[0] * 2)) and len(seen) == 2


@pytest.mark.parametrize("name", ["mkldnn", "cuda"])
def test_narrow_products_of_one_library_are_refused(name):
    if not hasattr(getattr(torch.backends, name), "matmul") or not hasattr(getattr(torch.backends, name).matmul, "fp32_precision"):
        pytest.skip("this torch has one setting for all libraries")
    layer, setting = nn.QuantLinear(16, 16), getattr(torch.backends, name).matmul
    before, setting.fp32_precision = setting.fp32_precision, "tf32"
    try:
        with pytest.raises(EngineError, match="set_float32_matmul_precision"):
            layer(torch.ones(2, 16))
    finally:
        setting.fp32_precision = before


def test_narrow_products_of_torch_are_refused():
    layer = nn.QuantLinear(16, 16)
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(EngineError, match="set_float32_matmul_precision"):
            layer(torch.ones(2, 16))
    finally:
        torch.set_float32_matmul_precision("highest")
