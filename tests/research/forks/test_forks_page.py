"""The section of forks on the page of training: what is told of a record, and what of one that is not finished."""

import json
import math
from collections import Counter

from emu.pages.render import render
from research.forks.config import load
from research.forks.plan import forks_of
from research.forks.record import KIND, RECORD
from research.pages import TEMPLATES
from research.pages.training_forks import forks_section

KL = {"bf16": 1e-6, "ufp4": 0.02, "e2m1_baseline": 0.025}


def figures(item, config):
    kl = KL.get(item.training, 0.03) * math.exp(item.seed / 10 + item.draw / 100)
    count = len(config.lengths) if item.part == "length" else 1
    found = {
        "kl": [kl] * count,
        "kl_exact": [kl / 2] * count,
        "gap": [kl] * count,
        "gap_exact": [kl / 2] * count,
        "loss_bf16": [2.0] * count,
    }
    error = [kl, 1.0, 1.0, 0.0]
    return found | {"gradient": {"exact": error, "quantized": error}, "products": {}, "bits": "b"}


def kept(tiny, tmp_path, keep=lambda item: True):
    config = load(tiny)
    lines = [{**vars(item), **figures(item, config)} for item in forks_of(config) if keep(item)]
    error = {"exact": {"fprop": {"a": [0.1, 1.0, 1.0, 0.5], "b": [0.3, 1.0, 1.0, 0.5]}}, "quantized": {}}
    record = {
        "command": "c", "config": config.model_dump(mode="json", exclude_none=True), "config_digest": "d",
        "made_with": {"torch": "t", "threads": "1", "cpu": "c", "data": "d"}, "trainings": {},
        "planned": dict(Counter(item.part for item in forks_of(config))),
        "runs": lines, "layers": {"ufp4": {"dense": error}},
    }  # fmt: skip
    path = tmp_path / RECORD
    path.parent.mkdir(parents=True)
    KIND.write(path, record)
    return render("training", None, TEMPLATES, record_path="r", record_name="r", studies=[], forks=forks_section(tmp_path))


def rows(text, heading):
    section = text[text.index(f"#### {heading}\n") :].split("\n####")[0]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in section.splitlines() if row.startswith("| ")][1:]


def test_no_record_no_section(tmp_path):
    assert forks_section(tmp_path) is None


def test_the_primary_endpoint_comes_first(tiny, tmp_path):
    text = kept(tiny, tmp_path)
    assert "Divergence of `ufp4` over that of `e2m1_baseline`: **0.800 (0.800 to 0.800)**, below 1 on 3 of 3 runs, p = 0.25." in text
    assert text.index("## The answer") < text.index("## Appendix") < text.index("#### The primary endpoint")
    found = rows(text, "The primary endpoint")
    assert [row[0] for row in found[1:]] == ["dense", "experts", "**all**"]
    assert found[-1][1:3] == ["3", "3"]
    assert "and cannot be smaller than 0.25." in text
    assert "Not run:" not in text


def test_nulls_ablations_and_published_ratios(tiny, tmp_path):
    text = kept(tiny, tmp_path)
    assert rows(text, "Null forks")[1] == ["dense", "1.0", "1.0", "1e-06"]
    found = rows(text, "Ablations")[1:]
    assert [row[0] for row in found] == ["the same grid", "rotations"]  # the third was not run
    assert "Runs of each row: 2." in text
    assert found[0][2:] == ["1", "", "the same bits"]
    assert found[1][2:] == ["0.667 (0.667 to 0.667)", "> 0.99", "yes"]
    assert "| published: a large model |  |  |  | 0.77 |  |" in text
    assert "| fprop | `ufp4` | 0.2000 | 0.1000 to 0.3000 | 1.0000 | 50.0 |" in text


def test_lengths_have_a_row_each(tiny, tmp_path):
    text = kept(tiny, tmp_path)
    found = rows(text, "Over the length of a fork")[1:]
    assert [row[0] for row in found] == ["2", "3", "5"]
    assert found[0][3].startswith("0.800")
    assert "BF16 one step apart:" not in text  # no such fork was run here
    assert [row[4] for row in found] == ["1.0"] * 3  # draws differ by a factor of exp(0.01)


def test_what_was_not_run_is_told(tiny, tmp_path):
    text = kept(tiny, tmp_path, lambda item: item.part == "primary")
    assert "Not run: 16 forks of the configuration (ablation: 8 of 8, length: 8 of 8)." in text
    assert "12 forks of the 28 that the configuration asks for" in text
    assert "### Ablations" not in text


def test_an_order_without_enough_runs_is_open(tiny, tmp_path):
    """Three runs cannot reach p = 0.05: nothing is told, however large the effect."""
    text = kept(tiny, tmp_path)
    row = next(line for line in text.splitlines() if line.startswith("| ") and "`ufp4` < `e2m1_baseline`" in line)
    assert row.endswith("| 0.25 | 22.3 | > 0.99 | **open** |")
    assert "**Confirmed:" not in text and "**Open: " in text


def test_the_record_reads_back(tiny, tmp_path):
    kept(tiny, tmp_path)
    assert json.loads((tmp_path / RECORD).read_text("utf-8")) == KIND.read(tmp_path / RECORD)
