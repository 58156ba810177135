"""Headers of .gguf files that claim what they do not hold: each ends with one line, in time and memory of the file's size."""

from __future__ import annotations

import resource
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.base.errors import FileError
from emu.checkpoint.container import open_checkpoint
from emu.cli.main import run
from emu.files.gguf import _TYPES, PLAIN, read_gguf, write_gguf
from emu.files.writers import Planned

UINT8, UINT32, TEXT, LIST = 0, 4, 8, 9
HUGE = 1 << 40


def number(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


def text(data: str) -> bytes:
    return number(len(data)) + data.encode()


def word(key: str, kind: int, data: bytes) -> bytes:
    return text(key) + number(kind, 4) + data


def tensor(name: str, shape: tuple[int, ...], kind: int, place: int) -> bytes:
    return text(name) + number(len(shape), 4) + b"".join(map(number, shape)) + number(kind, 4) + number(place)


def gguf(words: list[bytes] = [], tensors: list[bytes] = [], data: int = 64, version: int = 3) -> bytes:  # noqa: B006 - not changed
    head = b"GGUF" + number(version, 4) + number(len(tensors)) + number(len(words)) + b"".join(words) + b"".join(tensors)
    return head + bytes(-len(head) % 32 + data)


GOOD = [tensor("a", (8,), 0, 0), tensor("b", (32, 1), 39, 32)]
HOSTILE: dict[str, tuple[bytes, str]] = {
    "2^40 entries": (gguf([word("k", LIST, number(UINT8, 4) + number(HUGE))]), "numbers, of 1099511627776 bytes at least, where"),
    "2^40 texts": (gguf([word("k", LIST, number(TEXT, 4) + number(HUGE))]), "texts, of"),
    "2^40 lists": (gguf([word("k", LIST, number(LIST, 4) + number(HUGE))]), "lists, of"),
    "2^40 lists of nothing": (gguf([word("k", LIST, number(LIST, 4) + number(HUGE) + bytes(12))]), "lists, of"),
    "lists in lists": (gguf([word("k", LIST, (number(LIST, 4) + number(1)) * 6 + number(0, 4) + number(0))]), "too deep"),
    "3e6 entries": (gguf([word("k", LIST, number(UINT32, 4) + number(3_000_000))]), "numbers, of 12000000 bytes"),
    "a text of 2^62": (gguf([word("k", TEXT, number(1 << 62))]), "a text, of"),
    "a key of 2^63": (b"GGUF" + number(3, 4) + number(0) + number(1) + number(1 << 63) + bytes(64), "a key, of"),
    "a name of 2^63": (b"GGUF" + number(3, 4) + number(1) + number(0) + number(1 << 63) + bytes(64), "a tensor's name, of"),
    "2^60 tensors": (b"GGUF" + number(3, 4) + number(1 << 60) + number(0) + bytes(64), "claims 1152921504606846976 tensors"),
    "2^60 words": (b"GGUF" + number(3, 4) + number(0) + number(1 << 60) + bytes(64), "words of metadata"),
    "a product of 2^256": (gguf(tensors=[tensor("a", ((1 << 63),) * 4, 0, 0)]), "ends inside tensor a"),
    "axes": (gguf(tensors=[tensor("a", (1,) * 5, 0, 0)]), "has 5 axes"),
    "2^31 axes": (gguf(tensors=[text("a") + number(1 << 31, 4) + bytes(40)]), "axes: at most 4"),
    "beyond the end": (gguf(tensors=[tensor("a", (8,), 0, 1 << 50)]), "ends inside tensor a"),
    "an offset of 2^64 - 32": (gguf(tensors=[tensor("a", (8,), 0, (1 << 64) - 32)]), "ends inside tensor a"),
    "in each other's place": (gguf(tensors=[tensor("a", (16,), 0, 0), tensor("b", (8,), 0, 32)]), "b lies in the place of another"),
    "the same place": (gguf(tensors=[tensor("a", (8,), 0, 0), tensor("b", (8,), 0, 0)]), "in the place of another"),
    "not aligned": (gguf(tensors=[tensor("a", (8,), 0, 4)]), "does not begin at a multiple of 32"),
    "a name twice": (gguf(tensors=[tensor("a", (8,), 0, 0), tensor("a", (8,), 0, 32)]), "tensor a is there twice"),
    "a key twice": (gguf([word("k", UINT8, b"0"), word("k", UINT8, b"0")]), "key k is there twice"),
    "an unknown type": (gguf(tensors=[tensor("a", (8,), 4, 0)]), "is of type 4, which is not known"),
    "an unknown word": (gguf([word("k", 13, bytes(8))]), "type 13 of a word of metadata is not known"),
    "half a block": (gguf(tensors=[tensor("a", (16, 2), 39, 0)]), "no rows of whole MXFP4 blocks of 32"),
    "a block without an axis": (gguf(tensors=[tensor("a", (), 39, 0)]), "no rows of whole MXFP4"),
    "alignment 0": (gguf([word("general.alignment", UINT32, number(0, 4))]), "alignment is no power of two"),
    "alignment 12": (gguf([word("general.alignment", UINT32, number(12, 4))]), "alignment is no power of two"),
    "alignment 2^31": (gguf([word("general.alignment", UINT32, number(1 << 31, 4))]), "alignment is no power of two"),
    "alignment, a text": (gguf([word("general.alignment", TEXT, text("32"))]), "alignment is no power of two"),
    "no text": (gguf([number(1) + b"\xff" + number(0, 4) + b"0"]), "utf-8"),
    "version 1": (gguf(version=1), "its version is 1: versions 2 and 3 are read"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0) + bytes(64), "big-endian: versions 2 and 3 are read, little-endian"),
    "another file": (b"GGML" + bytes(64), "does not begin with GGUF"),
    "nothing": (b"", "of 4 bytes at least, where 0 are left"),
}  # fmt: skip


def fault(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        open_checkpoint(path)
    return str(caught.value)


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("command", [["identify", "--quantized"], ["verify-checkpoint"]], ids=["identify", "verify"])
def test_a_claim_ends_with_one_line(tmp_path: Path, capsys: Any, case: str, command: list[str]) -> None:
    data, why = HOSTILE[case]
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run([*command, str(path)]) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB; the modules that the command loads among them
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and why in error, error


def test_what_a_header_may_hold_is_read(tmp_path: Path) -> None:
    words = [
        word("empty", LIST, number(LIST, 4) + number(2) + number(UINT8, 4) + number(0) + number(TEXT, 4) + number(1) + text("x")),
        word("texts", LIST, number(TEXT, 4) + number(2) + text("one") + text("")),
        word("general.alignment", UINT32, number(64, 4)),
        *(word(f"w{kind}", kind, bytes(size)) for kind, size in {0: 1, 2: 2, 4: 4, 6: 4, 7: 1, 10: 8, 12: 8}.items()),
    ]
    head = gguf(words, [tensor("a", (8, 3), 0, 0), tensor("none", (0,), 0, 128), tensor("b", (32, 2), 39, 128)], 0, 2)
    start = -(-len(head.rstrip(b"\0")) // 64) * 64
    path = tmp_path / "model.gguf"
    path.write_bytes(head.ljust(start, b"\0")[:start] + bytes(range(162)))
    found = {item.name: item for item in read_gguf(path)}
    assert (found["a"].type, found["a"].shape, found["a"].size) == ("F32", (3, 8), 96)
    assert (found["b"].type, found["b"].shape, found["b"].size) == ("MXFP4", (2, 32), 34)
    assert found["b"].start - found["a"].start == 128 and found["none"].size == 0


def test_the_package_gguf_says_the_same(tmp_path: Path) -> None:
    library = pytest.importorskip("gguf", reason="the second opinion, gguf, is of the extra [checkpoint]")
    sizes = {kind.value: (kind.name, *size) for kind, size in library.constants.GGML_QUANT_SIZES.items()}
    assert sizes == _TYPES
    assert {name: number for number, (name, block, _) in _TYPES.items() if block == 1} == PLAIN
    path = tmp_path / "a.gguf"
    writer = library.GGUFWriter(path, "llama")
    writer.add_array("tokens", ["a", "bc"])
    writer.add_array("numbers", [1, 2, 3])
    for name, dtype, shape in [("x", np.float32, (3, 5)), ("y", np.float16, (2, 2, 2)), ("z", np.int8, (7,))]:
        writer.add_tensor(name, np.ones(shape, dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    wanted = [
        (item.name, item.tensor_type.name, tuple(item.shape.tolist()[::-1]), int(item.data_offset), int(item.n_bytes))
        for item in library.GGUFReader(path).tensors
    ]
    assert len(wanted) == 3 and [tuple(item) for item in read_gguf(path)] == wanted


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small valid file."""
    path = tmp_path_factory.mktemp("gguf") / "a.gguf"
    tensors = [
        Planned("blk.0.weight", "MXFP4", (2, 32), 34, lambda: [np.zeros(34, np.uint8)]),
        Planned("norm", "F32", (8,), 32, lambda: [np.ones(32, np.uint8)]),
    ]
    write_gguf(path, tensors, {"general.architecture": "llama", "n": 3}, {"MXFP4": 39})
    assert [item.name for item in read_gguf(path)] == ["blk.0.weight", "norm"]
    return path.read_bytes()


def damaged(data: bytes, count: int) -> list[bytes]:
    """Every truncation of a header, and words of it that say something else."""
    drawn = np.random.default_rng(1)
    out = [data[:size] for size in range(len(data))]
    for _ in range(count):
        place, size = int(drawn.integers(4, len(data) - 8)), int(drawn.choice((1, 4, 8)))
        values = (0, 1, 255, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, int(drawn.integers(1 << 62)))
        value = values[int(drawn.integers(len(values)))]
        out.append(data[:place] + number(value % (1 << 8 * size), size) + data[place + size :])
    return out


def test_damage_ends_with_one_line_or_is_read(small: bytes, tmp_path: Path) -> None:
    path, said = tmp_path / "a.gguf", []
    for data in damaged(small, 3000):
        path.write_bytes(data)
        try:
            assert all(item.start + item.size <= len(data) for item in read_gguf(path))
        except FileError as error:
            said.append(str(error))
    assert len(said) > 1500 and all(line.startswith(f"{path}: ") and "\n" not in line for line in said)
