"""What the tests of forks share: a small experiment. No torch is imported here."""

from __future__ import annotations

from pathlib import Path

import pytest

TINY = """\
kind: "forks"
id: "tiny"
title: "small forks"
corpus: {packages: ["click"], validation_every: 5, digest: "0000000000000000000000000000000000000000000000000000000000000000"}
batch: 2
context: 32
held_out: 4
base:
  steps: 4
  optimizer: {lr: "0.004", final_lr: "0.0005", warmup: 2, betas: ["0.9", "0.95"], weight_decay: "0.1", clip: "1.0"}
fork:
  steps: 3
  optimizer: {lr: "0.0005", final_lr: "0.00005", betas: ["0.9", "0.95"], weight_decay: "0.1", clip: "1.0"}
lengths: [2, 3, 5]
models:
  dense: {width: 32, layers: 1, heads: 2, hidden: 32}
  experts: {width: 32, layers: 1, heads: 2, hidden: 32, experts: 2}
grids:
  - {part: "primary", models: ["dense", "experts"], trainings: ["bf16", "ufp4", "e2m1_baseline"], seeds: [0], forks: [0], draws: [0, 1]}
  - {part: "primary", models: ["dense"], trainings: ["ufp4", "e2m1_baseline"], seeds: [1], forks: [0]}
  - {part: "ablation", models: ["dense"], trainings: ["e1m2_rht32", "nvufp4", "nve0m3", "ufp4_no_sr"], seeds: [0, 1], forks: [0]}
  - {part: "length", models: ["dense"], trainings: ["ufp4", "e2m1_baseline"], seeds: [0, 1], forks: [0], draws: [0, 1]}
primary: {figure: "kl", better: "ufp4", worse: "e2m1_baseline", claim: "a claim"}
secondary:
  - {figure: "gap", better: "ufp4", worse: "e2m1_baseline", claim: "another claim"}
ablations:
  - {figure: "kl", better: "nvufp4", worse: "nve0m3", claim: "the same grid"}
  - {figure: "kl", better: "ufp4", worse: "e1m2_rht32", claim: "rotations"}
  - {figure: "kl", better: "ufp4", worse: "int4_train", claim: "not run"}
published:
  - {ratio: "0.77", what: "a large model"}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The file of a small experiment, on the docstrings of click; its digest fits no text."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    return path
