"""The page of training runs: from a record, with orders that came out, did not, or differ; nothing where there is no record."""

import json
import xml.etree.ElementTree as ET

import pytest

from research.pages.training import PAGE, PICTURE, training_pages
from research.train.config import load
from research.train.results import RECORD, as_text, read_record


def line(model, training, seed, metric, weights=1000):
    return {
        "model": model, "training": training, "seed": seed, "metric": metric, "bits": "b", "weights": weights, "seconds": 1.0,
        "curve": [[4, 4.0 + metric], [8, metric]],
    }  # fmt: skip


def study(name, runs):
    config = load(name)
    made = {"torch": "t", "threads": "1", "cpu": "c", "data": config.corpus.digest if hasattr(config, "corpus") else ""}
    return {
        "command": f"research train {name}", "config": config.model_dump(mode="json", exclude_none=True), "config_digest": "d",
        "made_with": made, "trainings": {run["training"]: "0" * 64 for run in runs}, "planned": 99, "runs": runs,
    }  # fmt: skip


def pages(tmp_path, record):
    path = tmp_path / RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(record), encoding="utf-8")
    assert read_record(path) == json.loads(json.dumps(record))
    return training_pages(tmp_path)


def decoder_runs():
    sizes = {"dense_32": 1000, "dense_64": 10000, "dense_96": 100000}
    for model, weights in sizes.items():
        base = 1000 / weights**0.5 / 10 + 2
        for seed in range(3):
            yield line(model, "bf16", seed, base + seed / 100, weights)
            yield line(model, "ufp4", seed, (base + seed / 100) * 1.01, weights)
            yield line(model, "e2m1_baseline", seed, (base + seed / 100) * (1.02 if model != "dense_32" or seed else 1.005), weights)
            if model == "dense_64":
                yield line(model, "ufp4_no_sr", seed, (base + seed / 100) * 1.005, weights)


def test_no_record_no_page(tmp_path):
    assert training_pages(tmp_path) == {}


def test_orders_are_told_as_they_came_out(tmp_path):
    found = pages(tmp_path, {"decoder_cpu": study("decoder_cpu", list(decoder_runs()))})
    text = found[PAGE]
    rows = {cells[1]: cells for row in text.splitlines() if "` < `" in row and (cells := [c.strip() for c in row.split("|")])[0] == ""}
    assert rows["`bf16` < `ufp4`"][2:6] == ["dense_32, dense_64, dense_96", "9 of 9", "+1.00 ± 0.00", "> 0.99"]
    assert rows["`ufp4` < `e2m1_baseline`"][3] == "8 of 9"
    assert rows["`ufp4` < `ufp4_no_sr`"][2:5] == ["dense_64", "0 of 3", "-0.50 ± 0.00"]
    assert "no order here is told" in text
    assert "69 of the configuration not done yet" in text
    assert "| `ufp4` | dense, 1.5 billion parameters | +0.97 | paper |" in text


def test_gaps_stand_beside_each_other_and_the_cheapest_comes_first(tmp_path):
    text = pages(tmp_path, {"decoder_cpu": study("decoder_cpu", list(decoder_runs()))})[PAGE]
    table = text[text.index("| training | dense_32 | dense_64 | dense_96 |\n") :].split("\n\n")[0].splitlines()
    assert [line.split(" | ")[0] for line in table[2:]] == ["| `bf16`", "| `ufp4_no_sr`", "| `ufp4`", "| `e2m1_baseline`"]
    assert table[3] == "| `ufp4_no_sr` |  | +0.50 ± 0.00 (3) |  |"
    assert table[4] == "| `ufp4` | +1.00 ± 0.00 (3) | +1.00 ± 0.00 (3) | +1.00 ± 0.00 (3) |"


def test_inputs_of_one_size_are_not_taken_together(tmp_path):
    values = {("outliers", "bf16"): 0.004, ("outliers", "ufp4"): 0.02, ("gaussian", "bf16"): 0.01, ("gaussian", "ufp4"): 0.04}
    runs = [line(*key, seed, value) for key, value in values.items() for seed in range(3)]
    text = pages(tmp_path, {"student_teacher": study("student_teacher", runs)})[PAGE]
    assert "| `bf16` < `ufp4` | outliers | 3 of 3 | +400.00 ± 0.00 |" in text
    assert "| `bf16` < `ufp4` | gaussian | 3 of 3 | +300.00 ± 0.00 |" in text


def test_equal_bits_are_told(tmp_path):
    runs = list(decoder_runs())
    for place, run in enumerate(runs):
        run["bits"] = "same" if run["model"] == "dense_64" and run["training"] in ("ufp4", "ufp4_no_sr") else str(place)
    text = pages(tmp_path, {"decoder_cpu": study("decoder_cpu", runs)})[PAGE]
    assert "\nThe same weights at the end of every seed, bit for bit: `ufp4` = `ufp4_no_sr` on `dense_64`.\n" in text
    next(run for run in runs if run["training"] == "ufp4_no_sr")["bits"] = "other"
    assert "bit for bit: `" not in pages(tmp_path, {"decoder_cpu": study("decoder_cpu", runs)})[PAGE]


def test_fits_are_told_with_residuals(tmp_path):
    text = pages(tmp_path, {"decoder_cpu": study("decoder_cpu", list(decoder_runs()))})[PAGE]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("| `ufp4` |")]
    gap = next(row for row in rows if row[1:4] == ["+1.00", "+1.00", "+1.00"])
    assert gap[4:] in (["+0.00 ± 0.00", "0.00", "0.00"], ["-0.00 ± 0.00", "0.00", "0.00"])
    loss = next(row for row in rows if len(row) > 4 and row[4].startswith("-0."))
    assert len(loss) == 8


@pytest.mark.exhaustive
def test_figures_stand_beside_the_reference(tmp_path):
    runs = [line(model, "ufp4", seed, value) for model, value in (("outliers", 0.0228), ("gaussian", 0.04138)) for seed in range(3)]
    found = pages(tmp_path, {"student_teacher": study("student_teacher", runs)})
    assert "| outliers | `ufp4` | 0.02280 / 0.02280 / 0.02280 | 0.02280 ± 0.00000 | 0.02283 | 0.999 |  |" in found[PAGE]
    assert ET.fromstring(found[PICTURE]).tag.endswith("svg")


def test_other_text_is_told(tmp_path):
    one = study("decoder_cpu", list(decoder_runs()))
    one["made_with"]["data"] = "f" * 64
    assert f"`{'f' * 16}` in these runs: other versions." in pages(tmp_path, {"decoder_cpu": one})[PAGE]
