"""emu check: exit codes, JSON and JUnit, files, and one line for every misuse."""

import json
from xml.etree import ElementTree as ET

import pytest

from emu.cli.main import run

CONTRACT = "convert/e2m1/rne/nvidia"
KERNELS = """
import numpy as np
print("a kernel may print")
TABLE = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
def tie(x, way):
    a = np.where(np.isnan(x), np.inf, np.abs(x))
    middle = (TABLE[1:] + TABLE[:-1]) / 2
    up = (a[:, None] > middle) | (a[:, None] == middle) & way
    return np.where(np.isnan(x), 7, up.sum(axis=1) | np.signbit(x) * 8).astype(np.uint8)
def right(x):
    return tie(x, np.arange(7) % 2 == 1)
def wrong(x):
    return tie(x, np.ones(7, bool))
def hangs(x):
    while True:
        pass
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A file with kernels."""
    path = tmp_path_factory.mktemp("kernels") / "kernels.py"
    path.write_text(KERNELS)
    return path


def test_a_right_kernel_exits_with_0(kernels, capsys):
    assert run(["check", f"{kernels}:right", "--against", CONTRACT, "--suite", "directed"]) == 0
    assert "pass, 1420 codes equal" in capsys.readouterr().out


def test_a_wrong_kernel_exits_with_1_and_writes_junit_and_json(kernels, capsys, tmp_path):
    junit = tmp_path / "report.xml"
    words = ["check", f"py:{kernels}:wrong", "--against", CONTRACT, "--suite", "directed", "--junit", str(junit), "--json"]
    assert run(words) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "differs" and data["failures"][0]["name"] == "tie"
    assert data["failures"][0]["example"]["operands"]
    suite = ET.parse(junit).getroot()
    failures = suite.findall("./testcase/failure")
    assert suite.get("failures") == str(len(failures)) == "1" and failures[0].get("type") == "tie"
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) and [case.get("name").rpartition(" ")[2] for case in cases] == ["directed", "tie"]
    assert run(words) == 2  # the file is there


def test_a_hang_exits_with_1(kernels, capsys):
    assert run(["check", f"{kernels}:hangs", "--against", CONTRACT, "--seconds", "1"]) == 1
    assert "HANGS" in capsys.readouterr().out


def test_nothing_compared_exits_with_3(tmp_path, capsys):
    path = tmp_path / "k.py"
    path.write_text("def f(codes): return codes\n")
    assert run(["check", f"{path}:f", "--against", "decode/e2m1", "--suite", "stratified"]) == 3
    assert "nothing was compared" in capsys.readouterr().out


def test_a_missing_library_exits_with_5(capsys):
    assert run(["check", "c:none.so", "--signature", "f(x: const float*, codes: uint8_t*)", "--against", CONTRACT]) == 5
    assert "cannot be loaded" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "error"), [
    (["--against", CONTRACT], "name a TARGET, or --emit, or --results"),
    (["nothing", "--against", CONTRACT], "is no target"),
    (["math:pi", "--against", CONTRACT], "math has no function pi"),
    (["math:sqrt", "--against", "convert/e2m1/rne"], "write convert/<format>"),
    (["c:k.so", "--against", CONTRACT], "a C symbol needs its signature"),
    (["c:k.so", "--against", CONTRACT, "--takes", "torch.fp32"], "takes says nothing of a c target"),
    (["math:sqrt", "--against", CONTRACT, "--multiple", "2"], "write rows x columns"),
    (["--against", CONTRACT, "--results", "none.safetensors"], "cannot be read"),
    (["--against", CONTRACT, "--results", "none.safetensors", "--gives", "codes"], "--gives of stored answers says which is which"),
    (["--against", CONTRACT, "--results", "none.safetensors", "--suite", "exhaustive"], "--suite is not read beside --results"),
    (["--against", CONTRACT, "--results", "none.safetensors", "--count", "1000000"], "--count is not read beside --results"),
    (["--against", CONTRACT, "--results", "none.safetensors", "--multiple", "1x1"], "--multiple is not read beside --results"),
    (["--against", CONTRACT, "--emit", "none.safetensors", "--scale-layout", "128x4"], "--scale-layout is not read beside --emit"),
    (["--against", CONTRACT, "--emit", "none.safetensors", "--junit", "none.xml"], "--junit is not read beside --emit"),
    (["--against", "matmul/nvfp4/nvfp4/fp32", "--results", "none.safetensors", "--accumulate", "fp16"], "--accumulate is not read"),
    (["math:sqrt", "--against", "decode/e2m1", "--source", "bf16"], "--source says nothing of decode/e2m1"),
    (["math:sqrt", "--against", CONTRACT, "--result", "bf16"], f"--result says nothing of {CONTRACT}"),
    (["math:sqrt", "--against", CONTRACT, "--profile", "te"], f"profile 'te' says nothing of {CONTRACT}"),
    (["math:sqrt", "--against", "quantize/nvfp4_te_ref", "--profile", "nobody"], "nobody"),
    (["c:k.so:f", "--against", CONTRACT, "--signature", "f_right(x: const float*, codes: uint8_t*)"], "is of f_right, not of f"),
])  # fmt: skip
def test_misuse_is_one_line_and_exit_code_2(words, error, capsys):
    assert run(["check", *words]) == 2
    text = capsys.readouterr().err.strip()
    assert text.startswith("emu: ") and error in text and "\n" not in text


def test_emit_and_results(tmp_path, capsys):
    inputs, out = tmp_path / "inputs.safetensors", tmp_path / "out.safetensors"
    assert run(["check", "--against", CONTRACT, "--emit", str(inputs), "--suite", "directed"]) == 0
    assert "1 questions of convert/e2m1/rne/nvidia, digest" in capsys.readouterr().err
    from safetensors import safe_open
    from safetensors.numpy import save_file

    import emu

    with safe_open(inputs, framework="np") as file:
        save_file({"0000.codes": emu.convert(file.get_tensor("0000.codes"), "e2m1", rounding="rna")}, out, file.metadata())
    assert run(["check", "--against", CONTRACT, "--results", str(out)]) == 1
    assert "DIFFERS in 8 of 1420 codes" in capsys.readouterr().out
