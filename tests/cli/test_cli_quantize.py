"""emu quantize and dequantize: bit-exact round trips of every kind of file, the policy of skipping, bad input, memory."""

import json
import subprocess
import sys
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.quantized_header import as_version_2, change_about

import emu
from emu.base.philox import stream_of, words
from emu.cli.main import run
from emu.spec import digest, get, names

ROOM = 6  # peak memory, in sizes of the largest tensor


def sample(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


TENSORS = {
    "a.matrix": sample((48, 64)),
    "b.half": sample((3, 5, 128), 2).astype(np.float16),
    "c.brain": sample((32, 64), 3).astype(ml_dtypes.bfloat16),
    "d.vector": sample(128, 4),
    "e.ids": np.arange(12),
    "f.scalar": np.array(1.5, np.float32),
    "g.odd": sample(7, 5),
}
TAKEN = ("a.matrix", "b.half", "c.brain", "d.vector")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(here):
    save_file(TENSORS, here / "model.safetensors")
    return "model.safetensors"


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def draws(name):
    return name == "ufp4_sr"


@pytest.mark.cases(10)
@pytest.mark.parametrize("recipe", names("recipe"))
def test_round_trip_of_every_recipe(model, recipe):
    key = ["--random-key", "5"] if draws(recipe) else []
    assert run(["quantize", model, "-r", recipe, "-q", *key]) == 0
    profiles = list(get("recipe", recipe).facts.dequantize)
    stored = load_file(f"model.{recipe}.safetensors")
    for profile in profiles:
        for dtype, word in ((np.float32, "fp32"), (ml_dtypes.bfloat16, "bf16")):
            out = f"{profile}.{word}.safetensors"
            assert run(["dequantize", f"model.{recipe}.safetensors", "--profile", profile, "--dtype", word, "-o", out, "-q"]) == 0
            values = load_file(out)
            assert len(values) >= 1
            for name, array in values.items():
                x = TENSORS[name]
                random = None if not draws(recipe) else words(5, x.size, stream=stream_of(name)).reshape(x.shape) & 255
                wanted = emu.quantize(x, recipe, random=random)
                assert same(stored[f"{name}.codes"], wanted.pack())
                assert same(array, wanted.dequantize(dtype, profile))


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("axis", [-1, 0])
def test_round_trip_of_every_file(here, kind, axis):
    x = TENSORS["a.matrix"]
    if kind == "npy":
        np.save("x.npy", x)
    elif kind == "npz":
        np.savez("x.npz", w=x)
    else:
        save_file({"w": x}, "x.safetensors")
    assert run(["quantize", f"x.{kind}", "-r", "nvfp4_te_ref", "--axis", str(axis), "-o", "q.safetensors"]) == 0
    wanted = emu.quantize(x, "nvfp4_te_ref", axis=axis).dequantize()
    for out in ("npy", "npz", "safetensors"):
        assert run(["dequantize", "q.safetensors", "-o", f"y.{out}"]) == 0
    assert same(np.load("y.npy"), wanted)
    key = "array" if kind == "npy" else "w"
    assert same(np.load("y.npz")[key], wanted)
    assert same(load_file("y.safetensors")[key], wanted)


def test_report_says_what_was_skipped_and_why(model, capsys):
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    reasons = {row["tensor"]: row["skipped"] for row in found["tensors"]}
    assert [name for name, reason in reasons.items() if reason is None] == list(TAKEN)
    assert reasons["e.ids"] == "dtype int64: not fp32, fp16 or bf16"
    assert reasons["f.scalar"] == "a scalar has no axis"
    assert reasons["g.odd"] == "one dimension of 7, no multiple of the block of 16"
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "--force"]) == 0
    assert "4 of 7 tensors by nvfp4_te_ref" in capsys.readouterr().err


def test_strict_makes_a_skip_an_error(model, capsys, here):
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "--strict"]) == 2
    assert "tensor e.ids: nvfp4_te_ref does not take it: dtype int64" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == [model]
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "--strict", "--select", "[a-d].*", "-q"]) == 0


def test_select(model, capsys):
    assert run(["quantize", model, "-r", "hif4", "--select", "a.*", "--select", "*.brain", "--json"]) == 0
    assert [row["tensor"] for row in json.loads(capsys.readouterr().out)["tensors"]] == ["a.matrix", "c.brain"]
    assert run(["quantize", model, "-r", "hif4", "--select", "zzz", "--force"]) == 2
    assert "no tensor matches zzz: it holds a.matrix" in capsys.readouterr().err


def test_tensor_amax_is_for_one_tensor(model, capsys):
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "--tensor-amax", "8"]) == 2
    assert "goes with one tensor, 4 are chosen" in capsys.readouterr().err
    for text in ("8", "0x41000000"):
        assert run(["quantize", model, "-r", "nvfp4_te_ref", "--tensor-amax", text, "--select", "a.*", "--force", "-q"]) == 0
        stored = load_file("model.nvfp4_te_ref.safetensors")
        assert same(stored["a.matrix.codes"], emu.quantize(TENSORS["a.matrix"], "nvfp4_te_ref", tensor_amax=np.float32(8)).pack())
        assert stored["a.matrix.level.tensor"] == 0x41000000


def test_random_key_belongs_to_recipes_that_draw(model, capsys):
    assert run(["quantize", model, "-r", "ufp4_sr"]) == 2
    assert "give --random-key" in capsys.readouterr().err
    assert run(["quantize", model, "-r", "ufp4", "--random-key", "1"]) == 2
    assert "leave --random-key out" in capsys.readouterr().err
    assert run(["quantize", model, "-r", "ufp4_sr", "--random-key", "-1"]) == 2


def test_selection_does_not_change_a_draw(model):
    assert run(["quantize", model, "-r", "ufp4_sr", "--random-key", "9", "-o", "all.safetensors", "-q"]) == 0
    assert run(["quantize", model, "-r", "ufp4_sr", "--random-key", "9", "--select", "c.*", "-o", "one.safetensors", "-q"]) == 0
    whole, one = load_file("all.safetensors"), load_file("one.safetensors")
    assert one
    assert all(same(array, whole[name]) for name, array in one.items())


def test_signs_reach_the_rotation(model, capsys):
    assert run(["quantize", model, "-r", "ufp4", "--signs", "0xD7E8", "--select", "a.*", "-q"]) == 0
    assert same(load_file("model.ufp4.safetensors")["a.matrix.codes"], emu.quantize(TENSORS["a.matrix"], "ufp4", signs=0xD7E8).pack())
    assert run(["quantize", model, "-r", "ufp4", "--signs", "many", "--force"]) == 2
    assert run(["quantize", model, "-r", "ufp4", "--signs", "0x10000", "--force"]) == 2
    assert "more than 16 bits" in capsys.readouterr().err


def test_raw_codes(here):
    bits = TENSORS["c.brain"].view(np.uint16)
    np.save("bits.npy", bits)
    assert run(["quantize", "bits.npy", "-r", "hif4", "-q"]) == 2
    assert run(["quantize", "bits.npy", "-r", "hif4", "--source", "bf16", "-q"]) == 0
    assert same(load_file("bits.hif4.safetensors")["array.codes"], emu.quantize(TENSORS["c.brain"], "hif4").pack())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_a_recipe_leaves_open_is_one_line(here, capsys, bad):
    x = sample((4, 64))
    x[1, 2] = bad
    save_file({"fine": sample((4, 64)), "bad": x}, "x.safetensors")
    assert run(["quantize", "x.safetensors", "-r", "hif4"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("emu: x.safetensors: tensor bad: quantize/hif4")
    assert err.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["x.safetensors"]
    assert run(["quantize", "x.safetensors", "-r", "nvfp4_te_ref", "-q"]) == 0


def test_existing_results_are_kept(model, capsys, here):
    (here / "q.safetensors").write_bytes(b"mine")
    assert run(["quantize", model, "-r", "hif4", "-o", "q.safetensors"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (here / "q.safetensors").read_bytes() == b"mine"
    assert run(["quantize", model, "-r", "hif4", "-o", "q.safetensors", "--force", "-q"]) == 0
    assert run(["dequantize", "q.safetensors", "-o", model]) == 2
    assert same(load_file(model)["a.matrix"], TENSORS["a.matrix"])


@pytest.mark.parametrize("out", ["none/q.safetensors", "q.npz", "."])
def test_impossible_results_are_one_line(model, capsys, here, out):
    assert run(["quantize", model, "-r", "hif4", "-o", out]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in here.iterdir()] == [model]


@pytest.mark.parametrize("keep", [0, 5, 100, 2000, -1])
def test_truncated_input_is_one_line(model, capsys, here, keep):
    assert run(["quantize", model, "-r", "hif4", "-q", "-o", "q.safetensors"]) == 0
    for name, words_ in ((model, ["quantize", model, "-r", "hif4"]), ("q.safetensors", ["dequantize", "q.safetensors"])):
        (here / name).write_bytes((here / name).read_bytes()[:keep])
        capsys.readouterr()
        assert run(words_) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"emu: {name}: ")
        assert err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == [model, "q.safetensors"]


@pytest.mark.parametrize("said", [{"signs": "0xD7E9"}, {"axis": 0, "row_axis": 1}, {"random": {"key": 6, "stream": 1}}, {"recipe": "ufp4"},
                                  {"shape": [48, 56]}, {"codes_shape": [48, 56]}, {"source": "bf16"}])  # fmt: skip
def test_a_changed_header_of_a_stored_file_is_one_line(model, capsys, here, said):
    """Sign mask, axis, random key, recipe, shape, padding, source: none is read as if it were what was written."""
    words_ = ["--random-key", "5", "--signs", "0xD7E8", "-q", "-o", "q.safetensors", "--select", "a.*"]
    assert run(["quantize", model, "-r", "ufp4_sr", *words_]) == 0

    def change(about):
        about["recipes"]["ufp4"] = {"block": "ufp4", "digest": digest(get("recipe", "ufp4")), "tail": get("recipe", "ufp4").facts.tail}
        entry = about["tensors"]["a.matrix"]
        assert all(entry[key] != value for key, value in said.items())
        entry.update(said)

    change_about(here / "q.safetensors", change)
    capsys.readouterr()
    assert run(["dequantize", "q.safetensors"]) == 2
    told = "its bytes or what is said of it are not those that were written: the file is damaged, quantize again"
    assert capsys.readouterr().err == f"emu: q.safetensors: tensor a.matrix: {told}\n"
    assert sorted(path.name for path in here.iterdir()) == [model, "q.safetensors"]


def test_contradictions_in_a_stored_file_are_one_line(model, capsys, here):
    assert run(["quantize", model, "-r", "nvfp4_te_ref", "-q", "-o", "q.safetensors", "--select", "a.*"]) == 0
    as_version_2(here / "q.safetensors")
    data = (here / "q.safetensors").read_bytes()
    for old, new, says in (
        (b'\\"codes_shape\\": [48, 64]', b'\\"codes_shape\\": [48, 60]', "contradict each other"),
        (b'"shape": [48, 32]', b'"shape": [32, 48]', "its bytes are not those that were written"),
    ):
        assert old in data
        (here / "bad.safetensors").write_bytes(data.replace(old, new))
        assert run(["dequantize", "bad.safetensors"]) == 2
        assert says in capsys.readouterr().err


def test_full_disk_is_one_line(model, here):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000));"
        "from emu.cli.main import run; sys.exit(run(['quantize', 'model.safetensors', '-r', 'hif4', '-q']))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "emu: model.hif4.safetensors: cannot write: File too large: nothing was left there\n"
    assert [path.name for path in here.iterdir()] == [model]


def test_unreadable_input_is_one_line(capsys, here):
    (here / "loop.safetensors").symlink_to(here / "loop.safetensors")  # no user can read it, root neither
    for command in (["quantize", "loop.safetensors", "-r", "hif4"], ["dequantize", "loop.safetensors"], ["analyze", "loop.safetensors"]):
        assert run(command) == 2
        err = capsys.readouterr().err
        assert err.startswith("emu: loop.safetensors: cannot read: Too many levels")
        assert err.count("\n") == 1


def peak(words_):
    tracemalloc.start()
    try:
        assert run(words_) == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive  # seconds, and a lot of memory
@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "hif4", "nvfp4_te_4over6_mse_256"])
def test_memory_is_a_small_multiple_of_the_largest_tensor(here, recipe):
    size = 1 << 20
    x = sample((size // 1024, 1024))
    save_file({f"t{number}": x for number in range(12)}, "many.safetensors")
    run(["quantize", "many.safetensors", "-r", recipe, "--select", "t0", "-o", "warm.safetensors", "-q"])
    largest = 4 * size
    assert peak(["quantize", "many.safetensors", "-r", recipe, "-o", "q.safetensors", "-q"]) < ROOM * largest
    assert peak(["dequantize", "q.safetensors", "-o", "y.safetensors", "-q"]) < ROOM * largest
    assert peak(["analyze", "many.safetensors", "-r", recipe, "-q", "--totals"]) < ROOM * largest


def test_real_weights(model_file, here):
    chosen = ["--select", "encoder.layer.0.attention.self.*", "--include", "*.bias"]
    assert run(["quantize", str(model_file), "-r", "nvfp4_te_ref", *chosen, "-q"]) == 0
    assert run(["dequantize", "model.nvfp4_te_ref.safetensors", "-o", "y.safetensors", "-q"]) == 0
    weights, found = load_file(model_file), load_file("y.safetensors")
    assert len(found) == 6
    assert all(same(array, emu.quantize(weights[name], "nvfp4_te_ref").dequantize()) for name, array in found.items())


MODEL = {
    "model.embed_tokens.weight": sample((32, 64)),
    "model.layers.0.input_layernorm.weight": sample(64),
    "model.layers.0.q_proj.weight": sample((48, 64), 6),
    "model.layers.0.q_proj.bias": sample(48),
    "model.layers.0.mlp.gate.weight": sample((8, 64)),
    "model.layers.0.mlp.gate_proj.weight": sample((48, 64), 7),
    "lm_head.weight": sample((32, 64)),
}
LINEAR = ["model.layers.0.q_proj.weight", "model.layers.0.mlp.gate_proj.weight"]


def taken(capsys, *more):
    assert run(["quantize", "llm.safetensors", "-r", "nvfp4_te_ref", "--force", "--json", *more]) == 0
    rows = json.loads(capsys.readouterr().out)["tensors"]
    return {row["tensor"]: row["skipped"] for row in rows}


def test_of_a_model_what_deployments_keep_is_kept(here, capsys):
    save_file(MODEL, here / "llm.safetensors")
    found = taken(capsys)
    assert sorted(name for name, reason in found.items() if reason is None) == sorted(LINEAR)
    assert {name: reason.partition(":")[0] for name, reason in found.items() if reason} == {
        "model.embed_tokens.weight": "an embedding", "model.layers.0.input_layernorm.weight": "a norm", "lm_head.weight": "an output head",
        "model.layers.0.q_proj.bias": "a vector", "model.layers.0.mlp.gate.weight": "a router of experts",
    }  # fmt: skip
    more = taken(capsys, "--include", "lm_head*", "--exclude", "*gate_proj*")
    assert more["lm_head.weight"] is None
    assert more["model.layers.0.mlp.gate_proj.weight"] == "left out by --exclude"
    assert all(reason is None for reason in taken(capsys, "--include", "*").values())


def test_kept_tensors_alone_are_an_error_that_says_how_to_take_them(here, capsys):
    save_file(MODEL, here / "llm.safetensors")
    assert run(["quantize", "llm.safetensors", "-r", "nvfp4_te_ref", "--select", "lm_head*"]) == 2
    said = capsys.readouterr().err
    assert "lm_head.weight: nvfp4_te_ref does not take it: an output head: deployments keep it (--include takes it)" in said
    assert run(["quantize", "llm.safetensors", "-r", "nvfp4_te_ref", "--include", "zzz"]) == 2
    assert "no tensor matches zzz" in capsys.readouterr().err


def test_calibrated_maxima_come_from_a_file(here, capsys):
    save_file(MODEL, here / "llm.safetensors")
    (here / "maxima.json").write_text(json.dumps({LINEAR[0]: 8, LINEAR[1]: "0x41000000", "other": 1}))
    taken(capsys, "--amax-file", "maxima.json")
    stored = load_file("llm.nvfp4_te_ref.safetensors")
    for name in LINEAR:
        assert same(stored[f"{name}.codes"], emu.quantize(MODEL[name], "nvfp4_te_ref", tensor_amax=np.float32(8)).pack())
    bad = {"missing": {LINEAR[0]: 8}, "word": {LINEAR[0]: 8, LINEAR[1]: "many"}, "list": [8], "null": {LINEAR[0]: 8, LINEAR[1]: None}}
    for data in bad.values():
        (here / "maxima.json").write_text(json.dumps(data))
        assert run(["quantize", "llm.safetensors", "-r", "nvfp4_te_ref", "-o", "new.safetensors", "--amax-file", "maxima.json"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("emu: ")
        assert said.count("\n") == 1
        assert not (here / "new.safetensors").exists()
    assert run(["quantize", "llm.safetensors", "-r", "nvfp4_te_ref", "--amax-file", "none.json"]) == 2
