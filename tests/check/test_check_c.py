"""C symbols as targets: a right and wrong kernels compiled here, the signature grammar, crashes and writes outside the answer."""

import shutil
import subprocess

import numpy as np
import pytest

from emu.base.errors import OperandError, TargetError, ToolError
from emu.check.run import check
from emu.check.targets.c import GUARD, c_target
from emu.check.targets.named import parse_target
from emu.check.targets.python import python_target
from emu.check.targets.signature import parse_signature

CONTRACT = "convert/e2m1/rne/nvidia"
SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
static uint8_t code(float x, float tie) {
    uint32_t bits; memcpy(&bits, &x, 4);
    uint8_t sign = bits >> 31 ? 8 : 0; bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000) return 7;
    float a; memcpy(&a, &bits, 4);
    return sign | (a <= 0.25f ? 0 : a < 0.75f ? 1 : a <= 1.25f ? 2 : a < 1.75f ? 3 : a <= tie ? 4 : a < 3.5f ? 5 : a <= 5.0f ? 6 : 7);
}
void right(const float *x, size_t n, uint8_t *codes) { for (size_t i = 0; i < n; i++) codes[i] = code(x[i], 2.5f); }
void tie(const float *x, size_t n, uint8_t *codes) { for (size_t i = 0; i < n; i++) codes[i] = code(x[i], 2.25f); }
void outside(const float *x, size_t n, uint8_t *codes) { right(x, n, codes); codes[n] = 0; }
int status(const float *x, size_t n, uint8_t *codes) { right(x, n, codes); return 3; }
void input(float *x, size_t n, uint8_t *codes) { right(x, n, codes); x[0] = 1; }
void scaled(const uint8_t *codes, const float *scale, size_t n, float *values) {
    for (size_t i = 0; i < n; i++) values[i] = scale[0] * codes[i];
}
void crash(const float *x, size_t n, uint8_t *codes) { *(volatile int *)0 = (int)n; }
"""
ARGUMENTS = "x: const float*, n: size_t, codes: uint8_t*"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """A shared library with kernels, compiled once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: a C target cannot be made")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "k.c").write_text(SOURCE)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", folder / "k.so", folder / "k.c"], check=True)
    return folder / "k.so"


@pytest.mark.parametrize("python", [True, False])
def test_operands_of_another_width_are_refused(library, python):
    contract, asked = "dequantize/e4m3_row_torchao/exact", []
    if python:
        target = python_target(lambda codes, scale: asked.append(scale) or np.float32(scale) * codes, contract)
    else:
        target = c_target(library, "scaled(codes: const uint8_t*, scale: const float*, n: size_t, values: float*)", contract)
    operands = {"codes": np.zeros((4, 2), np.uint8), "scale": np.zeros((4, 1), np.uint32)}
    assert target(operands)["values"].shape == (4, 2)
    with pytest.raises(TargetError, match=r"scale .*another width") as found:
        target({**operands, "scale": operands["scale"].astype(np.uint16)})
    assert found.value.verdict == "shape" and len(asked) == python


def made(library, name, arguments=ARGUMENTS, tail=""):
    return parse_target(f"c:{library}:{name}", CONTRACT, signature=f"{name}({arguments}){tail}")


def test_a_right_kernel_passes(library):
    report = check(made(library, "right"), CONTRACT)
    assert report.verdict == "pass" and report.compared > 1 << 17 and report.target == "right"


def test_a_wrong_kernel_gives_the_minimal_case(library):
    report = check(made(library, "tie"), CONTRACT, suites=("directed",))
    example = next(failure.example for failure in report.failures if failure.name == "tie")
    assert example.operands == {"codes": "40200000"} and (example.want, example.got) == ("0x4 (2)", "0x5 (3)")


@pytest.mark.parametrize(("name", "tail", "verdict", "words"), [
    ("outside", "", "shape", "wrote outside its answer codes"),
    ("status", " -> int", "raises", "returned 3"),
    ("input", "", "mutates", "changed its operand x"),
])  # fmt: skip
def test_misbehaviour_has_a_verdict(library, name, tail, verdict, words):
    report = check(made(library, name, tail=tail), CONTRACT, suites=("directed",))
    assert report.verdict == verdict and words in report.message


def test_a_crash_in_a_process_of_its_own_is_a_verdict(library):
    report = check(made(library, "crash"), CONTRACT, suites=("directed",), seconds=30)
    assert report.verdict == "raises" and "died by SIGSEGV" in report.message


def test_signatures_are_read_strictly():
    found = parse_signature(" f ( x : const void* , tensor_amax: float, packed: uint8_t* ) -> int ")
    assert [(item.name, item.type, item.role) for item in found.parameters] == [
        ("x", "void", "in"), ("tensor_amax", "float", "value"), ("packed", "uint8_t", "out"),
    ]  # fmt: skip
    assert found.symbol == "f" and found.status


@pytest.mark.parametrize(("text", "words"), [
    ("f", "is no signature"),
    ("f(x: const float*", "is no signature"),
    ("f(x: const float*, codes: uint8_t*) -> float", "is no signature"),
    ("f(x const float*)", "is no parameter"),
    ("f(x: const half*, codes: uint8_t*)", "type 'half' of x is unknown"),
    ("f(x: const float*)", "no parameter takes the answer"),
    ("f(x: const float*, x: uint8_t*)", "x is there twice"),
    ("f(x: void, codes: uint8_t*)", "cannot be void"),
])  # fmt: skip
def test_a_wrong_signature_says_what_is_wrong(text, words):
    with pytest.raises(OperandError, match=words):
        parse_signature(text)


@pytest.mark.parametrize(("arguments", "words"), [
    ("x: const float*, m: size_t, codes: uint8_t*", "m as value is unknown"),
    ("x: const float*, scale: uint8_t*", "scale as out is unknown"),
    ("x: const float*, codes: uint32_t*", "codes is uint32_t\\*, e2m1 codes have 1 bytes"),
])  # fmt: skip
def test_a_signature_against_the_contract_is_refused(library, arguments, words):
    with pytest.raises(OperandError, match=words):
        made(library, "right", arguments)


def test_missing_libraries_and_symbols_are_missing_tools(library, tmp_path):
    with pytest.raises(ToolError, match="has no symbol nothing"):
        made(library, "nothing")
    with pytest.raises(ToolError, match="cannot be loaded"):
        c_target(str(tmp_path / "none.so"), f"right({ARGUMENTS})", CONTRACT)


@pytest.mark.parametrize(("kind", "wanted"), [("float", 2.5), ("uint32_t", 0x40200000)])
def test_a_number_of_a_tensor_is_passed_as_its_type_says(library, kind, wanted):
    signature = f"right(x: const float*, rows: size_t, columns: size_t, tensor_amax: {kind}, packed: uint8_t*, scale: uint8_t*)"
    target = c_target(str(library), signature, "quantize/nvfp4_te_ref")
    (item,) = (item for item in target.signature.parameters if item.name == "tensor_amax")
    given = {"x": np.zeros((2, 48), np.uint32), "tensor_amax": np.array(0x40200000, np.uint32)}
    assert target._number(item, given) == wanted


def test_tensor_operands_and_levels_have_buffers_of_their_shape(library):
    target = c_target(
        str(library), "right(x: const float*, rows: size_t, columns: size_t, tensor_amax: float, packed: uint8_t*, scale: uint8_t*)",
        "quantize/nvfp4_te_ref", scale_layout="128x4",
    )  # fmt: skip
    shapes = target.form.shapes({"x": np.zeros((2, 48), np.uint32)})
    sizes = {item.name: target._buffer(item, shapes).size - 2 * GUARD for item in target.signature.parameters if item.role == "out"}
    assert sizes == {"packed": 2 * 24, "scale": 512} and target.wants == ("tensor_amax",)
