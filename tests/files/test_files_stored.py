"""Files of quantized tensors: what is written comes back, and damaged or foreign files are named."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.quantized_header import about_of

from emu.base.errors import FileError, SpecError
from emu.files import StoredFile, StoredTensor, StoredWriter
from emu.files.stored import KEY
from emu.ops.quantized import checksum
from emu.spec import digest, get

ABOUT = StoredTensor((3, 20), (3, 20), -1, -2, "fp32", ("tensor", "scale"), {"key": 1, "stream": 2}, "0xD7E8")
CODES = np.arange(30, dtype=np.uint8).reshape(3, 10)
LEVELS = {"tensor": np.array(0x45280000, np.uint32), "scale": np.arange(6, dtype=np.uint8).reshape(3, 2)}


def write(path, name="w", recipe="nvfp4_te_ref"):
    with StoredWriter.open(path, get("recipe", recipe), "1.2.3") as writer:
        writer.skipped = {"ids": "dtype int64: not fp32, fp16 or bf16"}
        writer.put(name, CODES, LEVELS, ABOUT)
    return path


@pytest.mark.parametrize("name", ["w", "", "a.codes"])
def test_round_trip(tmp_path, name):
    with StoredFile(write(tmp_path / "q.safetensors", name)) as stored:
        assert stored.recipes == {name: get("recipe", "nvfp4_te_ref")}
        assert stored.tensors == {name: replace(ABOUT, sha256=checksum(CODES, LEVELS))}
        assert stored.skipped == {"ids": "dtype int64: not fp32, fp16 or bf16"}
        codes, levels = stored.read(name)
        assert np.array_equal(codes, CODES)
        assert set(levels) == set(LEVELS)
        assert all(np.array_equal(levels[key], LEVELS[key]) and levels[key].shape == LEVELS[key].shape for key in LEVELS)


def test_any_library_can_read_it(tmp_path):
    arrays = load_file(write(tmp_path / "q.safetensors"))
    assert sorted(arrays) == ["w.codes", "w.level.scale", "w.level.tensor"]
    assert arrays["w.level.tensor"].dtype == np.uint32


def test_metadata_says_what_is_needed(tmp_path):
    about = about_of(write(tmp_path / "q.safetensors"))
    assert {key: about[key] for key in ("version", "emu", "recipe", "tail")} == {
        "version": 2,
        "emu": "1.2.3",
        "recipe": "nvfp4_te_ref",
        "tail": "zero_pad_drop",
    }
    assert about["digest"] == digest(get("recipe", "nvfp4_te_ref"))
    assert about["tensors"]["w"]["shape"] == [3, 20]
    assert about["tensors"]["w"]["random"] == {"key": 1, "stream": 2}


def changed(tmp_path, change, arrays=None):
    """A written file with other metadata or other arrays."""
    about = about_of(write(tmp_path / "q.safetensors"))
    change(about)
    stored = load_file(tmp_path / "q.safetensors") if arrays is None else arrays
    save_file(stored, tmp_path / "changed.safetensors", {KEY: json.dumps(about)})
    return tmp_path / "changed.safetensors"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda about: about.update(version=1), FileError, "version 1; this emu reads 2 and 3"),
        (lambda about: about.update(digest="0" * 64), FileError, "other facts of recipe nvfp4_te_ref"),
        (lambda about: about.update(recipe="nvfp4_te_reff"), SpecError, "did you mean nvfp4_te_ref"),
        (lambda about: about.update(tensors=[]), FileError, "damaged"),
        (lambda about: about.pop("tensors"), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].pop("axis"), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(axis=10**30), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(axis="-1"), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(axis=2), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(shape=[-3, 20]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(shape=3), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(codes_shape=[2**60, 2**60]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(codes_shape=[]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(codes_shape=[60]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(shape=[], codes_shape=[]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(levels=[1, 2]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(sha256=7), FileError, "damaged"),
        (lambda about: about["tensors"].update(v=about["tensors"]["w"]), FileError, "v.codes is missing"),
    ],
)
def test_wrong_metadata_is_named(tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        StoredFile(changed(tmp_path, change))


def write_mixed(path):
    """Two tensors by recipes of one block, with the same codes and levels, and one of another block."""
    with StoredWriter.open(path, get("recipe", "nvfp4_te_ref"), "1.2.3") as writer:
        writer.put("v", CODES, LEVELS, ABOUT, get("recipe", "nvfp4_te_cuda"))
        writer.put("w", CODES, LEVELS, ABOUT)
        writer.put("x", CODES, {"scale": LEVELS["scale"]}, replace(ABOUT, levels=("scale",)), get("recipe", "mxfp4_torchao_floor"))
    return path


def test_a_file_of_several_recipes_names_them_tensor_by_tensor(tmp_path):
    about = about_of(write_mixed(tmp_path / "q.safetensors"))
    wanted = {"v": "nvfp4_te_cuda", "w": "nvfp4_te_ref", "x": "mxfp4_torchao_floor"}
    assert about["version"] == 3
    assert not {"recipe", "block", "digest", "tail"} & set(about)
    assert {name: entry["recipe"] for name, entry in about["tensors"].items()} == wanted
    recipes = {name: get("recipe", name) for name in wanted.values()}
    assert about["recipes"] == {
        name: {"block": recipe.facts.block, "digest": digest(recipe), "tail": recipe.facts.tail} for name, recipe in recipes.items()
    }
    with StoredFile(tmp_path / "q.safetensors") as stored:
        assert {name: recipe.id for name, recipe in stored.recipes.items()} == wanted
        for name in wanted:
            codes, levels = stored.read(name)
            assert np.array_equal(codes, CODES)
            assert np.array_equal(levels["scale"], LEVELS["scale"])


def test_one_recipe_is_written_as_ever_whoever_names_it(tmp_path):
    with StoredWriter.open(tmp_path / "named.safetensors", get("recipe", "hif4"), "1.2.3") as writer:
        writer.skipped = {"ids": "dtype int64: not fp32, fp16 or bf16"}
        writer.put("w", CODES, LEVELS, ABOUT, get("recipe", "nvfp4_te_ref"))
    assert (tmp_path / "named.safetensors").read_bytes() == write(tmp_path / "q.safetensors").read_bytes()
    assert "recipe" not in about_of(tmp_path / "q.safetensors")["tensors"]["w"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda about: about["tensors"]["w"].update(recipe="nvfp4_te_cuda"), FileError, "what is said of it are not those"),
        (lambda about: about["tensors"]["w"].update(recipe="mxfp4_torchao_floor"), FileError, "what is said of it are not those"),
        (lambda about: about["tensors"]["w"].update(recipe="nvfp4_te_reff"), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(recipe=None), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].update(recipe=["nvfp4_te_ref"]), FileError, "damaged"),
        (lambda about: about["tensors"]["w"].pop("recipe"), FileError, "damaged"),
        (lambda about: about["recipes"]["nvfp4_te_ref"].update(digest="0" * 64), FileError, "other facts of recipe nvfp4_te_ref"),
        (lambda about: about["recipes"]["nvfp4_te_ref"].update(block="mxfp4"), FileError, "damaged"),
        (lambda about: about["recipes"].update(none=about["recipes"].pop("nvfp4_te_ref")), FileError, "damaged"),
        (lambda about: about.pop("recipes"), FileError, "damaged"),
        (lambda about: about.update(version=2), FileError, "damaged"),
        (lambda about: about.update(version=4), FileError, "version 4; this emu reads 2 and 3"),
        (lambda about: about.update(version=2, recipe="nvfp4_te_ref", **about["recipes"]["nvfp4_te_ref"]), FileError, "its bytes are not"),
    ],
)
def test_wrong_metadata_of_several_recipes_is_named(tmp_path, change, error, message):
    about = about_of(write_mixed(tmp_path / "q.safetensors"))
    change(about)
    save_file(load_file(tmp_path / "q.safetensors"), tmp_path / "changed.safetensors", {KEY: json.dumps(about)})
    with pytest.raises(error, match=message), StoredFile(tmp_path / "changed.safetensors") as stored:
        stored.read("w")


@pytest.mark.parametrize(
    "said",
    [
        {"source": "bf16"}, {"signs": None}, {"signs": "0xD7E9"}, {"random": None}, {"random": {"key": 1, "stream": 3}}, {"axis": 1},
        {"row_axis": 0}, {"shape": [3, 19]}, {"codes_shape": [3, 19]},
    ],
)  # fmt: skip
def test_all_that_is_said_of_a_tensor_is_under_its_checksum(tmp_path, said):
    about = about_of(write_mixed(tmp_path / "q.safetensors"))
    about["tensors"]["w"].update(said)
    save_file(load_file(tmp_path / "q.safetensors"), tmp_path / "changed.safetensors", {KEY: json.dumps(about)})
    with StoredFile(tmp_path / "changed.safetensors") as stored:
        assert np.array_equal(stored.read("v")[0], CODES)
        with pytest.raises(FileError, match="w: its bytes or what is said of it are not those"):
            stored.read("w")


def test_foreign_and_damaged_files_are_named(tmp_path):
    save_file({"a": CODES}, tmp_path / "foreign.safetensors")
    with pytest.raises(FileError, match="no metadata of emu quantize"):
        StoredFile(tmp_path / "foreign.safetensors")
    with pytest.raises(FileError, match="no file of emu quantize"):
        StoredFile(tmp_path / "a.npy")
    with pytest.raises(FileError, match="missing"):
        StoredFile(changed(tmp_path, lambda about: None, {"w.codes": CODES}))
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "q.safetensors").read_bytes()[:-1])
    with pytest.raises(FileError, match=r"cut\.safetensors"):
        StoredFile(tmp_path / "cut.safetensors")
    with pytest.raises(FileError, match="use that suffix"), StoredWriter.open(tmp_path / "a.npz", get("recipe", "hif4"), "1"):
        pytest.fail("the block must not run")


def test_one_changed_bit_is_noticed(tmp_path):
    for name, array in {"w.codes": CODES, **{f"w.level.{level}": codes for level, codes in LEVELS.items()}}.items():
        arrays = load_file(write(tmp_path / f"{name}.safetensors"))
        flipped = np.array(array)
        flipped.reshape(-1)[-1] ^= 1
        about = {KEY: json.dumps(about_of(tmp_path / f"{name}.safetensors"))}
        save_file({**arrays, name: flipped}, tmp_path / f"{name}.flipped.safetensors", about)
        with StoredFile(tmp_path / f"{name}.flipped.safetensors") as stored, pytest.raises(FileError, match="tensor w: its bytes are not"):
            stored.read("w")


def test_the_checksum_covers_names_dtypes_and_shapes():
    assert checksum(CODES, LEVELS) == checksum(CODES.copy(), dict(reversed(LEVELS.items())))
    others = [
        (CODES.reshape(10, 3), LEVELS), (CODES.astype(np.uint16), LEVELS), (CODES, {"tensor": LEVELS["tensor"], "scales": LEVELS["scale"]}),
        (CODES, {**LEVELS, "scale": LEVELS["scale"].T}),
    ]  # fmt: skip
    assert len({checksum(CODES, LEVELS), *(checksum(*other) for other in others)}) == 1 + len(others)
