"""Products by a program, by files and by other libraries; grouped and batched products from the command line."""

import json
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import emu
from emu.check.libraries.products import PRODUCTS, find_product
from emu.testing import check_matmul

PROGRAM = """
import sys
import numpy as np
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
given = {}
for line in sys.stdin:
    name, shape, codes = (line.split() + [""])[:3]
    kind = {"alpha": ">f4", "a_tensor": ">f4", "b_tensor": ">f4", "offsets": ">i4"}.get(name, ">u1")
    given[name] = np.frombuffer(bytes.fromhex(codes), kind).reshape([int(side) for side in shape.split("x")])
contract, names = sys.argv[-2:]
assert contract == "matmul/nvfp4/nvfp4/fp32" and names.endswith("-> d") and names.split()[:-2] == list(given)
def side(name):
    packed, codes = given[name + "_packed"], given[name + "_scales"].astype(int)
    elements = E2M1[np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], 2 * packed.shape[-1])]
    scales = np.where(codes >> 3, 8 + (codes & 7), codes & 7) * 2.0 ** (np.maximum(codes >> 3, 1) - 10)
    return elements * np.repeat(scales, 16, axis=-1)[..., :elements.shape[-1]]
a, b = side("a"), side("b")
MISTAKE
if "offsets" in given:
    ends = given["offsets"]
    out = np.concatenate([(a[ends[e]:ends[e + 1]] @ b[e].T).astype(np.float32) * given["b_tensor"][e] for e in range(len(b))])
else:
    out = (a @ np.swapaxes(b, -1, -2)).astype(np.float32) * given["b_tensor"]
out = (out * given["a_tensor"]).astype(">f4")
for row in out.reshape(-1, out.shape[-1]):
    print(row.tobytes().hex())
END
"""
CONTRACT = ("--against", "matmul/nvfp4/nvfp4/fp32")
OPERANDS = "a_packed,a_scales,a_tensor,b_packed,b_scales,b_tensor"


@pytest.fixture
def program(tmp_path):
    """Write the program with a mistake, and something at its end; return the words that start it."""

    def make(mistake="", end=""):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.replace("MISTAKE", mistake).replace("END", end), encoding="utf-8")
        return f"exec:{sys.executable} {path}"

    return make


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize(("more", "mistake", "words"), [
    ((), "", ""),
    ((), "b = b.copy(); b[:, -1] = 0", "the last 1 elements along K are missing"),
    (("--wants", f"{OPERANDS},offsets"), "", ""),
    (("--wants", f"{OPERANDS},offsets"), "b = np.roll(b, -1, 0)", "weights of the next expert, with their own tensor scale"),
    (("--batched",), "", ""),
])  # fmt: skip
def test_programs(more, mistake, words, program, run):
    shape = "5x7x48" if not more else "3x5x4x32"
    code, text = run(program(mistake), *CONTRACT, "--shapes", shape, "--no-batch-invariant", *more)
    assert code == int(bool(mistake)) and words in text and ("pass" in text) == (not mistake), text


@pytest.mark.cases(1)
@pytest.mark.parametrize(("end", "words"), [
    ("raise SystemExit(3)", "RAISES"), ("print()", "SHAPE"),
    ("import time; time.sleep(60)", "HANGS"),
    ("sys.stdout.write('no hex')", "SHAPE"),
])  # fmt: skip
def test_a_program_that_misbehaves_is_a_verdict(end, words, program, run):
    code, text = run(program(end=end), *CONTRACT, "--shapes", "2x3x16", "--seconds", "3" if words == "HANGS" else "60")
    assert code == 1 and words in text and "Traceback" not in text, text


@pytest.mark.exhaustive
def test_rows_that_are_no_numbers_or_too_short_are_a_verdict(program, run):
    short = "print('00000000'); print('00000000'); raise SystemExit"
    for mistake, words in (("print('xyz'); print('0'); raise SystemExit", "DTYPE"), (short, "SHAPE")):
        code, text = run(program(mistake), *CONTRACT, "--shapes", "2x3x16")
        assert code == 1 and words in text, text


@pytest.mark.exhaustive
def test_no_program_and_unknown_operands_are_misuse(program, run):
    assert run("exec:", *CONTRACT)[0] == 2
    code, text = run(program(), *CONTRACT, "--wants", "nonsense")
    assert code == 2 and "a file holds" in text
    code, text = run("foreign:torch.grouped", *CONTRACT)
    assert code == 2 and "torch.grouped_mm" in text


def test_groups_by_files(tmp_path, run):
    inputs, outputs = tmp_path / "inputs.safetensors", tmp_path / "outputs.safetensors"
    code, _ = run(*CONTRACT, "--shapes", "3x11x5x48", "--wants", f"{OPERANDS},offsets", "--emit", inputs)
    assert code == 0
    with safe_open(str(inputs), "np") as file:
        out = {}
        for number in sorted({name.partition(".")[0] for name in file.keys()}):  # noqa: SIM118
            given = {name: file.get_tensor(f"{number}.{name}") for name in (*OPERANDS.split(","), "offsets")}
            sides = []
            for name in "ab":
                packed = given[f"{name}_packed"]
                codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)
                sides.append(emu.decode(codes, "e2m1") * np.repeat(emu.decode(given[f"{name}_scales"], "ue4m3"), 16, axis=-1))
            owner = np.repeat(np.arange(len(sides[1])), np.diff(given["offsets"]))
            sums = np.einsum("tk,tnk->tn", sides[0].astype(np.float64), sides[1].astype(np.float64)[owner]).astype(np.float32)
            out[f"{number}.d"] = sums * given["a_tensor"] * given["b_tensor"][owner][:, None]
        save_file(out, str(outputs), file.metadata())
        code, text = run(*CONTRACT, "--results", outputs)
        assert code == 0, text
        save_file({name: d[::-1].copy() for name, d in out.items()}, str(outputs), file.metadata())
    code, text = run(*CONTRACT, "--results", outputs)
    assert code == 1, text


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.id)
def test_products_of_other_libraries(product):
    if product.library.version is None:
        pytest.skip(f"{product.library.package} is not installed")
    recipe = "mxfp4" if "mx" in product.name else "nvfp4_torchao"
    shapes = {"bmm": [(3, 9, 7, 96)], "grouped_mm": [(3, 19, 17, 96)]}.get(product.name, [(17, 33, 96)])
    target = find_product(product.id, f"matmul/{recipe}/{recipe}/fp32")
    report = check_matmul(target, recipe, recipe, shapes=shapes, batched=product.batched)
    assert report.verdict == "pass" and report.accumulator_bits == 24


def test_a_product_of_a_library_from_the_command_line(run):
    pytest.importorskip("torch")
    code, text = run("foreign:torch.grouped_mm", *CONTRACT, "--shapes", "3x19x17x96", "--json", "--quiet")
    assert code == 0 and json.loads(text)["target"] == "foreign:torch.grouped_mm"


@pytest.mark.cases(1)
@pytest.mark.parametrize(("words", "said"), [
    (("--shapes", "3x4x5x16"), "write M, N, K"), (("--batched", "--shapes", "3x4x16"), "write E, M, N, K"),
    (("--align", "4"), "takes sizes"),
])  # fmt: skip
def test_misuse_of_several_products_is_one_line(words, said, run, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def product(a, b):\n    raise ValueError\n", encoding="utf-8")
    code, text = run(f"{kernel}:product", *CONTRACT, *words)
    assert code == 2 and said in text and len(text.strip().splitlines()) == 1, text


@pytest.mark.parametrize("option", ["--batched", "--align=4", "--batch-invariant"])
def test_options_of_several_products_are_of_products(option, run):
    code, text = run("kernels.py:f", "--against", "quantize/nvfp4_te_ref", option)
    assert code == 2 and "is of products" in text
