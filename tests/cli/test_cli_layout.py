"""emu layout: places shown, and tensors of files brought from one order to another and back, whole or not at all."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open

import emu
from emu.cli.main import run
from emu.files import open_tensors, tensor_writer


def scales(*shape: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(5)).integers(1, 127, shape, np.uint8)


def write(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    with tensor_writer(path, metadata=metadata) as writer:
        for name, array in tensors.items():
            writer.put(name, array)


def read(path: Path) -> dict[str, np.ndarray]:
    with open_tensors(path) as file:
        return {info.name: file.read(info.name) for info in file.tensors}


def test_a_shape_and_places_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", "show", "sf8x4", "--shape", "9x5"]) == 0
    shown = capsys.readouterr().out
    assert "9 x 5 codes of 8 bits in 128 places: 128 units of 8 bits" in shown
    assert [line.split() for line in shown.splitlines()][-1] == ["8", "64", "65", "66", "67", "96"]
    assert run(["--json", "layout", "show", "sf8x4", "--shape", "9x5", "--at", "64", "--at", "33"]) == 0
    assert json.loads(capsys.readouterr().out)["at"] == [{"place": 64, "row": 8, "idx": 0}, {"place": 33, "row": None, "idx": None}]


def test_a_scale_tensor_of_a_file_there_and_back(tmp_path: Path) -> None:
    given = {"w.scale": scales(130, 5).view(ml_dtypes.float8_e4m3fn), "w.bias": np.arange(3, dtype=np.float32), "w.step": np.arange(3)}
    write(tmp_path / "a.safetensors", given, {"format": "pt"})
    there, back = tmp_path / "b.safetensors", tmp_path / "c.safetensors"
    options = ["--tensor", "w.scale", "--from", "row_major", "--to"]
    assert run(["layout", "convert", str(tmp_path / "a.safetensors"), *options, "sf128x4", "-o", str(there)]) == 0
    found = read(there)
    assert found["w.scale"].dtype == ml_dtypes.float8_e4m3fn and found["w.scale"].shape == (2048,)
    assert found["w.scale"].view(np.uint8).tolist() == emu.to_layout(given["w.scale"].view(np.uint8), "sf128x4").tolist()
    assert found["w.bias"].tolist() == [0, 1, 2] and found["w.step"].dtype == np.int64
    with safe_open(str(there), framework="numpy") as file:
        assert file.metadata() == {"format": "pt"}
    options = ["--tensor", "w.scale", "--from", "sf128x4", "--to", "row_major", "--shape", "130x5"]
    assert run(["layout", "convert", str(there), *options, "-o", str(back)]) == 0
    assert read(back)["w.scale"].view(np.uint8).tolist() == given["w.scale"].view(np.uint8).tolist()


def test_matrices_of_experts_and_words(tmp_path: Path) -> None:
    np.save(tmp_path / "codes.npy", scales(2, 3, 16))  # bytes of two codes: 2 matrices of 3 x 32
    words = tmp_path / "words.npy"
    assert (
        run(["layout", "convert", str(tmp_path / "codes.npy"), "--from", "low_nibble_first", "--to", "mlx_words4", "-o", str(words)]) == 0
    )
    found = np.load(words)
    assert (
        found.dtype == np.uint32 and found.shape == (2, 3, 4) and found.view(np.uint8).tolist() == np.load(tmp_path / "codes.npy").tolist()
    )
    high = tmp_path / "high.npy"
    assert run(["layout", "convert", str(words), "--from", "mlx_words4", "--to", "high_nibble_first", "-o", str(high)]) == 0
    low = np.load(tmp_path / "codes.npy")
    assert np.load(high).tolist() == (low >> 4 | (low & 15) << 4).tolist()


def test_what_lies_in_the_padding_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = emu.to_layout(scales(9, 5), "sf8x4")
    memory[33] = 7
    np.save(tmp_path / "a.npy", memory)
    options = ["--from", "sf8x4", "--to", "row_major", "--shape", "9x5"]
    assert run(["layout", "convert", str(tmp_path / "a.npy"), *options, "-o", str(tmp_path / "b.npy")]) == 0
    assert "1 codes in the padding were not 0 and are left out" in capsys.readouterr().err
    assert np.load(tmp_path / "b.npy").tolist() == scales(9, 5).tolist()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--from", "sf8x4", "--to", "row_major"],
            "a.npy: its sides, [520], do not say how many codes it holds without padding: give --shape",
        ),
        (
            ["--from", "sf8x4", "--to", "row_major", "--shape", "130x4"],
            "520 units, but 130 x 4 codes in sf8x4 take 544: give the right --shape",
        ),
        (["--from", "row_major", "--to", "low_nibble_first", "--shape", "130x4"], "no layout of the one is an order of the other"),
        (["--from", "mlx_words8", "--to", "mlx_words8", "--shape", "130x4"], "elements of 8 bits, but mlx_words8 lies in units of 32 bits"),
        (["--from", "low_nibble_first", "--to", "high_nibble_first", "--shape", "13x5"], "13 x 5 codes of 4 bits end inside a byte"),
        (["--from", "row_major", "--to", "sf8x4", "--shape", "130"], "--shape 130: write ROWSxCODES"),
        (["--from", "row_major", "--to", "sf8x4", "--shape", "2x65x4", "--tensor", "w"], "a.npy: no tensor 'w'"),
        (["--from", "row_mayor", "--to", "sf8x4", "--shape", "130x4"], "row_mayor"),
    ],
)
def test_one_line_and_no_file_where_it_does_not_fit(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "a.npy", scales(520))
    assert run(["layout", "convert", str(tmp_path / "a.npy"), *options, "-o", str(tmp_path / "b.npy")]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1 and sorted(path.name for path in tmp_path.iterdir()) == ["a.npy"]
