"""Experiments: data, weights and batches from the seed alone; experts against a token-by-token sum; captured operands; the text."""

import importlib
import json
import os

import pytest

from emu.files import open_tensors
from research.__main__ import run
from research.train.config import Corpus, Decoder, load
from research.train.plan import Run, runs_of
from research.train.results import read_record

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


def equal(a, b):
    return a.shape == b.shape and bool(torch.equal(a, b))


def test_runs_of_a_seed_start_alike_under_every_training(decoder):
    from research.train.decoder import DecoderRun

    config = load(decoder)
    made = [DecoderRun(Run(config, "dense", training, seed)) for training, seed in (("bf16", 0), ("ufp4", 0), ("ufp4", 1))]
    first, same, other = (list(item.model.parameters()) for item in made)
    assert all(equal(a, b) for a, b in zip(first, same, strict=True))
    assert not equal(first[0], other[0])
    batches = [item.batch() for item in made]
    assert equal(batches[0], batches[1])
    assert not equal(batches[0], batches[2])
    assert not equal(batches[0], made[0].batch())


def test_which_layers_are_quantized(decoder):
    from emu.nn import QuantExperts, QuantLinear
    from research.train.decoder import DecoderRun

    for model in ("dense", "experts"):
        found = DecoderRun(Run(load(decoder), model, "ufp4", 0)).model
        plain = {name for name, layer in found.named_modules() if type(layer) is torch.nn.Linear}
        assert plain == ({"head"} if model == "dense" else {"head", "layers.0.feed.router"})
        layers = [type(layer) for layer in found.modules() if isinstance(layer, QuantLinear | QuantExperts)]
        assert layers.count(QuantExperts) == (0 if model == "dense" else 2)
        assert layers.count(QuantLinear) == (8 if model == "dense" else 2)


def test_no_global_generator_is_read(decoder, student):
    from research.train.decoder import DecoderRun
    from research.train.student_teacher import StudentTeacherRun

    before = torch.random.get_rng_state()
    for path, make, model in ((decoder, DecoderRun, "experts"), (student, StudentTeacherRun, "loud")):
        experiment = make(Run(load(path), model, "ufp4", 0))
        experiment.loss(experiment.batch()).backward()
    assert equal(before, torch.random.get_rng_state())


def test_a_decoder_sees_no_later_byte(decoder):
    from research.train.decoder import DecoderRun

    experiment = DecoderRun(Run(load(decoder), "dense", "bf16", 0))
    codes = experiment.batch()[:, :-1]
    changed = codes.clone()
    changed[:, 20:] = (changed[:, 20:] + 1) % 256
    with torch.no_grad():
        one, two = experiment.model(codes), experiment.model(changed)
    assert equal(one[:, :20], two[:, :20])
    assert not equal(one[:, 20:], two[:, 20:])


def test_experts_against_a_sum_token_by_token():
    """The difference is the order of float32 sums of 32 terms: far below 2^-12 of the largest answer."""
    from research.train.experts import Mixture

    mixture = Mixture(Decoder(width=32, layers=1, heads=2, hidden=32, experts=3))
    generator = torch.Generator().manual_seed(0)
    for weight in mixture.parameters():
        weight.data.copy_(0.3 * torch.randn(weight.shape, generator=generator))
    x = torch.randn(2, 32, 32, generator=generator)
    with torch.no_grad():
        found = mixture(x).reshape(64, 32)
    taken = set()
    for token, row in enumerate(x.reshape(64, 32)):
        probability = torch.softmax(mixture.router(row), -1)
        expert = int(probability.argmax())
        taken.add(expert)
        gate, up = (mixture.gate_up.weight[expert] @ row).chunk(2)
        wanted = mixture.down.weight[expert] @ (torch.nn.functional.silu(gate) * up) * probability[expert]
        assert (found[token] - wanted).abs().max() <= 2**-12 * found.abs().max()
    assert taken == {0, 1, 2}


def test_text_is_split_by_file_and_has_no_docstring_twice():
    from research.train.corpus import mismatch, read_corpus

    corpus = Corpus(packages=("click",), validation_every=5, digest="0" * 64)
    text = read_corpus(corpus)
    assert 0 < len(text.validation) < len(text.train)
    other = read_corpus(corpus.model_copy(update={"validation_every": 2}))
    assert other.digest == text.digest
    assert len(other.train) + len(other.validation) == len(text.train) + len(text.validation)
    parts = bytes(text.train).decode().split("\n\n\n")
    assert len(parts) == len(set(parts))
    assert mismatch(corpus, text).startswith("the text of click ")
    assert mismatch(corpus.model_copy(update={"digest": text.digest}), text) is None


def test_captured_operands_are_those_of_the_step(tmp_path, student):
    assert run(["train", "--config", str(student), "--only", "bf16", "--seeds", "0", "--out", str(tmp_path), "--capture", "3", "-q"]) == 0
    (path,) = tmp_path.rglob("captured_step3.safetensors")
    with open_tensors(path) as file:
        shapes = {item.name: item.shape for item in file.tensors}
        tensors = {name: file.read(name) for name in shapes}
    config = load(student)
    rows, width, hidden = config.batch, config.width, config.hidden
    names = {f"layer{layer}.{name}" for layer in (0, 1) for name in ("fprop.x", "fprop.w", "dgrad.dy", "dgrad.w", "wgrad.dy", "wgrad.x")}
    assert set(shapes) == names - {"layer0.dgrad.dy", "layer0.dgrad.w"}  # nothing asks for the gradient of the inputs
    assert shapes["layer0.fprop.x"] == (rows, width)
    assert shapes["layer0.wgrad.x"] == (width, rows)
    assert (tensors["layer0.wgrad.x"] == tensors["layer0.fprop.x"].T).all()
    assert (tensors["layer1.dgrad.w"] == tensors["layer1.fprop.w"].T).all()
    assert shapes["layer1.wgrad.dy"] == (width, rows)
    assert shapes["layer1.fprop.x"] == (rows, hidden)
    assert (tensors["layer1.dgrad.dy"].view("u4") & 0xFFFF == 0).all()  # bf16 values


def test_command_prints_and_records(tmp_path, student, capsys):
    out, record, plot = tmp_path / "runs", tmp_path / "record.json", tmp_path / "loss.svg"
    arguments = ["train", "--config", str(student), "--out", str(out)]
    assert run([*arguments, "--only", "bf16", "--only", "ufp4", "--plot", str(plot), "--record", str(record)]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("figure") == 4
    assert len(printed.out.splitlines()) == 3
    assert plot.read_text("utf-8").startswith("<?xml")
    kept = read_record(record)["tiny_student"]
    assert (kept["planned"], len(kept["runs"])) == (6, 4)
    assert run([*arguments, "--only", "ufp4_sr_all", "--record", str(record), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["training"] for row in rows] == ["ufp4_sr_all"] * 2
    assert len(read_record(record)["tiny_student"]["runs"]) == 6
    assert run(["train", "--check", str(record)]) == 0
    record.write_text(record.read_text("utf-8").replace(kept["trainings"]["ufp4"], "0" * 64), encoding="utf-8")
    assert run(["train", "--check", str(record)]) == 1


def test_learning_rate_rises_and_falls(student):
    from research.train.loop import learning_rate

    facts = load(student).optimizer
    rates = [learning_rate(step, 12, facts) for step in range(12)]
    assert rates[:3] == [0.0005, 0.001, 0.001]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert facts.final_lr < rates[-1] < 0.0001


def test_shipped_runs_name_trainings_of_the_spec():
    from emu.spec import names
    from research.train.config import shipped

    for name in shipped():
        assert {one.training for one in runs_of(load(name))} <= set(names("training"))
