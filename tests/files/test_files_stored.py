"""Files of quantized tensors: what is written comes back, and damaged or foreign files are named."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.quantized_header import about_of, as_version_2, change_about

from emu.base.errors import FileError, SpecError
from emu.files import StoredFile, StoredTensor, StoredWriter
from emu.files.stored import KEY, sealed, tensor_of
from emu.ops.quantized import checksum
from emu.spec import digest, get

ABOUT = StoredTensor((3, 20), (3, 20), -1, -2, "fp32", ("tensor", "scale"), {"key": 1, "stream": 2}, "0xD7E8")
CODES = np.arange(30, dtype=np.uint8).reshape(3, 10)
LEVELS = {"tensor": np.array(0x45280000, np.uint32), "scale": np.arange(6, dtype=np.uint8).reshape(3, 2)}
RECIPE = "nvfp4_te_ref"
OTHERS = "its bytes or what is said of it are not those that were written"
SKIPPED = {"ids": "dtype int64: not fp32, fp16 or bf16"}


def write(path, name="w", recipe=RECIPE):
    with StoredWriter.open(path, get("recipe", recipe), "1.2.3") as writer:
        writer.skipped = dict(SKIPPED)
        writer.put(name, CODES, LEVELS, ABOUT)
    return path


def same_as_written(stored, name):
    codes, levels = stored.read(name)
    assert np.array_equal(codes, CODES)
    assert set(levels) == set(LEVELS)
    assert all(np.array_equal(levels[key], LEVELS[key]) and levels[key].shape == LEVELS[key].shape for key in LEVELS)


@pytest.mark.parametrize("name", ["w", "", "a.codes"])
def test_round_trip(tmp_path, name):
    with StoredFile(write(tmp_path / "q.safetensors", name)) as stored:
        assert stored.recipes == {name: get("recipe", RECIPE)}
        named = replace(ABOUT, recipe=RECIPE)
        assert stored.tensors == {name: replace(named, sha256=sealed(checksum(CODES, LEVELS), named, get("recipe", RECIPE)))}
        assert stored.skipped == SKIPPED
        same_as_written(stored, name)


def test_any_library_can_read_it(tmp_path):
    arrays = load_file(write(tmp_path / "q.safetensors"))
    assert sorted(arrays) == ["w.codes", "w.level.scale", "w.level.tensor"]
    assert arrays["w.level.tensor"].dtype == np.uint32


def facts_of(*recipes):
    found = {name: get("recipe", name) for name in recipes}
    return {name: {"block": recipe.facts.block, "digest": digest(recipe), "tail": recipe.facts.tail} for name, recipe in found.items()}


def test_metadata_says_what_is_needed(tmp_path):
    about = about_of(write(tmp_path / "q.safetensors"))
    assert sorted(about) == ["emu", "recipes", "skipped", "tensors", "version"]
    assert (about["version"], about["emu"], about["skipped"], about["recipes"]) == (3, "1.2.3", SKIPPED, facts_of(RECIPE))
    assert about["tensors"]["w"].keys() == asdict(ABOUT).keys()
    assert (about["tensors"]["w"]["shape"], about["tensors"]["w"]["recipe"]) == ([3, 20], RECIPE)
    assert about["tensors"]["w"]["random"] == {"key": 1, "stream": 2}


def write_mixed(path):
    """Two tensors by recipes of one block, with the same codes and levels, and one of another block."""
    with StoredWriter.open(path, get("recipe", RECIPE), "1.2.3") as writer:
        writer.put("v", CODES, LEVELS, ABOUT, get("recipe", "nvfp4_te_cuda"))
        writer.put("w", CODES, LEVELS, ABOUT)
        writer.put("x", CODES, {"scale": LEVELS["scale"]}, replace(ABOUT, levels=("scale",)), get("recipe", "mxfp4_torchao_floor"))
    return path


def test_a_file_of_several_recipes_names_them_tensor_by_tensor(tmp_path):
    about = about_of(write_mixed(tmp_path / "q.safetensors"))
    wanted = {"v": "nvfp4_te_cuda", "w": RECIPE, "x": "mxfp4_torchao_floor"}
    assert {name: entry["recipe"] for name, entry in about["tensors"].items()} == wanted
    assert about["recipes"] == facts_of(*wanted.values())
    with StoredFile(tmp_path / "q.safetensors") as stored:
        assert {name: recipe.id for name, recipe in stored.recipes.items()} == wanted
        same_as_written(stored, "v")
        same_as_written(stored, "w")
        assert np.array_equal(stored.read("x")[0], CODES)


def test_the_file_is_the_same_whoever_names_the_recipe(tmp_path):
    with StoredWriter.open(tmp_path / "named.safetensors", get("recipe", "hif4"), "1.2.3") as writer:
        writer.skipped = dict(SKIPPED)
        writer.put("w", CODES, LEVELS, ABOUT, get("recipe", RECIPE))
    assert (tmp_path / "named.safetensors").read_bytes() == write(tmp_path / "q.safetensors").read_bytes()


def tensor(drop=None, **said):
    """A change of what is said of w. drop: a word that goes."""

    def change(about):
        about["tensors"]["w"].update(said)
        about["tensors"]["w"].pop(drop, None)

    return change


def recipe_facts(**said):
    return lambda about: about["recipes"][RECIPE].update(said)


@pytest.mark.parametrize("writer", [write, write_mixed])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda about: about.update(version=1), FileError, "version 1; this emu reads 2 and 3"),
        (lambda about: about.update(version=4), FileError, "version 4; this emu reads 2 and 3"),
        (lambda about: about.update(version=2), FileError, "damaged"),
        (lambda about: about.update(version=2, recipe=RECIPE, **about["recipes"][RECIPE]), FileError, "w: its bytes are not"),
        (lambda about: about.update(tensors=[]), FileError, "damaged"),
        (lambda about: about.pop("tensors"), FileError, "damaged"),
        (lambda about: about.pop("recipes"), FileError, "damaged"),
        (lambda about: about["recipes"].update(none=about["recipes"].pop(RECIPE)), FileError, "damaged"),
        (lambda about: about["recipes"].update(facts_of("nvfp4_te_cuda")) or tensor(recipe="nvfp4_te_cuda")(about), FileError, OTHERS),
        (
            lambda about: about["recipes"].update(nvfp4_te_reff=about["recipes"][RECIPE]) or tensor(recipe="nvfp4_te_reff")(about),
            SpecError,
            "did you mean nvfp4_te_ref",
        ),
        (lambda about: about["tensors"].update(u=about["tensors"]["w"]), FileError, "u.codes is missing"),
        (recipe_facts(digest="0" * 64), FileError, "other facts of recipe nvfp4_te_ref"),
        (recipe_facts(block="mxfp4"), FileError, "damaged"),
        (tensor(recipe="nvfp4_te_reff"), FileError, "damaged"),
        (tensor(recipe=None), FileError, "damaged"),
        (tensor(recipe=[RECIPE]), FileError, "damaged"),
        (tensor("recipe"), FileError, "damaged"),
        (tensor("axis"), FileError, "damaged"),
        (tensor(axis=10**30), FileError, "damaged"),
        (tensor(axis="-1"), FileError, "damaged"),
        (tensor(axis=2), FileError, "damaged"),
        (tensor(shape=[-3, 20]), FileError, "damaged"),
        (tensor(shape=3), FileError, "damaged"),
        (tensor(codes_shape=[2**60, 2**60]), FileError, "damaged"),
        (tensor(codes_shape=[]), FileError, "damaged"),
        (tensor(codes_shape=[60]), FileError, "damaged"),
        (tensor(shape=[], codes_shape=[]), FileError, "damaged"),
        (tensor(levels=[1, 2]), FileError, "damaged"),
        (tensor(sha256=7), FileError, "damaged"),
        (tensor(source="bf16"), FileError, OTHERS),
        (tensor(signs=None), FileError, OTHERS),
        (tensor(signs="0xD7E9"), FileError, OTHERS),
        (tensor(random=None), FileError, OTHERS),
        (tensor(random={"key": 1, "stream": 3}), FileError, OTHERS),
        (tensor(axis=1), FileError, OTHERS),
        (tensor(row_axis=0), FileError, OTHERS),
        (tensor(shape=[3, 19]), FileError, OTHERS),
        (tensor(codes_shape=[3, 19]), FileError, OTHERS),
    ],
)
def test_wrong_metadata_is_named(tmp_path, writer, change, error, message):
    change_about(path := writer(tmp_path / "q.safetensors"), change)
    with pytest.raises(error, match=message), StoredFile(path) as stored:
        stored.read("w")


def test_what_is_wrong_with_one_tensor_is_not_wrong_with_another(tmp_path):
    with StoredFile(change_about(write_mixed(tmp_path / "q.safetensors"), tensor(axis=1))) as stored:
        same_as_written(stored, "v")
        with pytest.raises(FileError, match=f"tensor w: {OTHERS}"):
            stored.read("w")


VERSION_2 = {  # as emu wrote it before version 3
    "block": "nvfp4", "emu": "1.2.3", "recipe": "nvfp4_te_ref", "skipped": SKIPPED, "tail": "zero_pad_drop", "version": 2,
    "tensors": {"w": {
        "axis": -1, "codes_shape": [3, 20], "levels": ["tensor", "scale"], "random": {"key": 1, "stream": 2}, "row_axis": -2,
        "sha256": "d23fe0c1c91ff4986e8038140dfc6ad8f5634d0c48c7a854e450158adc9a3f67", "shape": [3, 20], "signs": "0xD7E8", "source": "fp32",
    }},
}  # fmt: skip


def version_2(path, **said):
    arrays = {"w.codes": CODES} | {f"w.level.{level}": codes for level, codes in LEVELS.items()}
    save_file(arrays, path, {KEY: json.dumps(VERSION_2 | {"digest": digest(get("recipe", RECIPE))} | said)})
    return path


def test_version_2_is_still_read(tmp_path):
    with StoredFile(version_2(tmp_path / "old.safetensors")) as stored:
        assert stored.recipes == {"w": get("recipe", RECIPE)}
        assert stored.tensors == {"w": replace(ABOUT, sha256=VERSION_2["tensors"]["w"]["sha256"])}
        assert stored.skipped == SKIPPED
        same_as_written(stored, "w")
    assert about_of(as_version_2(write(tmp_path / "q.safetensors"))) == about_of(tmp_path / "old.safetensors")


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ({"digest": "0" * 64}, FileError, "other facts of recipe nvfp4_te_ref"),
        ({"recipe": "nvfp4_te_reff"}, SpecError, "did you mean nvfp4_te_ref"),
        ({"block": "mxfp4"}, FileError, "damaged"),
        ({"tensors": {"w": VERSION_2["tensors"]["w"] | {"sha256": "0" * 64}}}, FileError, "tensor w: its bytes are not those"),
    ],
)
def test_what_is_wrong_in_version_2_is_named(tmp_path, said, error, message):
    with pytest.raises(error, match=message), StoredFile(version_2(tmp_path / "old.safetensors", **said)) as stored:
        stored.read("w")


def test_arrays_that_contradict_a_sealed_header_are_named(tmp_path):
    """Header and checksum were changed together: the shapes alone speak against it."""

    def change(about):
        entry = about["tensors"]["w"]
        entry.update(codes_shape=[3, 19])
        entry.update(sha256=sealed(checksum(CODES, LEVELS), tensor_of(entry, about), get("recipe", RECIPE)))

    change_about(path := write(tmp_path / "q.safetensors"), change)
    with StoredFile(path) as stored:
        same_as_written(stored, "w")
        with pytest.raises(FileError, match="tensor w: arrays and metadata contradict each other"):
            stored.quantized("w")


def test_foreign_and_damaged_files_are_named(tmp_path):
    save_file({"a": CODES}, tmp_path / "foreign.safetensors")
    with pytest.raises(FileError, match="no metadata of emu quantize"):
        StoredFile(tmp_path / "foreign.safetensors")
    with pytest.raises(FileError, match="no file of emu quantize"):
        StoredFile(tmp_path / "a.npy")
    about = {KEY: json.dumps(about_of(write(tmp_path / "q.safetensors")))}
    save_file({"w.codes": CODES}, tmp_path / "less.safetensors", about)
    with pytest.raises(FileError, match="missing"):
        StoredFile(tmp_path / "less.safetensors")
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
        with StoredFile(tmp_path / f"{name}.flipped.safetensors") as stored, pytest.raises(FileError, match=f"tensor w: {OTHERS}"):
            stored.read("w")


def test_the_checksum_covers_names_dtypes_and_shapes():
    assert checksum(CODES, LEVELS) == checksum(CODES.copy(), dict(reversed(LEVELS.items())))
    others = [
        (CODES.reshape(10, 3), LEVELS), (CODES.astype(np.uint16), LEVELS), (CODES, {"tensor": LEVELS["tensor"], "scales": LEVELS["scale"]}),
        (CODES, {**LEVELS, "scale": LEVELS["scale"].T}),
    ]  # fmt: skip
    assert len({checksum(CODES, LEVELS), *(checksum(*other) for other in others)}) == 1 + len(others)
