"""emu identify: targets by text, forms tried in turn, exit codes, JSON, misuse."""

import json
from contextlib import contextmanager

import pytest

from emu.base.errors import OperandError, TargetError
from emu.cli.main import run
from emu.identify.signatures import contracts_of, identify_any
from emu.spec import get

KERNELS = '''
import numpy as np

import emu


def convert(codes):
    """The conversion of a documented policy."""
    return emu.convert(codes, "e2m1", rounding="rz", policy="amd", source="bf16")


def quantize(x):
    """A documented recipe."""
    q = emu.quantize(x, "mxfp4_te_pow2", source="bf16")
    return {"codes": q.codes, "scale": q.scales}


def own(x):
    """Rounded down, NaN and Inf taken as zero."""
    x = np.where(x & 0x7F80 == 0x7F80, 0, x).astype(np.uint16)
    q = emu.quantize(x, "mxfp4_torchao_floor", source="bf16")
    return {"codes": q.codes, "scale": q.scales}


def broken(x):
    """Never answers."""
    raise RuntimeError("no")
'''


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return f"py:{path}"


def test_a_documented_conversion(kernels, capsys):
    assert run(["identify", f"{kernels}:convert", "--op", "convert", "--source", "bf16", "--takes", "numpy.bits", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "documented" and "convert/e2m1/rz/amd" in found["found"]
    assert {pair["verdict"] for pair in found["pairs"]} >= {"separated", "unobservable"}


@pytest.mark.exhaustive
def test_a_documented_recipe_among_forms(kernels, capsys):
    words = ["--op", "quantize/mxfp4_torchao_even", "--source", "bf16", "--takes", "numpy.bits"]
    assert run(["identify", f"{kernels}:quantize", *words]) == 0
    out = capsys.readouterr().out
    assert "documented as: mxfp4_te_pow2" in out and "low nibble first" in out and "row_major" in out


@pytest.mark.exhaustive
def test_shapes_and_multiples_reach_the_kernel(kernels, capsys):
    words = [
        "--op",
        "quantize/mxfp4_torchao_even",
        "--source",
        "bf16",
        "--takes",
        "numpy.bits",
        "--multiple",
        "2x32",
        "--shapes",
        "2x64,6x32",
    ]
    assert run(["identify", f"{kernels}:quantize", *words]) == 0
    out = capsys.readouterr().out
    assert "shapes, 2x64: agrees" in out and "shapes, 6x32: agrees" in out
    assert run(["identify", f"{kernels}:convert", "--op", "convert", "--source", "bf16", "--takes", "numpy.bits", "--shapes", "1x1"]) == 2
    assert "multiples and shapes are of quantize kernels, not of convert" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_only_near_a_documented_recipe(kernels, capsys):
    words = ["--op", "quantize/mxfp4_torchao_even", "--source", "bf16", "--takes", "numpy.bits"]
    assert run(["identify", f"{kernels}:own", *words]) == 1
    out = capsys.readouterr().out
    assert "nearest mxfp4_torchao_floor" in out and "departs only where an element or the tensor maximum is NaN or Inf" in out


def test_a_kernel_that_raises(kernels, capsys):
    assert run(["identify", f"{kernels}:broken", "--op", "quantize/mxfp4_te_pow2"]) == 1
    assert "raises" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one TARGET, or --quantized CKPT, or --refresh"),
        (["py:a:b", "--quantized", "x"], "name one TARGET"),
        (["py:a:b", "--original", "x"], "--original and --dequantized go with --quantized"),
        (["py:a:b", "--op", "layout"], "layout cannot be identified"),
        (["py:a:b", "--op", "dot"], "needs --among"),
        (["py:a:b", "--shapes", "3"], "--shapes '3': write rows x columns, such as 128x64"),
        (["py:a:b", "--multiple", "0x4"], "--multiple '0x4': write rows x columns, such as 128x64"),
    ],
)
def test_misuse(capsys, words, said):
    assert run(["identify", *words]) == 2
    assert said in capsys.readouterr().err


def test_forms_cover_every_shape_of_recipes():
    shapes = {tuple(get("block", get("recipe", text.split("/")[1]).facts.block).facts.shape) for text in contracts_of("quantize")}
    assert shapes == {(1, 16), (1, 32), (1, 64), (16, 16), (1, 1), (128, 128)}
    assert contracts_of("quantize/nvfp4_te") == ["quantize/nvfp4_te_ref"]


def test_no_form_fits():
    def opened(contract):
        raise TargetError("shape", contract)

    with pytest.raises(TargetError, match="convert/e2m1"):
        identify_any(contracts_of("convert"), opened, None)
    with pytest.raises(OperandError, match="needs --among"):
        contracts_of("dot")


@pytest.mark.exhaustive
def test_operands_that_a_form_did_not_offer_are_asked_again(quantize_target):
    """A kernel that ignores its signs is documented in a form without them, and a variant in its own."""
    asked = []

    @contextmanager
    def opened(contract):
        asked.append(contract)
        target = quantize_target(get("recipe", "ufp4"), "fp32", ("signs ignored",))
        target.wants = ("signs",) if contract == "quantize/ufp4" else ()
        yield target

    found = identify_any(["quantize/e1m2_fp32scale", "quantize/ufp4_sr"], opened, ["ufp4", "e1m2_fp32scale"])
    assert (found.kind, asked) == ("variant", ["quantize/e1m2_fp32scale", "quantize/ufp4"]), found.text()
    asked.clear()
    assert identify_any(["quantize/e1m2_fp32scale"], opened, ["ufp4"]).kind == "documented"  # the caller's own form
    assert asked == ["quantize/e1m2_fp32scale"]
