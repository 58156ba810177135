"""The three languages of a golden function say the same as `exact`: Verilog in Icarus, SMT-LIB 2 in z3, BTOR2 in a reader of its own."""

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.circuit import Evaluator

from emu.cli.main import run
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.decode import DecodeContract
from emu.rtl.export.functions import Golden, golden, render
from emu.rtl.export.segments import segments
from emu.spec.derive import OPEN, REFUSE

EVERY = [
    ("decode/ue4m3", None), ("decode/e4m3", None), ("convert/e2m1/rne/nvidia", "fp32"), ("convert/int4/sr_half8/ocp_saturate", "bf16"),
    ("convert/nf4/sr_cmp8/ocp_saturate", "fp16"), ("product/e2m1xe1m2", None), ("product/e4m3xe5m2", None), ("group_sum/e1m2xint4/4", None),
]  # fmt: skip


def rows_of(item: Golden) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """(inputs, outputs) of a few hundred rows, outputs by the exact engine: all codes, thresholds and their neighbours, or a fixed walk."""
    names = [name for name, _ in item.circuit.inputs]
    for values in inputs_of(item):
        answer = item.operation.exact(values)
        unknown = answer[0][0] in (OPEN, REFUSE)
        outputs = {column.name: max(lanes[0], 0) for column, lanes in zip(item.layout.results, answer, strict=True)}
        if "k_fp32" in dict(item.circuit.outputs):
            outputs["k_fp32"] = int(outputs["fp32"] & 0x7FFFFFFF > 0x7F800000)
        yield dict(zip(names, values, strict=True)), outputs | {"open": int(unknown)}


def inputs_of(item: Golden) -> Iterator[tuple[int, ...]]:
    op = item.operation
    if isinstance(op, DecodeContract):
        yield from ((code,) for code in range(256))
    elif isinstance(op, ConvertContract):
        ends = [segment.last for segment in segments(op.source, op.fmt, op.rounding, op.entry)]
        draws = (0, 1, 100, 128, 255) if op.rounding.random_bits else (None,)
        codes = sorted({min(max(end + step, 0), ends[-1]) for end in ends for step in (-1, 0, 1)})
        yield from ((code,) if r is None else (code, r) for code, r in itertools.product(codes, draws))
    else:
        (_, a_bits), (_, b_bits) = item.circuit.inputs
        yield from ((n * 2654435761 + 7 & ((1 << a_bits) - 1), n * 40503 + 7 & ((1 << b_bits) - 1)) for n in range(256))


def by_wires(item: Golden) -> None:
    meaning, count = Evaluator(item.circuit), 0
    for inputs, outputs in rows_of(item):
        assert meaning.outputs(**inputs) == outputs, inputs
        count += 1
    assert count >= 50


def by_icarus(item: Golden, folder: Path) -> None:
    """A bench with all rows in it, which prints those that differ and how many it compared."""
    (folder / "golden.v").write_text(render(item, "verilog"))
    rows, outs = list(rows_of(item)), item.circuit.outputs
    lines = ["module bench;", "  integer n = 0, bad = 0;"]
    lines += [f"  reg [{bits - 1}:0] {name};" for name, bits in item.circuit.inputs]
    lines += [f"  wire [{bits - 1}:0] {name};" for name, bits in outs]
    ports = ", ".join(f".{name}({name})" for name, _ in [*item.circuit.inputs, *outs])
    lines += [f"  golden golden ({ports});", "  initial begin"]
    for inputs, outputs in rows:
        drive = " ".join(f"{name} = {bits}'h{inputs[name]:x};" for name, bits in item.circuit.inputs)
        test = " || ".join(f"{name} !== {bits}'h{outputs[name]:x}" for name, bits in outs)
        lines.append(f"    {drive} #1 n = n + 1; if ({test}) bad = bad + 1;")
    (folder / "bench.v").write_text("\n".join([*lines, '    $display("%0d %0d", n, bad);', "  end", "endmodule"]) + "\n")
    subprocess.run(["iverilog", "-g2005", "-Wall", "-s", "bench", "-o", "t.vvp", "golden.v", "bench.v"], cwd=folder, check=True)
    said = subprocess.run(["vvp", "-n", "t.vvp"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert said.split() == [str(len(rows)), "0"]


def z3_says(item: Golden, wrong: int | None = None) -> str:
    """Is there a row whose outputs differ from the reference model's? wrong: a place in the list of rows whose first output is spoiled."""
    tests = []
    for place, (inputs, outputs) in enumerate(rows_of(item)):
        first = item.circuit.outputs[0][0]
        outputs[first] ^= int(place == wrong)
        same = " ".join(f"(= golden_{name} (_ bv{outputs[name]} {bits}))" for name, bits in item.circuit.outputs)
        here = " ".join(f"(= golden_{name} (_ bv{inputs[name]} {bits}))" for name, bits in item.circuit.inputs)
        tests.append(f"(and {here} (not (and {same})))")
    text = render(item, "smt2") + f"(assert (or {' '.join(tests)} false))\n(check-sat)\n"
    return subprocess.run(["z3", "-in", "-T:60"], input=text, capture_output=True, text=True, check=False).stdout.strip()


class Btor2:
    """A reader of BTOR2 as its paper defines the words, sharing nothing with the writer."""

    def __init__(self, text: str) -> None:
        self.lines = [line.split() for line in text.splitlines() if not line.startswith(";")]

    def run(self, inputs: dict[str, int]) -> dict[str, int]:
        sorts: dict[str, int] = {}
        values: dict[str, tuple[int, int]] = {}  # number -> (value, width)
        out = {}
        for number, word, *rest in self.lines:
            if word == "sort":
                sorts[number] = int(rest[1])
            elif word == "output":
                out[rest[1]] = values[rest[0]][0]
            else:
                width = sorts[rest[0]]
                values[number] = (self.value(word, rest[1:], values, inputs) & ((1 << width) - 1), width)
        return out

    @staticmethod
    def value(word: str, rest: list[str], values: dict[str, tuple[int, int]], inputs: dict[str, int]) -> int:
        if word == "input":
            return inputs[rest[0]]
        if word == "const":
            return int(rest[0], 2)
        a, a_bits = values[rest[0]]
        if word == "slice":
            return a >> int(rest[2]) & ((1 << (int(rest[1]) - int(rest[2]) + 1)) - 1)
        if word == "sext":
            return a - (1 << a_bits) if a >> (a_bits - 1) else a
        b, b_bits = values[rest[1]]
        if word == "ite":
            return b if a else values[rest[2]][0]
        words = {"add": a + b, "sub": a - b, "mul": a * b, "ult": a < b, "ulte": a <= b, "or": a | b, "concat": a << b_bits | b}
        return int(words[word])


@pytest.mark.parametrize(("contract", "source"), EVERY)
def test_the_circuit_and_btor2_are_the_reference_model(contract: str, source: str | None) -> None:
    item = golden(contract, source)
    by_wires(item)
    reader = Btor2(render(item, "btor2"))
    for inputs, outputs in itertools.islice(rows_of(item), 0, None, 5):
        assert reader.run(inputs) == outputs, inputs


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog absent: apt-get install iverilog")
@pytest.mark.parametrize(("contract", "source"), EVERY)
def test_verilog_in_icarus_is_the_reference_model(contract: str, source: str | None, tmp_path: Path) -> None:
    by_icarus(golden(contract, source), tmp_path)


@pytest.mark.skipif(shutil.which("z3") is None, reason="z3 absent: apt-get install z3")
@pytest.mark.parametrize(("contract", "source"), EVERY[:1] + EVERY[2:4] + EVERY[5:6] + EVERY[7:])
def test_smt2_in_z3_is_the_reference_model(contract: str, source: str | None) -> None:
    item = golden(contract, source)
    assert z3_says(item) == "unsat"
    assert z3_says(item, wrong=7) == "sat"


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog absent: apt-get install iverilog")
@pytest.mark.parametrize("contract", ["convert/e2m1/rne/nvidia", "convert/e1m2/sr_add8/nvidia"])
def test_all_of_bf16_in_icarus(contract: str, tmp_path: Path) -> None:
    """65 536 sources, each with an r of its own, against the NumPy engine."""
    item = golden(contract, "bf16")
    op = item.operation
    assert isinstance(op, ConvertContract)
    drawn = bool(op.rounding.random_bits)
    rows = [(x, x * 2654435761 >> 7 & 255)[: 1 + drawn] for x in range(1 << 16)]
    wanted = [answer[0][0] for answer in op.numpy(rows) if answer is not None]
    (tmp_path / "golden.v").write_text(render(item, "verilog"))
    pins = ".x(x[15:0]), .y(y), .open(open)" + (", .r(r[7:0])" if drawn else "")
    lines = ["module bench;", "  integer x; wire [63:0] h = x * 64'd2654435761; wire [63:0] r = h >> 7; wire [3:0] y; wire open;"]
    lines += [f"  golden golden ({pins});"]
    lines += ['  initial for (x = 0; x < 65536; x = x + 1) begin #1 $display("%0d", {open, y}); end', "endmodule"]
    (tmp_path / "bench.v").write_text("\n".join(lines) + "\n")
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", "t.vvp", "golden.v", "bench.v"], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "-n", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert [int(word) for word in said.split()] == wanted


@pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator absent: apt-get install verilator")
@pytest.mark.parametrize(("contract", "source"), EVERY[:1] + EVERY[3:4] + EVERY[7:])
def test_verilator_has_nothing_to_say(contract: str, source: str | None, tmp_path: Path) -> None:
    (tmp_path / "golden.v").write_text(render(golden(contract, source), "verilog"))
    words = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005", "golden.v"]
    lint = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (lint.returncode, lint.stderr) == (0, "")


def test_the_command_writes_the_same_bytes_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("verilog", "smt2", "btor2"):
        out = [tmp_path / f"{number}.{form}" for number in (1, 2)]
        for path in out:
            assert run(["rtl", "export", "--golden", form, "convert/e2m1/rn/cuda", "--source", "bf16", "--out", str(path), "--quiet"]) == 0
        assert out[0].read_bytes() == out[1].read_bytes()
        assert "convert/e2m1/rne/nvidia from bf16" in out[0].read_text().splitlines()[0]
    assert run(["rtl", "export", "--golden", "smt2", "convert/e2m1/rne/nvidia", "--out", str(out[0])]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["convert/e2m1/rne/nvidia"], "name one of --golden, --package and --layout"),
        (["--golden", "smt2"], "--golden needs a CONTRACT"),
        (["--golden", "smt2", "--package", "c", "decode/e2m1"], "name one of --golden, --package and --layout"),
        (["--golden", "verilog", "decode/e9m9"], "e9m9"),
        (["--golden", "vhdl", "decode/e2m1"], "'vhdl' is not one of"),
    ],
)
def test_misuse_is_one_line_and_no_file(words: list[str], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rtl", "export", *words, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert what in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
