"""Files of emu quantize by several recipes as a checkpoint: each weight in its own store, what no store has is said and never passed on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.quantized_header import about_of, as_version_2, change_about

from emu import quantize
from emu.base.errors import FileError
from emu.checkpoint import CheckpointReport, identify_files
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.described import bytes_fault, elsewhere
from emu.checkpoint.store import matches
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run
from emu.files.stored import KEY, sealed, tensor_of
from emu.ops.quantized import checksum
from emu.spec import digest, get

NVFP4, LEVELLESS, MXFP4, OTHER = "nvfp4_modelopt", "nvfp4_torchao_1level", "mxfp4_torchao_floor", "nf4_bnb"
STORES = {"a": "emu_nvfp4_multiplier", "b": "emu_mxfp4", "c": "emu_nvfp4_1level"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rng = np.random.default_rng(9)
    path = tmp_path / "model.safetensors"
    save_file({f"{name}.weight": rng.standard_normal((6, 64)).astype(np.float32) for name in "abcd"}, path)
    return path


Made = Callable[..., Path]


@pytest.fixture
def made(model: Path, tmp_path: Path) -> Made:
    """A function: further words of emu quantize -> a file of the model by several recipes."""

    def write(*words: str) -> Path:
        path = tmp_path / "q.safetensors"
        recipes = [word for glob in (f"b*={MXFP4}", f"c*={LEVELLESS}") for word in ("--recipe-for", glob)]
        assert run(["quantize", str(model), "-r", NVFP4, *recipes, "-o", str(path), "-q", "--force", *words]) == 0
        return path

    return write


WIDER = ("--recipe-for", f"d*={OTHER}")


def test_each_weight_is_of_the_store_of_its_recipe(made: Made, model: Path) -> None:
    seen(identify_files(made(*WIDER), model))


@pytest.mark.exhaustive  # every recipe quantizes each weight again
def test_a_file_of_several_recipes_is_verified(made: Made, model: Path) -> None:
    done = verify_checkpoint(made(*WIDER), model)
    assert (done.exit_code, done.compared, done.unread) == (0, 3, 1)
    assert "1 weights in other blocks by their checksums" in done.verdict


@pytest.mark.exhaustive  # what recipes can write takes seconds
def test_each_weight_is_of_its_store_without_the_original_too(made: Made) -> None:
    seen(identify_files(made(*WIDER)))


def seen(report: CheckpointReport) -> None:
    assert {tensor.name.partition(".")[0]: tensor.store for tensor in report.tensors} == STORES
    assert {tensor.said for tensor in report.tensors} == {NVFP4, MXFP4, LEVELLESS}
    assert report.exit_code == 0 and report.others == 0
    assert report.unread == {"d.weight": f"{OTHER}, blocks of nf4_block64"}
    assert {NVFP4, MXFP4, LEVELLESS} <= set(report.recipes)
    text = report.text()
    assert f"by {MXFP4}, as the file says: b.weight" in text
    assert f"not looked at, {OTHER}, blocks of nf4_block64, which no store has: d.weight" in text


def test_a_file_of_one_recipe_is_held_to_it(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.safetensors"
    assert run(["quantize", str(model), "-r", NVFP4, "-o", str(path), "-q"]) == 0
    report = identify_files(path, model)
    assert [tensor.said for tensor in report.tensors] == [NVFP4] * 4
    assert f"by {NVFP4}, as the file says: a.weight, " in report.text() and report.exit_code == 0
    as_version_2(path)
    report = identify_files(path, model)
    assert [tensor.said for tensor in report.tensors] == [None] * 4
    assert "as the file says" not in report.text() and report.exit_code == 0 and report.stores == {STORES["a"]: 4}
    assert convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new").lossless


def test_what_one_store_holds_is_converted(made: Made, model: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"a\.weight: compressed_tensors_mxfp4 cannot hold it: blocks of nvfp4_multiplier are no"):
        convert_checkpoint(made(), "compressed_tensors_mxfp4", tmp_path / "new")
    done = convert_checkpoint(made(), "modelopt_nvfp4", tmp_path / "new")
    assert done.lossless and "b.weight" in done.refitted and "a.weight" not in done.refitted
    wanted, new = quantize(load_file(model)["a.weight"], NVFP4), open_checkpoint(tmp_path / "new")
    assert new.raw(new.entries["a.weight"]).tobytes() == wanted.pack().tobytes()


@pytest.mark.parametrize("requantize", [False, True])
def test_blocks_of_no_store_are_refused(made: Made, tmp_path: Path, requantize: bool) -> None:
    with pytest.raises(FileError, match=rf"d.weight: by {OTHER}, whose blocks \(nf4_block64\) no store has: quantize it"):
        convert_checkpoint(made(*WIDER), "modelopt_nvfp4", tmp_path / "new", requantize=requantize)
    assert not (tmp_path / "new").exists()


def damaged(path: Path, part: str) -> Path:
    arrays, about = load_file(path), about_of(path)
    arrays[part].reshape(-1)[0] ^= 1
    save_file(arrays, path, {KEY: json.dumps(about)})
    return path


PARTS = ("a.weight.codes", "b.weight.level.scale", "d.weight.codes", "d.weight.level.scale")
DAMAGED = "its bytes or what is said of it are not those that emu quantize wrote: damaged"


@pytest.mark.parametrize("part", PARTS)
def test_damage_of_any_weight_is_found(made: Made, part: str) -> None:
    container = open_checkpoint(damaged(made(*WIDER), part))
    found = [fitting[0] for fitting in matches(container)]
    faults = {match.weight: bytes_fault(container, match) for match in found}
    faults |= {item.name: item.fault for item in elsewhere(container, found)}
    assert faults == {f"{name}.weight": DAMAGED if part.startswith(name) else None for name in "abcd"}


@pytest.mark.exhaustive  # what recipes can write takes seconds
@pytest.mark.parametrize("part", PARTS)
def test_a_file_with_a_damaged_weight_is_wrong(made: Made, part: str) -> None:
    done = verify_checkpoint(damaged(made(*WIDER), part))
    assert done.exit_code == 1 and [fault.what for fault in done.faults if fault.tensor == part[:8]][-1] == DAMAGED


def test_a_changed_recipe_is_found(made: Made, tmp_path: Path) -> None:
    change_about(path := made(*WIDER), lambda about: about["tensors"]["a.weight"].update(recipe=LEVELLESS))  # another recipe of the file
    with pytest.raises(FileError, match=r"a\.weight: its bytes or what is said of it are not those that emu quantize wrote: damaged"):
        convert_checkpoint(path, "mlx_nvfp4", tmp_path / "new")
    wide = ("--recipe-for", "d*=mxfp8_e4m3_torchao_floor")
    change_about(path := made(*wide), lambda about: about["tensors"]["d.weight"].update(recipe=LEVELLESS))
    with pytest.raises(FileError, match=r"d.weight: codes of shape \[6, 64\] for a tensor of \[6, 64\]"):
        verify_checkpoint(path)
    change_about(path := made(*wide), lambda about: about["tensors"]["d.weight"].update(recipe="mxfp8"))
    with pytest.raises(FileError, match=r"d\.weight: its metadata is damaged"):
        convert_checkpoint(path, "mlx_nvfp4", tmp_path / "new")
    cases: list[tuple[Callable[[dict[str, Any]], None], str]] = [
        (lambda about: about["tensors"]["a.weight"].update(recipe="none"), "a.weight: its metadata is damaged"),
        (lambda about: about["recipes"][NVFP4].update(digest="0"), f"was written under other facts of recipe {NVFP4}"),
        (lambda about: about["recipes"][OTHER].update(digest="0"), f"was written under other facts of recipe {OTHER}"),
        (lambda about: about["recipes"][NVFP4].update(block="mxfp8_e4m3"), "a.weight: its metadata is damaged"),
        (lambda about: about["tensors"].pop("b.weight"), "the header that was read says nothing of it"),
        (lambda about: about.update(version=4), "is written in version 4; this emu reads 2 and 3"),
    ]  # fmt: skip
    for change, told in cases:
        change_about(path := made(*WIDER), change)
        with pytest.raises(FileError, match=told):
            convert_checkpoint(path, "mlx_nvfp4", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_weight_that_its_named_recipe_did_not_write_departs(made: Made, model: Path) -> None:
    """Name and checksum were changed together: the bytes alone speak against it."""
    path = made()
    wrong = renamed(path)
    report = identify_files(path, model)
    assert [tensor.name for tensor in report.departing] == ["b.weight"] and report.exit_code == 1
    faults = verify_checkpoint(path, model).faults
    assert [fault.tensor for fault in faults] == ["b.weight"]
    assert faults[0].what.startswith(f"the file says that {wrong} wrote it, its bytes are those of mxfp4_")


@pytest.mark.exhaustive  # what recipes can write takes seconds
def test_scales_alone_speak_against_a_recipe_that_is_named(made: Made) -> None:
    path = made()
    renamed(path)
    report = identify_files(path)
    assert [tensor.name for tensor in report.departing] == ["b.weight"] and report.exit_code == 1


def renamed(path: Path) -> str:
    """Let a file say that another recipe wrote b.weight. Returns: its id."""
    arrays, wrong = load_file(path), get("recipe", "mxfp4_torchao_ceil")
    found = checksum(arrays["b.weight.codes"], {"scale": arrays["b.weight.level.scale"]})

    def change(about: dict[str, Any]) -> None:
        about["recipes"][wrong.id] = {"block": wrong.facts.block, "digest": digest(wrong), "tail": wrong.facts.tail}
        entry = about["tensors"]["b.weight"]
        entry.update(recipe=wrong.id)
        entry.update(sha256=sealed(found, tensor_of(entry, about), wrong))

    change_about(path, change)
    return str(wrong.id)
