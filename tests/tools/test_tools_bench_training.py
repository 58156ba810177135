"""tools.bench --only train: rows, and that the peers' fake quantization is what it says; no time is judged here."""

from __future__ import annotations

import importlib
import json
import os

import pytest

from tools.bench.__main__ import run

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


def test_rows_of_training_steps(capsys, monkeypatch):
    training = importlib.import_module("tools.bench.training")
    monkeypatch.setattr(training, "TOKENS", 32)
    monkeypatch.setattr(training, "WIDTHS", ((32, 64), (64, 32)))
    assert run(["--repeats", "1", "--elements", "4096", "--only", "train ", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == [f"train {case.training} step" for case in training.CASES]
    assert all(row["elements"] == 2 * 2 * (32 * 96 + 32 * 64) and row["rate"] > 0 for row in rows)
    assert all(row["peer_rate"] for row in rows if "torchao" not in row["peer"])


def test_the_plain_emulation_rounds_to_e2m1_blocks():
    fake = importlib.import_module("tools.bench.fake_quantization")
    x = torch.randn(64, 32, generator=torch.Generator().manual_seed(1)).bfloat16()
    found = fake.plain_e2m1(x)
    scale = torch.exp2(torch.floor(torch.log2(x.float().reshape(64, 2, 16).abs().amax(-1, keepdim=True))) - 2)
    grid = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    assert torch.isin((found.reshape(64, 2, 16) / scale).abs(), grid).all()
    assert torch.equal(fake.plain_e2m1(torch.zeros(1, 16)), torch.zeros(1, 16))


def test_the_peer_model_has_the_same_six_operands():
    fake = importlib.import_module("tools.bench.fake_quantization")
    seen = []

    def note(x):
        seen.append(tuple(x.shape))
        return x.float()

    model = fake.with_fake_quantization(torch.nn.Sequential(torch.nn.Linear(16, 32, bias=False), torch.nn.ReLU()), note)
    model(torch.ones(48, 16, requires_grad=True)).sum().backward()
    assert sorted(seen) == sorted([(48, 16), (32, 16), (48, 32), (16, 32), (32, 48), (16, 48)])
