"""emu quantize --recipe-for: each tensor is as a file of its recipe alone has it; bad patterns are one line."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import emu
from emu.cli.main import run
from emu.files import StoredFile

RNG = np.random.default_rng(11)
MODEL = {
    f"model.layers.{layer}.{name}.weight": RNG.standard_normal((8, 64)).astype(kind)
    for layer in range(2)
    for name, kind in (("q_proj", np.float32), ("up_proj", ml_dtypes.bfloat16), ("down_proj", np.float16))
} | {"model.norm.weight": np.ones(64, np.float32), "lm_head.weight": RNG.standard_normal((8, 64)).astype(np.float32)}
NVFP4, MXFP4, MXFP8 = "nvfp4_modelopt", "mxfp4_torchao_floor", "mxfp8_e4m3_torchao_rceil"
MIXED = ("-r", NVFP4, "--recipe-for", f"*.up_proj.*={MXFP4}", "--recipe-for", f"*.1.*={MXFP8}", "--include", "lm_head*")
WANTED = {
    name: MXFP8 if ".1." in name else MXFP4 if "up_proj" in name else NVFP4 for name in MODEL if name != "model.norm.weight"
}  # the last match wins


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_file(MODEL, tmp_path / "m.safetensors")
    return tmp_path


def quantized(*words):
    return run(["quantize", "m.safetensors", "-q", *words])


def refused(capsys, here, *words):
    """The one line of a refusal that leaves nothing."""
    capsys.readouterr()
    before = sorted(path.name for path in here.iterdir())
    assert quantized(*words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("emu: ")
    assert said.err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == before
    return said.err.removeprefix("emu: ").rstrip()


def test_each_tensor_is_as_its_recipe_alone_writes_it(here):
    assert quantized(*MIXED) == 0
    mixed = load_file("m.mixed.safetensors")
    alone = {recipe: here / f"{recipe}.safetensors" for recipe in (NVFP4, MXFP4, MXFP8)}
    for recipe, path in alone.items():
        assert quantized("-r", recipe, "--include", "lm_head*", "-o", str(path)) == 0
    seen = set()
    with StoredFile("m.mixed.safetensors") as stored:
        assert {name: recipe.id for name, recipe in stored.recipes.items()} == WANTED
        for name, recipe in WANTED.items():
            arrays = {key: array for key, array in load_file(alone[recipe]).items() if key.startswith(f"{name}.")}
            seen |= set(arrays)
            assert len(arrays) == 1 + len(stored.tensors[name].levels)
            assert all(np.array_equal(mixed[key], array) and mixed[key].dtype == array.dtype for key, array in arrays.items())
            with StoredFile(alone[recipe]) as other:
                values = other.quantized(name).dequantize()
            assert stored.quantized(name).dequantize().tobytes() == values.tobytes()
    assert seen == set(mixed)
    assert run(["dequantize", "m.mixed.safetensors", "-o", "y.safetensors", "-q"]) == 0
    found = load_file("y.safetensors")
    assert sorted(found) == sorted(WANTED)
    assert all(array.tobytes() == emu.quantize(MODEL[name], WANTED[name]).dequantize().tobytes() for name, array in found.items())


def test_one_recipe_in_the_end_is_the_file_of_that_recipe(here):
    assert quantized("-r", NVFP4, "--recipe-for", f"*={MXFP4}") == 0
    assert quantized("-r", MXFP4, "-o", "alone.safetensors") == 0
    assert (here / f"m.{MXFP4}.safetensors").read_bytes() == (here / "alone.safetensors").read_bytes()


def test_the_report_names_the_recipe_of_each_tensor(capsys):
    assert run(["quantize", "m.safetensors", *MIXED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["tensor"]: row["recipe"] for row in found["tensors"]} == WANTED | {"model.norm.weight": None}
    assert sorted(found["recipes"]) == sorted((NVFP4, MXFP4, MXFP8))
    assert run(["quantize", "m.safetensors", *MIXED, "--force"]) == 0
    said = capsys.readouterr()
    assert f"by {MXFP8}" in next(line for line in said.out.splitlines() if line.startswith("model.layers.1.up_proj"))
    assert "7 of 8 tensors by " in said.err
    assert run(["dequantize", "m.mixed.safetensors", "--json"]) == 0
    profiles = {NVFP4: "modelopt", MXFP4: "torchao", MXFP8: "exact"}
    assert json.loads(capsys.readouterr().out)["profiles"] == profiles


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("*.up_proj.*=mxfp4_torchao_flor", "is unknown: did you mean mxfp4_torchao_floor"),
        ("*.up_proj.*=nvfp4", "recipe 'nvfp4' is a family"),
        ("*.up_proj.*", "write GLOB=RECIPE"),
        (f"={MXFP4}", "write GLOB=RECIPE"),
        ("*=", "write GLOB=RECIPE"),
        (f"*.UP_proj.*={MXFP4}", f"m.safetensors: --recipe-for '*.UP_proj.*={MXFP4}' matches no tensor: it holds lm_head.weight, "),
        (f"lm_head*={MXFP4}", "matches no tensor that is taken: lm_head.weight: an output head: deployments keep it (--include takes it)"),
        (f"*.down_proj.*={MXFP4}", "matches no tensor that is taken: model.layers.0.down_proj.weight: not chosen by --select"),
    ],
)
def test_bad_patterns_are_one_line(here, capsys, pattern, told):
    chosen = ("--select", "*head*", "--select", "*q_proj*", "--select", "*up_proj*")
    assert told in refused(capsys, here, "-r", NVFP4, *chosen, "--recipe-for", pattern)


def test_a_pattern_that_a_later_one_covers_is_one_line(here, capsys):
    said = refused(capsys, here, "-r", NVFP4, "--recipe-for", f"*.0.up*={MXFP8}", "--recipe-for", f"*up*={MXFP4}")
    told = f"'*.0.up*={MXFP8}' decides nothing: --recipe-for '*up*={MXFP4}' stands after it and matches model.layers.0.up_proj.weight"
    assert told in said
    assert quantized("-r", NVFP4, "--recipe-for", f"*up*={MXFP4}", "--recipe-for", f"*.0.up*={MXFP8}") == 0


def test_what_a_recipe_does_not_take_is_said_of_its_own_tensors(here, capsys):
    save_file({"a.weight": np.ones((4, 16), np.float32), "b.weight": np.ones((4, 16), np.float32)}, here / "m.safetensors")
    words = ("-r", NVFP4, "--recipe-for", f"b*={MXFP4}")
    assert "length 16 is no multiple of the block of 32" in refused(capsys, here, *words)
    assert f"tensor b.weight: {MXFP4} does not take it" in refused(capsys, here, *words, "--strict")


def test_random_bits_signs_and_maxima_reach_the_recipes_that_take_them(here, capsys):
    draws, turns = "ufp4_sr", "ufp4"
    words = ("-r", NVFP4, "--recipe-for", f"*.up_proj.*={draws}", "--recipe-for", f"*.down_proj.*={turns}", "-o", "q.safetensors")
    assert f"recipe {draws} draws random bits" in refused(capsys, here, *words)
    assert "draws no random bits" in refused(capsys, here, "-r", NVFP4, "--recipe-for", f"*up*={MXFP4}", "--random-key", "5")
    assert "rotates nothing" in refused(capsys, here, "-r", NVFP4, "--recipe-for", f"*up*={MXFP4}", "--signs", "0xD7E8")
    (here / "maxima.json").write_text(json.dumps({f"model.layers.{layer}.q_proj.weight": 8 for layer in range(2)}))
    assert quantized(*words, "--random-key", "5", "--signs", "0xD7E8", "--amax-file", "maxima.json") == 0
    found = load_file("q.safetensors")
    name = "model.layers.1.{}.weight"
    q_proj, down = name.format("q_proj"), name.format("down_proj")
    assert found[f"{q_proj}.codes"].tobytes() == emu.quantize(MODEL[q_proj], NVFP4, tensor_amax=np.float32(8)).pack().tobytes()
    assert found[f"{down}.codes"].tobytes() == emu.quantize(MODEL[down], turns, signs=0xD7E8).pack().tobytes()
    assert run(["quantize", "m.safetensors", "-q", "-r", draws, "--random-key", "5", "--signs", "0xD7E8", "-o", "alone.safetensors"]) == 0
    up = name.format("up_proj")
    assert found[f"{up}.codes"].tobytes() == load_file("alone.safetensors")[f"{up}.codes"].tobytes()
    with StoredFile("q.safetensors") as stored:
        assert stored.tensors[q_proj].random is None
        assert stored.tensors[q_proj].signs is None
        assert stored.tensors[down].random is None
        assert stored.tensors[up].random["key"] == 5


def test_a_profile_that_one_recipe_lacks_is_one_line(here, capsys):
    assert quantized(*MIXED) == 0
    capsys.readouterr()
    assert run(["dequantize", "m.mixed.safetensors", "--profile", "torchao", "-o", "y.safetensors"]) == 2
    said = capsys.readouterr().err
    assert said == f"emu: recipe {NVFP4} has no dequantize profile 'torchao': one of modelopt\n"
    assert not (here / "y.safetensors").exists()


def test_a_changed_recipe_is_noticed(here, capsys):
    assert quantized(*MIXED) == 0
    data = (here / "m.mixed.safetensors").read_bytes()
    old, new = (f'\\"recipe\\": \\"{recipe}\\"'.encode() for recipe in (NVFP4, "nvfp4_torchao"))
    assert data.count(old) == 3
    for change in (data.replace(old, new.ljust(len(old))), data.replace(old, old[:-3] + b'u\\"')):
        (here / "bad.safetensors").write_bytes(change)
        capsys.readouterr()
        assert run(["dequantize", "bad.safetensors"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("emu: bad.safetensors: ")
        assert said.count("\n") == 1
    assert not (here / "bad.values.safetensors").exists()
