"""Products that no quantized layer makes: each is listed with the module that made it."""

from __future__ import annotations

import importlib
import os

import pytest

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
nn = importlib.import_module("emu.nn")


class Head(torch.nn.Module):
    """Attention with products of its own: one of activations, one with a parameter that is no layer's."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(16, 16) for _ in range(3))
        self.mixing = torch.nn.Parameter(torch.eye(16))

    def forward(self, x):
        weights = torch.softmax(torch.einsum("btc,bsc->bts", self.q(x), self.k(x)), -1)
        return torch.nn.functional.linear(weights @ self.v(x), self.mixing)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 16), Head(), torch.nn.Linear(16, 3))


X = torch.ones(2, 5, 16)


def test_a_plain_model_lists_every_product():
    with nn.unquantized_products(network()) as found:
        pass
    assert found == []
    plain = network()
    with nn.unquantized_products(plain) as found:
        plain(X)
    assert [item.name for item in found] == ["0", "1.q", "1.k", "1", "1.v", "1", "1", "2"]


def test_a_converted_model_lists_what_stayed():
    converted = nn.convert_model(network(), "ufp4", keep=("2",))
    with nn.unquantized_products(converted) as found, torch.no_grad():
        converted(X)
    assert [(item.name, item.backward) for item in found] == [("1", False)] * 3 + [("2", False)]
    assert found[0].shapes == ((2, 5, 16), (2, 16, 5)) and found[0].operation == "aten::bmm"
    with nn.unquantized_products(converted) as found:
        converted(X).sum().backward()
    assert {item.name for item in found if not item.backward} == {"1", "2"} and any(item.backward for item in found)
    noted = len(found)
    converted(X)
    assert len(found) == noted, "nothing is noted once the context is closed"


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_what_bypasses_a_module_is_seen(mode):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 16, batch_first=True).eval()
    with nn.unquantized_products(layer) as found, mode():
        layer(X)
    assert any(item.name == "" for item in found)


def test_a_model_of_quantized_layers_lists_nothing():
    converted = nn.convert_model(torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16)), "ufp4")
    with nn.unquantized_products(converted) as found:
        converted(X).sum().backward()
    assert found == []
