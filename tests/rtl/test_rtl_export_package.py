"""The constants for SystemVerilog and C: compiled, printed by what was compiled, held against the registry and the YAML's examples."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.cli.main import run
from emu.rtl.export.package import constants, render
from emu.spec import derive
from emu.spec.contract import contracts
from emu.spec.models import Datapath, Format
from emu.spec.models.datapath import WidthExample
from emu.spec.registry import get, names

Values = dict[str, int | str]


def values_of(lines: list[str]) -> Values:
    found: Values = {}
    for line in lines:
        name, kind, text = line.split(" ", 2)
        found[name] = text if kind == "text" else int(text)
    return found


def compiled_c(folder: Path) -> Values:
    (folder / "emu_spec.h").write_text(render("c"))
    prints = []
    for constant in constants():
        number = constant.kind != "text"
        shape = '%" PRId64 "' if number else "%s"
        prints.append(f'    printf("{constant.name} {constant.kind} {shape}\\n", {"(int64_t)" if number else ""}EMU_{constant.name});')
    text = ["#include <inttypes.h>", "#include <stdio.h>", '#include "emu_spec.h"', "int main(void)", "{", *prints, "    return 0;", "}"]
    (folder / "print.c").write_text("\n".join(text) + "\n")
    words = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0", "print.c", "-o", "print"]
    subprocess.run(words, cwd=folder, check=True)
    return values_of(subprocess.run([folder / "print"], check=True, capture_output=True, text=True).stdout.splitlines())


def compiled_sv(folder: Path) -> Values:
    (folder / "emu_spec_pkg.sv").write_text(render("sv"))
    shapes = {"text": "%0s", "code": "%0d", "number": "%0d"}
    known = [(item.name, item.kind) for item in constants()]
    prints = [f'    $display("{name} {kind} {shapes[kind]}", emu_spec_pkg::{name});' for name, kind in known]
    (folder / "print.sv").write_text("\n".join(["module print;", "  initial begin", *prints, "  end", "endmodule"]) + "\n")
    subprocess.run(["iverilog", "-g2012", "-s", "print", "-o", "t.vvp", "emu_spec_pkg.sv", "print.sv"], cwd=folder, check=True)
    return values_of(subprocess.run(["vvp", "-n", "t.vvp"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines())


TOOLS: list[tuple[str, Callable[[Path], Values]]] = [("gcc", compiled_c), ("iverilog", compiled_sv)]


@pytest.fixture(scope="module", params=TOOLS, ids=[tool for tool, _ in TOOLS])
def values(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Values:
    tool, compiled = request.param
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} absent")
    found: Values = compiled(tmp_path_factory.mktemp(tool))
    return found


@pytest.mark.cases(0)
def test_every_constant_comes_through_the_compiler(values: Values) -> None:
    assert values == {constant.name: constant.value for constant in constants()}
    assert len(values) > 10000


def test_formats_are_those_of_the_registry(values: Values) -> None:
    for name in names("format"):
        fmt: Format = get("format", name)
        codes, prefix = derive.codes(fmt), f"FORMAT_{name.upper()}_"
        assert values[prefix + "BITS"] == codes.bits
        assert (prefix + "INF" in values) == (codes.inf is not None and codes.bits <= 32)
        assert (prefix + "NAN" in values) == (bool(codes.nan) and codes.bits <= 32)
    keys = ("EXP_BITS", "FRAC_BITS", "BIAS", "MAX_CODE", "SIGN_BIT", "LSB_EXP")
    assert [values[f"FORMAT_E2M1_{key}"] for key in keys] == [2, 1, 1, 7, 8, -1]
    assert [values[f"FORMAT_UE4M3_{key}"] for key in ("BITS", "UNUSED_HIGH_BITS", "NAN", "MAX_CODE", "SIGN_BIT")] == [7, 1, 0x7F, 0x7E, 0]
    assert [values[f"FORMAT_FP32_{key}"] for key in ("INF", "MAX_CODE", "SIGN_BIT")] == [0x7F800000, 0x7F7FFFFF, 0x80000000]
    assert values["FORMAT_INT4_TWOS_COMPLEMENT"] == 1
    assert not {"FORMAT_E2M1_NAN", "FORMAT_E2M1_INF", "FORMAT_NF4_MAX_CODE"} & set(values)


def test_widths_are_those_of_the_examples(values: Values) -> None:
    """The YAML files hold widths that were worked out by hand."""
    compared = 0
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        for example in model.expect:
            if not isinstance(example, WidthExample):
                continue
            start = f"DATAPATH_{name.upper()}_"
            pair = f"{example.a.upper()}X{example.b.upper()}"
            for key, want in (("I", example.integer_bits), ("F", example.fraction_bits), ("ADDER_BITS", example.adder_bits),
                              ("FLOOR", example.floor), ("LARGEST_K", example.largest_k)):  # fmt: skip
                found = {values[item] for item in values if item.startswith(start) and item.endswith("_" + key) and pair in item}
                found |= {values[start + key]} if start + key in values else set()
                if want is not None and found and not model.facts.scale.formats[1:]:  # type: ignore[union-attr]
                    assert want in found, (name, key)
                    compared += 1
    assert compared >= 15
    assert values["DATAPATH_BLACKWELL_MXF4NVF4_B16_UE4M3_GROUP_SUM_BITS"] == 13
    assert values["DATAPATH_BLACKWELL_MXF4NVF4_B16_UE4M3_ADDER_BITS"] == 49
    assert values["DATAPATH_INT64_E1M2XE1M2_16_LSB_EXP"] == -22
    assert values["DATAPATH_INT64_E1M2XE1M2_16_LARGEST_K"] == 3577648


def test_every_contract_has_its_name_and_number(values: Values) -> None:
    wanted = [str(contract) for contract in contracts()]
    texts = [(values[name + "_ID"], text) for name, text in values.items() if name.startswith("CONTRACT_") and isinstance(text, str)]
    assert texts == list(enumerate(wanted))
    assert values["CONTRACT_CONVERT_E2M1_RNE_NVIDIA"] == "convert/e2m1/rne/nvidia"


@pytest.mark.exhaustive
def test_verilator_and_gplusplus_take_them(tmp_path: Path) -> None:
    missing = [tool for tool in ("verilator", "g++") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} absent")
    (tmp_path / "emu_spec_pkg.sv").write_text(render("sv"))
    (tmp_path / "top.sv").write_text("module top(output [3:0] y); assign y = emu_spec_pkg::FORMAT_E2M1_MAX_CODE; endmodule\n")
    words = ["verilator", "--lint-only", "-Wall", "-Wno-UNUSED", "--top-module", "top", "emu_spec_pkg.sv", "top.sv"]
    lint = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (lint.returncode, lint.stderr) == (0, "")
    (tmp_path / "emu_spec.h").write_text(render("c"))
    (tmp_path / "use.cc").write_text('#include "emu_spec.h"\n#include "emu_spec.h"\nint main() { return EMU_FORMAT_E2M1_BITS - 4; }\n')
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "use.cc", "-o", "use"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "use"], check=True)


@pytest.mark.exhaustive
def test_two_runs_write_the_same_bytes_and_no_line_is_long(tmp_path: Path) -> None:
    for language in ("sv", "c"):
        out = [tmp_path / f"{number}.{language}" for number in (1, 2)]
        assert [run(["rtl", "export", "--package", language, "--out", str(path), "--quiet"]) for path in out] == [0, 0]
        assert out[0].read_bytes() == out[1].read_bytes()
        assert max(map(len, out[0].read_text().splitlines())) <= 160
