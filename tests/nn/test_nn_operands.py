"""Each operand of each product, for every training recipe: codes and levels against the reference model, from captured values alone.

The counter map, the axes and the padding are written again here from their documents.
"""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import emu
from emu.base.philox import draw
from emu.engines.exact.block import dequantize as dequantize_exact
from emu.engines.exact.block import quantize as quantize_exact
from emu.engines.exact.transform import transform_codes
from emu.spec import get
from emu.spec.training import derived_recipe

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
nn = importlib.import_module("emu.nn")
draws = importlib.import_module("emu.nn.draws")
SEED, LAYER, STEP = 77, 5, 1234
SUMMED = {"fprop.x": 1, "fprop.w": 1, "dgrad.dy": 1, "dgrad.w": 0, "wgrad.dy": 0, "wgrad.x": 0}
PLACE = {"x": 0, "w": 1, "dy": 2, "fprop": 0, "dgrad": 1, "wgrad": 2}


def captured(training, tokens=18, inputs=32, outputs=32, outliers=True):
    """Records of one forward and backward pass, with the output and the gradients."""
    generator = torch.Generator().manual_seed(3)
    layer = nn.QuantLinear(inputs, outputs, training=training, seed=SEED, layer=LAYER, label="it")
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator))
    x = torch.randn(tokens, inputs, generator=generator)
    if outliers:
        x = x * torch.exp(torch.randn(inputs, generator=generator))
    x.requires_grad_()
    dy = torch.randn(tokens, outputs, generator=generator) * 1e-3
    nn.set_step(layer, STEP)
    with nn.capture(layer) as records:
        y = layer(x)
        y.backward(dy)
    return {f"{item.gemm}.{item.operand}": item for item in records}, y.detach(), x.grad, layer.weight.grad


def reference_model(key, record, facts):
    """Codes and levels that the reference model gives for an operand, as rows along the summed axis, and the recipe."""
    gemm, operand = key.split(".")
    axis = SUMMED[key]
    recipe = derived_recipe(facts.recipe, facts.round)
    values = record.values.view(torch.int16).numpy().view(np.uint16)
    block = get("block", recipe.facts.block).facts.shape[1]
    multiple = max(block, 16 if facts.transform != "none" else 1)
    missing = -values.shape[axis] % multiple
    padding = ((0, 0), (0, missing)) if axis else ((0, missing), (0, 0))
    rows, source = np.pad(values, padding), get("format", "bf16")
    bits = get("rounding", facts.round).random_bits
    random = None
    if bits:
        stream = STEP | PLACE[operand] << 32 | PLACE[gemm] << 34 | LAYER << 37
        random = np.pad(draw(SEED, values.size, bits, stream).reshape(values.shape), padding)
        random = (random if axis else random.T).tolist()
    rows = (rows if axis else rows.T).tolist()
    signs = int(draw(SEED, 1, 16, PLACE[gemm] << 34 | 1 << 36 | LAYER << 37)[0])
    if facts.transform != "none":
        rotation = get("transform", facts.transform)
        own = signs if rotation.facts.signs_operand == "yes" else None
        rows = [[y for i in range(0, len(row), 16) for y in transform_codes(row[i : i + 16], source, rotation, own)] for row in rows]
        source = get("format", rotation.facts.result)
    own = signs if any(step.op == "transform" for step in recipe.facts.steps) else None
    return quantize_exact(recipe, rows, source, random=random, signs=own), recipe


@pytest.mark.parametrize("training", emu.spec.names("training"))
def test_every_operand_equals_the_reference_model(training):
    size = 32 if training == "mxfp4_train" else 16
    records, *_ = captured(training, 18, size, size)
    spec = emu.spec.get("training", training)
    assert set(records) == set(SUMMED)
    for gemm, operand, facts in spec.operands():
        key = f"{gemm}.{operand}"
        record = records[key]
        assert (record.name, record.layer, record.step, record.axis) == ("it", LAYER, STEP, SUMMED[key])
        if facts.recipe == "none":
            assert record.codes is None
            assert torch.equal(record.dequantized, record.values.to(torch.float32))
            continue
        wanted, recipe = reference_model(key, record, facts)
        turn = (lambda t: t) if SUMMED[key] else (lambda t: t.T)
        assert turn(record.codes).tolist() == wanted.codes
        for level in get("block", recipe.facts.block).facts.levels:
            found = turn(record.levels[level.name]).contiguous()
            mask = (1 << 8 * found.element_size()) - 1
            assert [[code & mask for code in row] for row in found.tolist()] == wanted.levels[level.name]
        values = turn(record.dequantized).contiguous().view(torch.int32)
        back = dequantize_exact(recipe, wanted.codes, wanted.levels)
        assert [[code & 0xFFFFFFFF for code in row] for row in values.tolist()] == back


@pytest.mark.parametrize("training", ["bf16", "ufp4", "nvfp4_te_train", "mxfp4_train", "e2m1_baseline"])
def test_products_of_the_values_straight_through(training):
    """Y, dX and dW are the float32 products of the dequantized operands, bit for bit: nothing else is in the gradient."""
    records, y, dx, dw = captured(training, tokens=40)
    value = {key: record.dequantized for key, record in records.items()}
    assert torch.equal(y, value["fprop.x"] @ value["fprop.w"].T)
    assert torch.equal(dx, value["dgrad.dy"] @ value["dgrad.w"])
    assert torch.equal(dw, value["wgrad.dy"].T @ value["wgrad.x"])


def test_operands_are_bf16_first():
    records, *_ = captured("ufp4")
    assert {record.values.dtype for record in records.values()} == {torch.bfloat16}
    assert torch.equal(records["fprop.w"].values, records["dgrad.w"].values)
    assert torch.equal(records["dgrad.dy"].values, records["wgrad.dy"].values)


def test_two_draws_for_dy_and_one_vector_of_signs_for_a_product():
    records, *_ = captured("ufp4")
    dgrad, wgrad = records["dgrad.dy"], records["wgrad.dy"]
    assert dgrad.stream != wgrad.stream
    assert {record.signs for key, record in records.items() if key.startswith("fprop")} == {records["fprop.x"].signs}
    assert len({records[key].signs for key in ("fprop.x", "dgrad.dy", "wgrad.dy")}) == 3
    assert [records[key].signs for key in ("fprop.w", "dgrad.w", "wgrad.x")] == [
        records[k].signs for k in ("fprop.x", "dgrad.dy", "wgrad.dy")
    ]
    te, *_ = captured("nvfp4_te_train")
    assert {record.signs for record in te.values()} == {None}


def test_random_bits_on_a_device_are_the_same_words():
    for count, bits, seed, stream in ((1, 8, 0, 0), (37, 8, 9, 1 << 37 | 3), (64, 16, (1 << 63) - 1, (1 << 64) - 1)):
        found = draws.random_tensor(count, bits, seed, stream, torch.device("cpu"))
        assert found.tolist() == draw(seed, count, bits, stream).tolist()


def test_the_device_path_gives_the_same_codes(monkeypatch):
    """What runs on CUDA, run on CPU tensors: the torch engine, the same codes, levels and values."""
    operand = importlib.import_module("emu.nn.operand")
    trainings = ("ufp4", "nvfp4_te_train", "mxfp4_train", "e2m1_rht3")
    first = [captured(name) for name in trainings]
    monkeypatch.setattr(operand, "_on_cpu", operand._on_device)
    for (wanted, *results), name in zip(first, trainings, strict=True):
        found, *again = captured(name)
        for key, record in found.items():
            if record.codes is not None:
                assert torch.equal(record.codes, wanted[key].codes)
                assert all(torch.equal(level, wanted[key].levels[name]) for name, level in record.levels.items())
            assert torch.equal(record.dequantized, wanted[key].dequantized)
        assert all(torch.equal(a, b) for a, b in zip(results, again, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.gpu
@pytest.mark.parametrize("training", ["ufp4", "nvfp4_te_train", "mxfp4_train", "int4_train"])
def test_cuda_gives_the_same_codes(training):
    layer = nn.QuantLinear(64, 32, training=training, seed=1, label="it")
    x = torch.randn(48, 64, generator=torch.Generator().manual_seed(4))
    found = []
    for device in ("cpu", "cuda"):
        layer.to(device)
        with nn.capture(layer) as records:
            layer(x.to(device).requires_grad_()).backward(torch.ones(48, 32, device=device) / 3)
        found.append(records)
    for cpu, cuda in zip(*found, strict=True):
        assert torch.equal(cpu.codes, cuda.codes.cpu())
        assert torch.equal(cpu.dequantized, cuda.dequantized.cpu())
