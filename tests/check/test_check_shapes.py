"""Shapes: which are asked, how x lies in memory, what a kernel may refuse aloud, what is stale, what is read and written beyond the end."""

import shutil
import subprocess

import numpy as np
import pytest
from support.wrong_kernels import Wrong, made, right, verdict

from emu.base.errors import OperandError
from emu.check.inputs.suites import parse_shapes, questions
from emu.check.run import check
from emu.check.targets.c import c_target
from emu.check.targets.python import laid, python_target
from emu.cli.main import run
from emu.contracts import form_of
from emu.contracts.quantize.shapes import many, question, shapes_of
from emu.contracts.shapes import LAYOUTS, MANY, SIZES

REF = "quantize/nvfp4_te_ref"
ONLY = {"suites": ("shapes",)}


def kernel_of(change):
    """A right kernel but for what a change makes of x and of the answer."""
    kernel = right("nvfp4_te_ref", "fp32")

    def called(x, tensor_amax):
        return change(lambda x: kernel(x, tensor_amax=tensor_amax), x)

    return python_target(called, REF, takes="numpy.bits", source="fp32", gives={"codes": "codes", "scale": "scale"})


def test_the_shapes_that_are_asked():
    form = form_of(REF)
    found = shapes_of(form)
    widths, heights = {shape[1] for shape in found}, {shape[0] for shape in found}
    assert all({size - 1, size, size + 1} <= widths for size in SIZES) and all({size - 1, size, size + 1} <= heights for size in SIZES)
    assert (1, 16) in found and (1, 1) in found and len(found) == len(set(found))
    assert {-(-width // 16) % 2 for width in widths} == {0, 1}
    assert any(rows > 1 and columns % 16 for rows, columns in found)
    assert any(rows > 128 and columns > 64 for rows, columns in found)  # more than one tile of a scale layout each way
    assert {shape[0] for shape in many(form)} >= {MANY} and max(shape[1] for shape in many(form)) // 16 == MANY > 65535


@pytest.mark.parametrize("contract", [REF, "quantize/nvfp4_te_2d_ref", "quantize/hif4"])
@pytest.mark.parametrize("multiple", [(1, 1), (128, 64)])
def test_multiples_and_tail_rules_are_kept(contract, multiple):
    """And the whole of a tensor is drawn: no zeros fill it up to the multiple."""
    form, ends = form_of(contract), []
    for item in questions(form, "shapes", True, {"count": None, "key": 1, "multiple": multiple, "calls": "programs"}):
        x = item.operands["x"]
        assert all(size % part == 0 for size, part in zip(x.shape, multiple, strict=True))
        form.shapes(item.operands)
        ends.append(bool(x[-1].any() and x[:, -1].any()))
    assert np.mean(ends) > 0.9


def test_shapes_of_the_user(tmp_path, capsys):
    seen = []
    check(kernel_of(lambda kernel, x: seen.append(x.shape) or kernel(x)), REF, shapes=((3, 77), (9, 4096)), suites=("shapes",))
    assert {(3, 77), (9, 4096)} <= set(seen) and MANY in {shape[0] for shape in seen} and (0, 64) in seen
    assert parse_shapes("4096x5120, 1x64") == ((4096, 5120), (1, 64))
    for text in ("", "0x4", "4x", "4x4x4", "-1x3", "a"):
        with pytest.raises(OperandError, match="--shapes"):
            parse_shapes(text)
    path = tmp_path / "k.py"
    path.write_text("import emu\ndef f(x, tensor_amax):\n    assert x.shape != (3, 77)\n"
                    "    return emu.quantize(x, 'nvfp4_te_ref', tensor_amax=tensor_amax)\n")  # fmt: skip
    words = ["check", f"{path}:f", "--against", REF, "--suite", "shapes"]
    assert run([*words, "--shapes", "3x77"]) == 1 and "shape 3x77" in capsys.readouterr().out
    assert run([*words, "--shapes", "3x"]) == 2


@pytest.mark.parametrize("layout", ["", *LAYOUTS])
def test_x_lies_as_it_is_said(layout):
    bits = np.arange(6 * 48, dtype=np.uint32).reshape(6, 48)
    found = laid(bits, layout)
    assert np.array_equal(found.reshape(bits.shape), bits) and found.flags.c_contiguous == (layout in ("", "three"))
    assert found.ndim == (3 if layout == "three" else 2)


def test_refusing_aloud_is_no_failure_and_is_said():
    def picky(kernel, x):
        if x.ndim != 2 or not x.flags.c_contiguous or not x.size:
            raise ValueError("a matrix in one piece, please")
        return kernel(x)

    report = check(kernel_of(picky), REF, **ONLY)
    assert report.verdict == "pass" and sum("refuses it" in note for note in report.notes) == len(LAYOUTS) + 1


def test_three_axes_are_read():
    def any_axes(kernel, x):
        found = kernel(x.reshape(-1, x.shape[-1]))
        return {name: array.reshape(*x.shape[:-1], -1) for name, array in found.items()} if x.size else found

    report = check(kernel_of(any_axes), REF, **ONLY)
    assert report.verdict == "pass" and not any("three axes" in note for note in report.notes)

    def halves(kernel, x):
        found = any_axes(kernel, x)
        return {**found, "codes": found["codes"][::-1].copy()} if x.ndim == 3 else found

    assert check(kernel_of(halves), REF, **ONLY).verdict == "differs"


def test_a_kernel_that_raises_at_a_shape_is_told_which():
    def even(kernel, x):
        if x.shape[0] == 129:
            raise ValueError("no")
        return kernel(x)

    report = check(kernel_of(even), REF, **ONLY)
    assert report.verdict == "raises" and "shape 129x" in report.message


@pytest.mark.parametrize("number", range(0, 51, 5))
def test_a_rule_of_shapes_is_seen_by_this_suite_alone(number):
    item = [item for item in made("nvfp4_te_ref") if item.kind == "shape"][number]
    assert verdict(item, suites=("shapes",)) in ("differs", "dtype"), item.name


def test_no_rows_may_not_become_some():
    report = check(kernel_of(lambda kernel, x: kernel(x if x.size else np.zeros((1, 64), np.uint32))), REF, **ONLY)
    assert report.verdict == "shape" and "shape 0x64" in report.message


C = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
static void zeros(const float *x, size_t rows, size_t columns, uint8_t *codes, uint8_t *scale, size_t more, size_t far) {
    memset(codes, 0, rows * columns); memset(scale, 0, rows * ((columns + 15) / 16));
    if (more) codes[rows * columns + far] = 1;
    if (!rows) return;
}
#define KERNEL(name, far) \\
    void name(const float *x, size_t rows, size_t columns, uint8_t *codes, uint8_t *scale) { \\
        zeros(x, rows, columns, codes, scale, columns % 16, far); \\
    }
KERNEL(beyond, 0)
KERNEL(far, 4096)
KERNEL(before, (size_t)-1 - rows * columns)
"""


@pytest.mark.parametrize("name", ["beyond", "far", "before"])
def test_writes_outside_are_seen_far_away(tmp_path, name):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: a C target cannot be made")
    (tmp_path / "k.c").write_text(C)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", tmp_path / "k.so", tmp_path / "k.c"], check=True)
    signature = f"{name}(x: const float*, rows: size_t, columns: size_t, codes: uint8_t*, scale: uint8_t*)"
    report = check(c_target(str(tmp_path / "k.so"), signature, REF), REF, suites=("shapes",))
    assert report.verdict == "shape" and "wrote outside its answer codes" in report.message


def test_the_answer_of_an_older_call_is_not_believed():
    """A kernel that does not write its last column: the memory that it gets back holds junk."""
    room = {}

    def lazy(kernel, x):
        found = kernel(x)
        codes = np.empty(found["codes"].shape, np.uint8)
        codes[:, :-1] = found["codes"][:, :-1]
        return {**found, "codes": codes}

    assert check(kernel_of(lazy), REF, **ONLY).verdict in ("differs", "dtype") and not room
    assert verdict(Wrong("right", "right", REF, right("nvfp4_te_ref", "fp32"))) == "pass"


@pytest.mark.parametrize("contract", [REF, "quantize/hif4"])
def test_large_and_small_shapes_come_in_turn(contract):
    """An answer of an older call is then too small for the next, or a later one is much larger: nothing stale fits."""
    sizes = [rows * columns for rows, columns in shapes_of(form_of(contract))]
    half = len(sizes) // 2
    assert all(sizes[2 * i] > 4 * sizes[2 * i + 1] for i in range(half // 2)) and min(sizes[: 2 * half : 2]) >= max(sizes[1 : 2 * half : 2])


def test_tiles_of_128_rows_are_not_asked_by_the_gigabyte():
    """Up to 128 tiles one above the other, and tensors that are no whole tiles."""
    found = shapes_of(form_of("quantize/e4m3_tile128_deepseek"))
    assert sum(rows * columns for rows, columns in found) < 1 << 24 and max(rows for rows, _ in found) == 128 * 128
    assert any(rows % 128 and columns % 128 for rows, columns in found)


def asked_shapes():
    given = {"count": None, "key": 1, "multiple": (1, 1), "shapes": (), "calls": "programs"}
    return questions(form_of(REF), "shapes", True, given)


def test_shapes_are_filled_with_every_kind_of_tensor():
    asks = [item.operands["x"].view(np.float32) for item in asked_shapes() if item.operands["x"].size > 256]
    assert any(x.min() == 0 for x in asks) and any((x == np.rint(x)).all() for x in asks) and any(0 < x.std() < 0.03 for x in asks)


def test_memory_of_the_sizes_of_the_answers_holds_junk():
    """A kernel that asks for memory and writes nothing."""
    seen = []

    def nothing(kernel, x):
        codes = np.empty(x.shape, np.uint8)
        seen.append(bool((codes == 0xA5).all()))
        return kernel(x)

    form, target = form_of(REF), kernel_of(nothing)
    for number in range(20):
        target(question(form, (4, 16 + 16 * number), 1, number).operands)
    assert any(seen)


@pytest.mark.parametrize("layout", ["", "columns", "rows", "offset", "three"])
def test_around_x_lies_junk(layout):
    """Every bit of what is not x is set: as floats NaN."""
    found = laid(np.zeros((6, 48), np.uint32), layout)
    whole = found
    while whole.base is not None:
        whole = whole.base
    assert whole.size > found.size and np.count_nonzero(whole == 0xFFFFFFFF) == whole.size - found.size
