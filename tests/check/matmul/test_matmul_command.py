"""emu check --against matmul/A/B/OUT: Python, C and file targets, text and JSON, exit codes."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import emu

KERNELS = """
import numpy as np
def good(a, b):
    return (a.dequantize(np.float64) @ b.dequantize(np.float64).T).astype(np.float32)
def swapped(a, b):
    codes = a.codes.reshape(len(a.codes), -1, 2)[:, :, ::-1].reshape(a.codes.shape)
    x = a.with_arrays(lambda array: codes if array is a.codes else array)
    return good(x, b)
def hangs(a, b):
    while True:
        pass
"""
C = """
#include <stddef.h>
#include <stdint.h>
static const float E2M1[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
static float element(const uint8_t *packed, size_t at) {
    unsigned code = packed[at / 2] >> (at %% 2 ? 4 : 0) & 15;
    return code & 8 ? -E2M1[code & 7] : E2M1[code & 7];
}
static float scale(uint8_t code) {
    int exp = code >> 3; float value = exp ? 8 + (code & 7) : code & 7;
    for (int e = exp ? exp : 1; e < 10; e++) value /= 2;
    for (int e = 10; e < exp; e++) value *= 2;
    return value;
}
int gemm(const uint8_t *a, const uint8_t *sa, const uint8_t *b, const uint8_t *sb, float alpha, size_t m, size_t n, size_t k, float *d) {
    for (size_t i = 0; i < m; i++) for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t l = 0; l < k %(minus)s; l++)
            sum += (double)(element(a, i * k + l) * scale(sa[(i * k + l) / 16])) * (element(b, j * k + l) * scale(sb[(j * k + l) / 16]));
        d[i * n + j] = (float)sum * alpha;
    }
    return 0;
}
"""
SIGNATURE = (
    "gemm(a_packed: const uint8_t*, a_scales: const uint8_t*, b_packed: const uint8_t*, b_scales: const uint8_t*, alpha: float, "
    "m: size_t, n: size_t, k: size_t, d: float*) -> int"
)
SMALL = ("--shapes", "9x7x96,17x9x160")
CONTRACT = ("--against", "matmul/nvfp4/nvfp4/fp32")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernels") / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["", "- 1"])
def library(request, tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("c")
    (folder / "gemm.c").write_text(C % {"minus": request.param}, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "gemm.so", folder / "gemm.c"], check=True)
    return folder / "gemm.so", bool(request.param)


@pytest.mark.exhaustive
def test_python_targets(kernels, run):
    code, text = run(f"{kernels}:good", *CONTRACT, *SMALL)
    assert code == 0 and "pass" in text and "24 significand bits" in text
    code, text = run(f"{kernels}:swapped", *CONTRACT, *SMALL, "--json", "--quiet")
    found = json.loads(text)
    assert code == 1 and found["verdict"] == "differs" and found["located"]["hypothesis"].startswith("a or b: the two halves")
    assert found["stages"][0]["reached"] and found["accumulator_bits"] == 0


def test_a_kernel_that_hangs_is_a_verdict(kernels, run):
    code, text = run(f"{kernels}:hangs", *CONTRACT, *SMALL, "--seconds", "0.5")
    assert code == 1 and "HANGS" in text


@pytest.mark.cases(1)
def test_c_targets(library, run):
    path, wrong = library
    code, text = run(f"c:{path}:gemm", *CONTRACT, *SMALL, "--signature", SIGNATURE)
    assert code == int(wrong), text
    assert ("the last 1 elements along K are missing" in text) == wrong
    assert wrong or "epilogue: S * alpha" in text


@pytest.mark.parametrize("tail", [0, 16])
def test_file_targets(tmp_path, tail, run):
    inputs, outputs = tmp_path / "inputs.safetensors", tmp_path / "outputs.safetensors"
    code, _ = run(*CONTRACT, *SMALL, "--emit", inputs)
    assert code == 0
    with safe_open(str(inputs), "np") as file:
        numbers = sorted({name.partition(".")[0] for name in file.keys()})  # noqa: SIM118
        out = {}
        for number in numbers:
            sides = []
            for name in "ab":
                packed = file.get_tensor(f"{number}.{name}_packed")
                codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
                scales = emu.decode(file.get_tensor(f"{number}.{name}_scales"), "ue4m3")
                sides.append((emu.decode(codes, "e2m1") * np.repeat(scales, 16, axis=1), file.get_tensor(f"{number}.{name}_tensor")))
            (x, ta), (y, tb) = sides
            k = x.shape[1] - tail
            out[f"{number}.d"] = (x[:, :k].astype(np.float64) @ y[:, :k].T).astype(np.float32) * ta * tb
        save_file(out, str(outputs), file.metadata())
    code, text = run(*CONTRACT, "--results", outputs)
    assert code == int(tail > 0), text
    assert tail or "epilogue: (S * ta) * tb" in text
    missing = {name: array for name, array in out.items() if name != "0003.d"}
    with safe_open(str(inputs), "np") as file:
        save_file(missing, str(outputs), file.metadata())
    code, text = run(*CONTRACT, "--results", outputs)
    assert code == 1 and "no tensor 0003.d" in text


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--against", "matmul/nvfp4/hif4/fp32"), "level8"),
        (("--against", "matmul/nvfp4/nvfp4/fp8"), "one of fp32, bf16, fp16"),
        ((*CONTRACT, "--shapes", "3x4"), "write M x N x K"),
        ((*CONTRACT, "--shapes", "3x4x5"), "a multiple of 16"),
        ((*CONTRACT, "--suite", "directed"), "--suite says nothing of a product"),
        ((*CONTRACT, "--accumulate", "fp7"), "fp32, fp16, bf16"),
        ((*CONTRACT, "--operands", "fp7"), "one of exact"),
        ((*CONTRACT, "--device", "cpu", "--signature", "f(x: const float*)"), "signature says nothing of a product"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(kernels, words, said, run):
    code, text = run(f"{kernels}:good", *words)
    assert code == 2 and said in text and len(text.strip().splitlines()) == 1, text


def test_options_of_a_product_say_nothing_of_a_quantizer(kernels, run):
    code, text = run(f"{kernels}:good", "--against", "quantize/nvfp4_te_ref", "--accumulate", "fp16")
    assert code == 2 and "--accumulate is of products" in text
