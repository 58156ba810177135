"""open_tensors: what is read from each kind of file, and what is said of bad ones."""

import re
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import emu
from emu.base.errors import FileError
from emu.cli.main import run
from emu.files import TensorInfo, open_tensors

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b.c": np.arange(4, dtype=np.float16),
    "d": np.array(7, np.int64),
    "e": np.zeros((0, 5), np.float32),
}


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "one.npy", ARRAYS["a"])
    np.savez(tmp_path / "many.npz", **ARRAYS)
    np.savez_compressed(tmp_path / "packed.npz", **ARRAYS)
    save_file({**ARRAYS, "f": np.array([1.5, -0.0, np.nan], ml_dtypes.bfloat16)}, tmp_path / "many.safetensors")
    return tmp_path


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_npy_holds_one_tensor_without_a_name(files):
    with open_tensors(files / "one.npy") as file:
        assert file.tensors == (TensorInfo("", (2, 3), "float32"),)
        assert same(file.read(""), ARRAYS["a"])
        assert not file.read("").flags.writeable


@pytest.mark.parametrize("name", ["many.npz", "packed.npz", "many.safetensors"])
def test_every_tensor_comes_back(files, name):
    with open_tensors(files / name) as file:
        infos = {info.name: info for info in file.tensors}
        assert {key: (info.shape, info.dtype) for key, info in infos.items() if key != "f"} == {
            key: (array.shape, array.dtype.name) for key, array in ARRAYS.items()
        }
        assert all(same(file.read(key), array) for key, array in ARRAYS.items())


def test_bfloat16_keeps_its_bits(files):
    with open_tensors(files / "many.safetensors") as file:
        array = file.read("f")
        assert array.dtype == ml_dtypes.bfloat16
        assert array.view(np.uint16).tolist() == [0x3FC0, 0x8000, 0x7FC0]


def test_other_byte_order_is_turned(tmp_path):
    np.save(tmp_path / "big.npy", ARRAYS["a"].astype(">f4"))
    with open_tensors(tmp_path / "big.npy") as file:
        assert same(file.read(""), ARRAYS["a"])


def test_column_order_is_read(tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(ARRAYS["a"]))
    with open_tensors(tmp_path / "f.npy") as file:
        assert file.read("").tolist() == ARRAYS["a"].tolist()


def test_folder_joins_its_shards(tmp_path):
    (tmp_path / "model").mkdir()
    save_file({"a": ARRAYS["a"]}, tmp_path / "model" / "model-1.safetensors")
    save_file({"b": ARRAYS["b.c"]}, tmp_path / "model" / "model-2.safetensors")
    for folder in (tmp_path / "model", tmp_path):
        with open_tensors(folder) as file:
            assert [info.name for info in file.tensors] == ["a", "b"]
            assert same(file.read("b"), ARRAYS["b.c"])
    save_file({"a": ARRAYS["a"]}, tmp_path / "model" / "model-3.safetensors")
    with pytest.raises(FileError, match="tensor a is in another file"):
        open_tensors(tmp_path)


def read_all(path):
    with open_tensors(path) as file:
        return {info.name: file.read(info.name) for info in file.tensors}


def cut(path, keep):
    path.write_bytes(path.read_bytes()[:keep])


@pytest.mark.parametrize("name", ["one.npy", "many.npz", "many.safetensors"])
@pytest.mark.parametrize("keep", [0, 1, 7, 9, 60, -1])
def test_truncated_file_is_one_line(files, name, keep):
    cut(files / name, keep)
    with pytest.raises(FileError, match=name) as caught:
        read_all(files / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("content", [b"hello, this is text\n" * 20, b"\xff" * 200, b"\x00" * 200, b"\x93NUMPY\x09\x00" + b"x" * 100])
def test_foreign_file_is_one_line(tmp_path, suffix, content):
    path = tmp_path / f"foreign.{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileError, match="foreign") as caught:
        open_tensors(path)
    assert "\n" not in str(caught.value)


def test_kinds_under_the_wrong_suffix_are_refused(files):
    for source, target in (("many.npz", "a.npy"), ("one.npy", "b.npz"), ("many.safetensors", "c.npz"), ("one.npy", "d.safetensors")):
        (files / target).write_bytes((files / source).read_bytes())
        with pytest.raises(FileError, match=target):
            open_tensors(files / target)


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", a=np.array([{}], object))
    with pytest.raises(FileError, match=r"o\.npy"):
        open_tensors(tmp_path / "o.npy")
    with open_tensors(tmp_path / "o.npz") as file, pytest.raises(FileError, match=r"o\.npz"):
        file.read("a")


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in ("many.npz", "packed.npz") for place in (60, 80, 100)])
def test_damaged_member_is_refused(files, name, place):
    with zipfile.ZipFile(files / name) as archive:
        place += archive.getinfo("a.npy").header_offset
    data = bytearray((files / name).read_bytes())
    data[place] ^= 16
    (files / name).write_bytes(data)
    with pytest.raises(FileError, match=name):
        read_all(files / name)


def test_member_of_another_length_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.zeros(100, np.float32))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        content = archive.read("a.npy")
    for changed in (content[:-4], content + b"abcd", content.replace(b"(100,)", b"(10000000000000,)", 1).replace(b" " * 11, b"", 1)):
        with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
            archive.writestr("a.npy", changed)
        with pytest.raises(FileError, match="not as long as its header says"):
            open_tensors(tmp_path / "b.npz")


@pytest.mark.parametrize(("name", "message"), [("none.npy", "No such file"), ("x.txt", "no tensor file"), ("", "without .safetensors")])
def test_missing_files_are_named(tmp_path, name, message):
    with pytest.raises(FileError, match=message):
        open_tensors(tmp_path / name)


def test_unknown_tensor_is_named(files):
    with open_tensors(files / "many.npz") as file, pytest.raises(FileError, match="no tensor 'zz'"):
        file.read("zz")


@pytest.mark.parametrize("names", [("a",), "abcdefgh"], ids=["one member", "eight members"])
def test_an_archive_that_becomes_much_larger_is_refused_before_it_is_unpacked(tmp_path, capsys, monkeypatch, names):
    """Two files of one size: the small one is read, the one beyond the limit is not, though each of its headers is right."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **dict.fromkeys(names, np.zeros(1 << 20, np.float32)))
    with open_tensors(path) as file:
        assert len(file.tensors) == len(names) and not file.read("a").any()
    monkeypatch.setattr("emu.files.tensors.MOST_UNPACKED", (len(names) << 22) - 1)
    monkeypatch.setattr("zipfile.ZipFile.open", lambda *_: pytest.fail("a member was opened"))
    for words in (["quantize", path, "--recipe", "mxfp4_torchao_floor", "-o", tmp_path / "q.safetensors"], ["analyze", path]):
        assert run([str(word) for word in words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "more than 64 times as many: where it is yours, save it without compression" in said
    monkeypatch.undo()
    np.savez(path, **dict.fromkeys(names, np.zeros(1 << 20, np.float32)))
    monkeypatch.setattr("emu.files.tensors.MOST_UNPACKED", 1)
    with open_tensors(path) as file:
        assert len(file.tensors) == len(names)


def test_only_one_module_unpacks():
    """Whatever unpacks what somebody else packed has a limit: no other module of the package imports what can."""
    unpacks = re.compile(r"^\s*(import|from) (gzip|bz2|lzma|zlib|zipfile|tarfile|zstandard|brotli)\b|\b(np|torch)\.load\(", re.MULTILINE)
    found = [path.name for path in sorted(Path(emu.__file__).parent.rglob("*.py")) if unpacks.search(path.read_text(encoding="utf-8"))]
    assert found == ["folder.py", "tensors.py", "writers.py"]  # the first and the last only write
