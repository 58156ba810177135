"""tensor_writer: what is put comes back from the libraries that own the formats."""

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open

from emu.base.errors import FileError
from emu.files import open_tensors, tensor_writer

ARRAYS = {
    "float32": np.array([[1.5, -0.0], [np.nan, np.inf]], np.float32),
    "float16": np.arange(5, dtype=np.float16),
    "uint8": np.arange(7, dtype=np.uint8),
    "uint32": np.array(0xDEADBEEF, np.uint32),
    "column order": np.asfortranarray(np.arange(6, dtype=np.uint16).reshape(2, 3)),
    "empty": np.zeros((0, 3), np.float32),
}


def write(path, puts):
    with tensor_writer(path) as writer:
        for name, array in puts:
            writer.put(name, array)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_safetensors_is_read_by_its_library(tmp_path):
    with tensor_writer(tmp_path / "a.safetensors", metadata={"who": "emu"}) as writer:
        for name, array in ARRAYS.items():
            writer.put(name, array)
        writer.put("bf16", np.array([1.5, -2], ml_dtypes.bfloat16))
    with safe_open(str(tmp_path / "a.safetensors"), framework="numpy") as file:
        assert file.metadata() == {"who": "emu"}
        assert set(file.keys()) == {*ARRAYS, "bf16"}
        assert all(same(file.get_tensor(name), array) for name, array in ARRAYS.items())
        assert file.get_tensor("bf16").view(np.uint16).tolist() == [0x3FC0, 0xC000]
    header = int.from_bytes((tmp_path / "a.safetensors").read_bytes()[:8], "little")
    assert header % 8 == 0


def test_npz_and_npy_are_read_by_numpy(tmp_path):
    with tensor_writer(tmp_path / "a.npz") as writer:
        for name, array in ARRAYS.items():
            writer.put(name, array)
    with np.load(tmp_path / "a.npz") as file:
        assert sorted(file) == sorted(ARRAYS)
        assert all(same(file[name], array) for name, array in ARRAYS.items())
    with tensor_writer(tmp_path / "a.npy") as writer:
        writer.put("", ARRAYS["float32"])
    assert same(np.load(tmp_path / "a.npy"), ARRAYS["float32"])


@pytest.mark.parametrize("suffix", ["npz", "npy", "safetensors"])
def test_same_tensors_give_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        with tensor_writer(tmp_path / f"{name}.{suffix}") as writer:
            writer.put("a", ARRAYS["float32"])
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["npz", "npy", "safetensors"])
def test_error_leaves_no_file(tmp_path, suffix):
    with pytest.raises(FileError, match=r"complex64|twice|one tensor"):
        write(tmp_path / f"a.{suffix}", [("a", ARRAYS["float32"]), ("a", np.zeros(3, np.complex64))])
    assert list(tmp_path.iterdir()) == []


def test_faults_are_named(tmp_path):
    with pytest.raises(FileError, match="suffix"), tensor_writer(tmp_path / "a.bin"):
        pytest.fail("the block must not run")
    bf16 = np.zeros(2, ml_dtypes.bfloat16)
    cases = [
        ("a.npy", [("a", ARRAYS["uint8"]), ("b", ARRAYS["uint8"])], "holds one tensor"),
        ("a.npy", [], "no tensor"),
        ("a.npy", [("a", bf16)], "cannot say bfloat16"),
        ("a.npz", [("a", bf16)], "cannot say bfloat16"),
        ("a.npz", [("a", ARRAYS["uint8"])] * 2, "twice"),
        ("a.safetensors", [("a", ARRAYS["uint8"])] * 2, "twice"),
        ("a.safetensors", [("a", np.zeros(2, np.complex64))], "complex64"),
    ]
    for name, puts, message in cases:
        with pytest.raises(FileError, match=message):
            write(tmp_path / name, puts)
    assert list(tmp_path.iterdir()) == []


def test_read_back_by_open_tensors(tmp_path):
    for suffix in ("npz", "safetensors"):
        with tensor_writer(tmp_path / f"a.{suffix}") as writer:
            for name, array in ARRAYS.items():
                writer.put(name, array)
        with open_tensors(tmp_path / f"a.{suffix}") as file:
            assert all(same(file.read(name), array) for name, array in ARRAYS.items())
