"""What the tests of training share: small configurations. No torch is imported here."""

from __future__ import annotations

from pathlib import Path

import pytest

STUDENT = """\
kind: "student_teacher"
id: "tiny_student"
title: "a student"
metric: "error"
steps: 12
batch: 32
checkpoint_every: 2
blocks: 1
width: 32
hidden: 32
student_noise: "0.3"
held_out: 64
optimizer: {lr: "0.001", final_lr: "0.00001", warmup: 2, betas: ["0.9", "0.95"], clip: "1.0"}
models:
  loud: {column_spread: "1.0"}
runs:
  - {models: ["loud"], trainings: ["bf16", "ufp4", "ufp4_sr_all"], seeds: [0, 1]}
"""
DECODER = """\
kind: "decoder"
id: "tiny_decoder"
title: "a decoder"
metric: "loss"
steps: 24
batch: 4
context: 32
checkpoint_every: 2
held_out: 8
corpus: {packages: ["click"], validation_every: 5, digest: "0000000000000000000000000000000000000000000000000000000000000000"}
optimizer: {lr: "0.004", final_lr: "0.0004", warmup: 2, betas: ["0.9", "0.95"], weight_decay: "0.1", clip: "1.0"}
models:
  dense: {width: 32, layers: 2, heads: 2, hidden: 32}
  experts: {width: 32, layers: 1, heads: 2, hidden: 32, experts: 2}
runs:
  - {models: ["dense", "experts"], trainings: ["bf16", "ufp4", "nvfp4_te_train"], seeds: [0]}
"""


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """The file of a small student and teacher."""
    path = tmp_path / "student.yaml"
    path.write_text(STUDENT, encoding="utf-8")
    return path


@pytest.fixture
def decoder(tmp_path: Path) -> Path:
    """The file of small decoders, dense and with experts, on the docstrings of click; its digest fits no text."""
    path = tmp_path / "decoder.yaml"
    path.write_text(DECODER, encoding="utf-8")
    return path
