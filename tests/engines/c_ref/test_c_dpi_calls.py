"""The functions for SystemVerilog called from Python, without a simulator: a user's objects out of a descriptor file, at every kind."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.dpi_rows import KINDS, mine, of_user, turned

from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import descriptor_text

WORDS = 8192 // 32
NAMES = {"convert": 4, "decode": 2, "quantize": 2, "dequantize": 3, "transform": 2, "layout": 1, "dot": 1}
HANDLE, NAME, UNKNOWN = 64, 15, 8  # error numbers


@pytest.fixture(scope="module")
def dpi(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The library of c_ref/dpi with all that it needs."""
    if shutil.which("cc") is None:
        pytest.skip("no cc here (Debian: gcc)")
    folder, made = c_reference(), tmp_path_factory.mktemp("dpi") / "dpi.so"
    sources = [*folder.glob("src/*/*.c"), *folder.glob("dpi/*.c"), folder / "tool/level_row.c", folder / "tool/read_text.c"]
    words = ["cc", "-std=c99", "-O0", "-shared", "-fPIC", "-o", str(made), *map(str, sources)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = ctypes.CDLL(str(made))
    found.emu_dpi_fault.restype = ctypes.c_char_p
    return found


@pytest.fixture
def handle(dpi: Any, tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "mine.txt"
    path.write_text(descriptor_text(of_user()), encoding="ascii")
    found = dpi.emu_dpi_open(str(path).encode())
    assert found > 0, dpi.emu_dpi_fault()
    yield found
    assert dpi.emu_dpi_close(found) == 0


def packed(number: int = 0) -> Any:
    return (ctypes.c_uint32 * WORDS).from_buffer_copy(number.to_bytes(WORDS * 4, "little"))


def whole(bits: Any) -> int:
    return int.from_bytes(bytes(bits), "little")


def answer(dpi: Any, handle: int, kind: str, names: list[bytes], numbers: list[int]) -> bool:
    """Ask one question; whether the answer is that of the line."""
    wide, more, byte, flags = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint8(), ctypes.c_uint32()
    first, second, third = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_int32()
    number, ref, x, y = ctypes.c_uint64, ctypes.byref, packed(), packed()
    if kind == "convert":
        code, random, want, is_open = numbers
        error = dpi.emu_dpi_convert_in(handle, *names, number(code), random, ref(wide), ref(byte))
        return not error and (wide.value, byte.value) == (want, is_open)
    if kind == "decode":
        code, value_class, want = numbers
        error = dpi.emu_dpi_decode_in(handle, names[0], number(code), ref(first), ref(second), ref(more), ref(third))
        error = error or dpi.emu_dpi_decode_to_in(handle, *names, number(code), ref(wide))
        return not error and (first.value, wide.value) == (value_class, want)
    if kind == "quantize":
        given, columns, amax, random, want, mask, want_levels, mask_levels, is_open = numbers
        error = dpi.emu_dpi_quantize_in(handle, *names, packed(given), columns, amax, packed(random), x, y, ref(byte))
        return not error and not ((whole(x) ^ want) & mask or (whole(y) ^ want_levels) & mask_levels) and byte.value == is_open
    if kind == "dequantize":
        codes, levels, want, mask = numbers
        error = dpi.emu_dpi_dequantize_in(handle, *names, packed(codes), packed(levels), x)
        return error == (0 if mask else UNKNOWN) and not (whole(x) ^ want) & mask
    if kind == "transform":
        given, signs, want, mask = numbers
        return not dpi.emu_dpi_transform_in(handle, *names, packed(given), packed(signs), x) and not (whole(x) ^ want) & mask
    if kind == "layout":
        row, index, rows, codes, want, want_size = numbers
        error = dpi.emu_dpi_layout_place_in(handle, *names, number(row), number(index), number(rows), number(codes), ref(wide))
        error = error or dpi.emu_dpi_layout_size_in(handle, *names, number(rows), number(codes), ref(more))
        at = ctypes.c_uint64(), ctypes.c_uint64()
        error = error or dpi.emu_dpi_layout_locate_in(handle, *names, number(want), number(rows), number(codes), ref(at[0]), ref(at[1]))
        return not error and (wide.value, more.value, at[0].value, at[1].value) == (want, want_size, row, index)
    products, a, sa, b, sb, c, random, want, mask, want_flags, is_open, draws, bits = numbers
    error = dpi.emu_dpi_dot_row_in(handle, *names, products, ref(first), ref(second), ref(third), ref(flags), ref(byte))
    if error or (second.value, third.value) != (draws, bits) or want_flags & ~flags.value or products not in (0, first.value):
        return False
    operands = [packed(item) for item in (a, sa, b, sb)]
    error = dpi.emu_dpi_dot_in(handle, *names, products, *operands, number(c), packed(random), ref(wide), ref(flags), ref(byte))
    return not error and (flags.value, byte.value) == (want_flags * (not is_open), is_open) and not (wide.value ^ want) & mask


def right(dpi: Any, handle: int, lines: list[str]) -> Counter[tuple[str, bool]]:
    """How many questions of each kind are answered rightly, and how many are not."""
    found: Counter[tuple[str, bool]] = Counter()
    for line in lines:
        kind, *words = line.split()
        names, numbers = [word.encode() for word in words[: NAMES[kind]]], [int(word, 16) for word in words[NAMES[kind] :]]
        found[kind, answer(dpi, handle, kind, names, numbers)] += 1
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_a_file_are_answered_rightly(dpi: Any, handle: int, kind: str) -> None:
    lines = list(KINDS[kind]())
    asked = Counter(line.split()[0] for line in lines)
    assert len(lines) > 30 and right(dpi, handle, lines) == {(name, True): count for name, count in asked.items()}
    for name in asked:
        assert right(dpi, handle, turned(lines, name))[name, False] == 1


def test_rows_are_of_all_sorts() -> None:
    """Open and refused results, flags, random integers of two widths, runs of several instructions."""
    dots = [line.split() for line in (*KINDS["golden dots"](), *KINDS["drawn dots"]())]
    assert {words[12] for words in dots} == {"0", "1"} and {words[11] for words in dots} == {"0", "1", "2", "3"}
    assert {"8", "10"} <= {words[14] for words in dots} and len({words[2] for words in dots}) > 5
    assert {line.split()[-1] for line in KINDS["convert"]()} == {"0", "1", "2"}


def test_a_handle_that_was_closed_is_none(dpi: Any, tmp_path: Path) -> None:
    """Also when another file lies in its place; and each handle has the objects of its own file."""
    paths, wide = [], ctypes.c_uint64()
    for bias in (3, 4):
        paths.append(tmp_path / f"{bias}.txt")
        paths[-1].write_text(descriptor_text([mine("format", "e3m2", "mine", bias=bias)]), encoding="ascii")

    def one(handle: int) -> int:
        error = int(dpi.emu_dpi_decode_to_in(handle, b"mine", b"fp32", ctypes.c_uint64(1), ctypes.byref(wide)))
        return error or wide.value >> 23

    first, second = (dpi.emu_dpi_open(str(path).encode()) for path in paths)
    assert (one(first), one(second)) == (127 + 1 - 3 - 2, 127 + 1 - 4 - 2)
    assert dpi.emu_dpi_close(first) == 0 and one(first) == HANDLE and one(second) == 127 + 1 - 4 - 2
    again = dpi.emu_dpi_open(str(paths[1]).encode())
    assert again != first and (one(first), one(again)) == (HANDLE, one(second))
    assert one(0) == NAME and b"mine" in dpi.emu_dpi_fault() and dpi.emu_dpi_fault_line() == 0
    assert dpi.emu_dpi_close(second) == dpi.emu_dpi_close(again) == 0


def test_all_of_the_name_and_the_line_of_a_file_are_told(dpi: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    text = descriptor_text([mine("format", "e3m2", "mine", bias=4)])
    path.write_text(text.replace("bias 4", "bias 04"), encoding="ascii")
    line = text.splitlines().index("bias 4") + 1
    assert dpi.emu_dpi_open(str(path).encode()) == -16
    assert dpi.emu_dpi_fault().decode().startswith(f"{path}:{line}: not an integer '04': ") and dpi.emu_dpi_fault_line() == line
    assert dpi.emu_dpi_open(str(tmp_path).encode()) == -65 and dpi.emu_dpi_fault().decode() == f"{tmp_path}: cannot be read"
    path.write_text("# " + "x" * (1 << 20), encoding="ascii")
    assert dpi.emu_dpi_open(str(path).encode()) == -16
    assert dpi.emu_dpi_fault().decode() == f"{path}: bytes of the file = {2 + (1 << 20)}: at most {1 << 20}"
