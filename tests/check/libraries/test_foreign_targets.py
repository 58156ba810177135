"""Kernels of other libraries as targets: names, what is missing, values without a code, the blocks beside scale steps."""

from __future__ import annotations

import numpy as np
import pytest

from emu.base.errors import OperandError, ToolError
from emu.check.libraries.model import LIBRARIES, Kernel, Library, codes_of, e8m0_of, find, kernels
from emu.check.run import check
from emu.check.targets.named import parse_target
from emu.contracts import form_of
from emu.identify.scale_steps import beside_scale_steps
from emu.spec.contract import parse
from tools.foreign_kernels import examine, main


def test_names_are_unique_and_every_contract_parses() -> None:
    found = kernels()
    assert len({kernel.id for kernel in found}) == len(found)
    assert {kernel.library.name for kernel in found} == set(LIBRARIES)
    for kernel in found:
        parse(kernel.contract)


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    with pytest.raises(OperandError, match=r"ml_dtypes\.e2m1"):
        find("ml_dtypes.e2m")
    with pytest.raises(
        OperandError, match=r"^foreign:ml_dtypes\.nothing: no such kernel: "
    ) as caught:  # not near to any: those of its library
        find("ml_dtypes.nothing")
    assert all(name.startswith("ml_dtypes.") for name in str(caught.value).split(": ")[2].split(", "))
    with pytest.raises(OperandError, match=r"^foreign:ml_dtype\.e2m1: no such kernel: .*ml_dtypes\.e2m1"):  # a library that is none: all
        find("ml_dtype.e2m1")
    with pytest.raises(OperandError, match="one of amd_quark"):
        kernels("nothing")


def test_a_missing_library_is_one_line_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = Kernel(Library("nothing", "no-such-distribution"), "cast", "convert/e2m1/rne/nvidia", abs, "")
    with pytest.raises(ToolError, match=r"^foreign:nothing: .* pip install -c constraints.txt no-such-distribution$"):
        kernel.target()
    absent = next((name for name in LIBRARIES if kernels(name)[0].library.version is None), None)
    if absent is None:
        pytest.skip("every library is installed here")
    assert main([absent]) == 5
    assert "is not installed" in capsys.readouterr().err


def test_a_foreign_target_is_checked_by_its_text() -> None:
    target = parse_target("foreign:ml_dtypes.e2m1", "convert/e2m1/rne/ml_dtypes")
    assert check(target, "convert/e2m1/rne/ml_dtypes", suites=("directed",)).verdict == "pass"
    other = parse_target("foreign:ml_dtypes.e2m1", "convert/e2m1/rne/nvidia")
    report = check(other, "convert/e2m1/rne/nvidia", suites=("directed",))
    assert report.verdict == "differs"
    assert [failure.name for failure in report.failures] == ["nan"]


def test_values_off_the_grid_have_no_code() -> None:
    values = np.array([0.0, -0.0, 0.5, -6.0, 8.0, np.inf, np.nan, 0.3], np.float32)
    assert codes_of(values, "e2m1").tolist() == [0, 8, 1, 15, 0, 0, 0, 0]


def test_scales_are_read_from_the_exponent_field() -> None:
    powers = np.ldexp(np.float32(1), np.arange(-126, 128)).astype(np.float32)
    assert e8m0_of(powers).tolist() == list(range(1, 255))
    rest = np.array([[0.0, 2.0**-127, 2.0**-149], [np.inf, np.nan, -np.nan]], np.float32)
    assert e8m0_of(rest).tolist() == [[0, 0, 0], [255, 255, 255]]


def test_edges_hold_the_known_faults_of_float32_logarithms() -> None:
    form = form_of(parse("quantize/mxfp4_torchao_rceil"), "fp32", None)
    question = beside_scale_steps(form)
    assert question is not None
    tops = set(question.operands["x"][:, 0].tolist())
    assert 0x3E400002 in tops  # recipes: one ulp above 2^-5 after division by 6
    assert 0x40FFFFFF in tops  # one ulp below 8
    assert beside_scale_steps(form_of(parse("quantize/nvfp4_te_ref"), "fp32", None)) is None


def test_edges_catch_a_logarithm_in_float32() -> None:
    """A scale by ceil(log2()) in binary32: every directed row and every bf16 pattern is right, only these blocks show it."""

    def kernel(x: np.ndarray) -> dict[str, np.ndarray]:
        top = np.abs(x).reshape(len(x), -1, 32).max(-1)
        with np.errstate(divide="ignore"):
            exponent = np.ceil(np.log2(top / np.float32(6))).clip(-127, 127)
        return {"scale": (exponent + 127).astype(np.uint8), "codes": np.zeros(x.shape, np.uint8)}

    faulty = Kernel(
        Library("gfloat", "gfloat"), "log", "quantize/mxfp4_te_pow2", kernel, "", options={"takes": "numpy.fp32"}, multiple=(1, 32)
    )
    assert any(failure.stage == "scale" for failure in examine(faulty, "edges").failures)
