"""Tensor files that are damaged on purpose: every one is refused in one line, in bounded time, and nothing is written.

The seeds of drawn damage are kept here: a find becomes a row of MADE.
"""

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import save as save_safetensors

from emu.base.errors import EmuError
from emu.cli.main import run
from emu.files import open_tensors

RECIPE = "mxfp4_torchao_floor"
VALUES = np.arange(64, dtype=np.float32).reshape(2, 32)


def npy(shape, header=None):
    text = header or f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + bytes(16)


def safetensors(header):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


def zipped(tmp_path, place, word):
    """An .npz archive with another byte in the records of its one member, local and central."""
    np.savez(tmp_path / "whole.npz", a=VALUES)
    data = bytearray((tmp_path / "whole.npz").read_bytes())
    data[place] = word
    data[data.find(b"PK\x01\x02") + place + 2] = word
    return bytes(data)


MADE = {
    "negative.npy": npy("(-4,)"),
    "huge.npy": npy("(10000000000000000,)"),
    "digits.npy": npy("(" + "9" * 5000 + ",)"),
    "unclosed.npy": npy("", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,"),
    "brackets.npy": npy("", "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 3000 + ")" * 3000 + "}"),
    "cut.npy": b"\x93NUMPY\x01\x00\xff\xff{",
    "objects.npy": npy("", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
    "empty.npz": b"",
    "length.safetensors": struct.pack("<Q", 10**12) + b"{}",
    "negative.safetensors": safetensors({"x": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}}),
    "deep.safetensors": safetensors(b"[" * 100_000),
    "digits.safetensors": safetensors(b'{"x":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,16]}}'),
    "overlap.safetensors": safetensors({name: {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} for name in "xy"}),
}


def refused(capsys, words):
    """The one line of a command that must refuse its input."""
    code = run([str(word) for word in words])
    said = capsys.readouterr()
    assert code == 2
    assert said.err.startswith("emu: ")
    assert said.err.count("\n") == 1
    assert "unexpected" not in said.err
    assert len(said.err) < 1000
    return said.err


@pytest.mark.parametrize("name", MADE)
def test_a_damaged_file_is_one_line(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(MADE[name])
    out = tmp_path / "out.safetensors"
    assert name in refused(capsys, ["quantize", tmp_path / name, "--recipe", RECIPE, "-o", out])
    assert not out.exists()


@pytest.mark.parametrize(("place", "word"), [(6, 1), (8, 99)], ids=["encrypted", "unknown compression"])
def test_members_that_zipfile_cannot_open_are_one_line(tmp_path, capsys, place, word):
    (tmp_path / "a.npz").write_bytes(zipped(tmp_path, place, word))
    refused(capsys, ["quantize", tmp_path / "a.npz", "--recipe", RECIPE, "-o", tmp_path / "out.safetensors"])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_pipes_are_not_waited_for(tmp_path, capsys, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    for words in (["analyze"], ["quantize", "--recipe", RECIPE, "-o", tmp_path / "out.safetensors"]):
        assert "is a pipe" in refused(capsys, [words[0], tmp_path / f"pipe{suffix}", *words[1:]])


def test_the_input_is_never_written_over(tmp_path, capsys):
    source = tmp_path / "w.safetensors"
    source.write_bytes(save_safetensors({"w": VALUES}))
    (tmp_path / "link.safetensors").hardlink_to(source)
    whole = source.read_bytes()
    for out in (source, tmp_path / "link.safetensors"):
        said = refused(capsys, ["quantize", source, "--recipe", RECIPE, "-o", out, "--force"])
        assert "is what is read" in said
    refused(capsys, ["quantize", tmp_path, "--recipe", RECIPE, "-o", source, "--force"])
    assert source.read_bytes() == whole
    quantized = tmp_path / "q.safetensors"
    assert run(["quantize", str(source), "--recipe", RECIPE, "-o", str(quantized)]) == 0
    capsys.readouterr()
    assert "is what is read" in refused(capsys, ["dequantize", quantized, "-o", quantized, "--force"])


def whole_files(tmp_path):
    """One good file of each kind."""
    np.save(tmp_path / "a.npy", VALUES)
    np.savez(tmp_path / "a.npz", w=VALUES, v=VALUES[0])
    (tmp_path / "a.safetensors").write_bytes(save_safetensors({"w": VALUES, "v": VALUES[0]}))
    assert run(["quantize", str(tmp_path / "a.npy"), "--recipe", RECIPE, "-o", str(tmp_path / "q.safetensors"), "--quiet"]) == 0
    return [tmp_path / name for name in ("a.npy", "a.npz", "a.safetensors", "q.safetensors")]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive), pytest.param(3, marks=pytest.mark.exhaustive)])
def test_drawn_damage_is_refused_or_read(tmp_path, capsys, seed):
    """Some bytes changed, most of them in the header, or the end cut off: every tensor is read, or one error of emu is raised."""
    random = np.random.default_rng(seed)
    cases = refusals = 0
    for path in whole_files(tmp_path):
        good = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(75):
            data, reach = good.copy(), len(good) if random.random() < 0.3 else min(160, len(good))
            for place in random.integers(0, reach, random.integers(1, 5)):
                data[place] = random.integers(0, 256) if random.random() < 0.5 else data[place] ^ (1 << random.integers(0, 8))
            bad = path.with_name(f"bad_{path.name}")
            bad.write_bytes(data[: random.integers(1, len(data))].tobytes() if random.random() < 0.2 else data.tobytes())
            cases += 1
            try:
                with open_tensors(bad) as file:
                    for info in file.tensors:
                        assert file.read(info.name).shape == info.shape
            except EmuError:
                refusals += 1
            if path.name.startswith("q."):
                code = run(["dequantize", str(bad), "-o", str(tmp_path / "values.npz"), "--force", "--quiet"])
                said = capsys.readouterr().err
                assert code in (0, 2), said
                assert "please report" not in said
    assert cases == 300
    assert refusals > 60
