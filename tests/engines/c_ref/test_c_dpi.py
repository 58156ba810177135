"""The reference in a simulator: a SystemVerilog bench calls it through DPI-C and meets the golden rows; the package follows the headers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import levels_stems, series_stems

from emu.contracts.columns import layout_from
from emu.contracts.rows import is_open
from emu.engines.c_ref._c import lib
from emu.vectors.files.manifest import parse_stem
from emu.vectors.files.suite import load
from tools.docs.dpi import PATH, Parameter, dpi_pages, enum_values, functions, import_of

ROOT = Path(__file__).resolve().parents[3]
CODES = {path.name.removesuffix(".tv") for op in ("decode", "convert") for path in (ROOT / "vectors" / op).glob("*.tv")}
STEMS = sorted(CODES - series_stems(ROOT / "vectors", CODES))  # DPI takes the tables of listed formats, a series has none
DOTS = sorted(path.name.removesuffix(".tv") for path in (ROOT / "vectors" / "dot").glob("*.tv"))
LEVELS = levels_stems(ROOT / "vectors", DOTS)  # C has their functions, DPI has not their tables
NVFP4 = "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
SMALL = "convert__bf16_to_e1m2__nvidia_rne__smoke"


def result_of(bench: Path, given: dict[str, str]) -> tuple[dict[str, str], str]:
    """The fields of the one RESULT line, and all that the bench printed."""
    done = subprocess.run([str(bench), *(f"+{key}={value}" for key, value in given.items())], capture_output=True, text=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found = re.fullmatch(r"RESULT (?P<verdict>PASS|FAIL) rows=(?P<rows>\d+) compared=(?P<compared>\d+) mismatch=(?P<mismatch>\d+)", line)
    assert found is not None, line
    return found.groupdict(), done.stdout


def simulate(bench: Path, stem: str, **changed: str) -> tuple[dict[str, str], str]:
    """Run the bench over a suite; the fields of its one RESULT line, and all it printed."""
    name = parse_stem(stem)
    given = {"op": name.op, "source": name.src, "file": str(ROOT / "vectors" / name.op / f"{stem}.tv")}
    if name.op == "convert":
        contract = load(ROOT / "vectors" / name.op, stem).record["contract"]["name"].split("/")
        given |= dict(zip(("destination", "rounding", "policy"), contract[1:], strict=True))
        given["random"] = str(int(contract[2].startswith("sr_")))
    return result_of(bench, given | changed)


def known_rows(stem: str) -> tuple[int, int]:
    """How many rows a suite has, and how many are compared."""
    suite = load(ROOT / "vectors" / stem.partition("__")[0], stem)
    layout = layout_from(suite.record["columns"])
    return len(suite.rows), sum(not is_open(layout, row) for row in suite.rows)


TE = {"recipe": "nvfp4_te_ref", "ts": "1", "scale_lsb": "32"}
TE_ROWS = "quantize__fp32_to_nvfp4__nvfp4_te_ref__directed"
TILES = {
    TE_ROWS: TE | {"source": "fp32", "valid": "1"},
    "quantize__bf16_to_nvfp4__nvfp4_te_cuda__directed": TE | {"recipe": "nvfp4_te_cuda", "source": "bf16"},
    "quantize__bf16_to_mxfp4__mxfp4_torchao_rceil__directed": {"recipe": "mxfp4_torchao_rceil", "source": "bf16", "columns": "32"},
    "quantize__fp32_to_nvufp4__nvufp4__directed": TE | {"recipe": "nvufp4", "source": "fp32", "valid": "1"},
    "dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke": TE | {"profile": "te"},
    "transform__bf16_to_bf16__rht16_te__directed": {"recipe": "rht16_te", "source": "bf16"},
    "transform__bf16_to_fp32__rht16_te_fp32__smoke": {"recipe": "rht16_te_fp32", "source": "bf16"},
}
OTHER_CODES = ({"rounding": "rz"}, {"policy": "onnx_spec"}, {"rounding": "none"}, {"destination": "e2m1"}, {"source": "fp16"})
OTHER_TILES = ({"recipe": "nvfp4_te_2d_ref"}, {"recipe": "nvfp4_f46_static_6"}, {"recipe": "none"}, {"valid": "0"})


@pytest.mark.exhaustive  # one more bench to compile; the library of objects is the default
def test_codes_meet_the_golden_rows_and_no_others(checkout: Path, verilated: Callable[[Path], Path], tmp_path: Path) -> None:
    bench = verilated(checkout / "tests/engines/c_ref/dpi_bench.sv")
    assert len(STEMS) > 50
    for stem in STEMS:
        rows, known = known_rows(stem)
        assert simulate(bench, stem)[0] == {"verdict": "PASS", "rows": str(rows), "compared": str(known), "mismatch": "0"}, stem
    for changed in OTHER_CODES:
        found, text = simulate(bench, SMALL, **changed)
        assert found["verdict"] == "FAIL" and int(found["mismatch"]) > 0, changed
        assert 1 <= text.count("MISMATCH ") <= 3
    cut = tmp_path / "cut.tv"
    cut.write_text("".join((ROOT / f"vectors/convert/{SMALL}.tv").read_text().splitlines(keepends=True)[:-1]))
    found, _ = simulate(bench, SMALL, file=str(cut))
    assert (found["verdict"], found["mismatch"]) == ("FAIL", "0")


@pytest.mark.exhaustive  # one more bench to compile; the library of objects is the default
def test_tiles_meet_the_golden_rows_and_no_others(checkout: Path, verilated: Callable[[Path], Path]) -> None:
    bench = verilated(checkout / "tests/engines/c_ref/dpi_tile_bench.sv")
    for stem, names in TILES.items():
        rows, known = known_rows(stem)
        found, _ = result_of(bench, names | place_of(stem))
        assert found == {"verdict": "PASS", "rows": str(rows), "compared": str(known), "mismatch": "0"}, stem
    for changed in OTHER_TILES:
        found, _ = result_of(bench, TILES[TE_ROWS] | place_of(TE_ROWS) | changed)
        assert found["verdict"] == "FAIL" and int(found["mismatch"]) > 0, changed


@pytest.mark.exhaustive  # one more bench to compile; the library of objects is the default
def test_dot_products_meet_the_golden_rows_and_no_others(checkout: Path, verilated: Callable[[Path], Path]) -> None:
    bench = verilated(checkout / "tests/engines/c_ref/dpi_dot_bench.sv")
    assert len(DOTS) - len(LEVELS) > 6
    for stem in sorted(set(DOTS) - LEVELS):
        rows, known = known_rows(stem)
        found, text = result_of(bench, dot_of(stem))
        assert found == {"verdict": "PASS", "rows": str(rows), "compared": str(known), "mismatch": "0"}, text
    for name in ("blackwell_mxf4nvf4_b16_ue8m0", "cheap/e2m1xe2m1/ue4m3/16", "none"):
        found, _ = result_of(bench, dot_of(NVFP4) | {"name": name})
        assert found["verdict"] == "FAIL" and int(found["mismatch"]) > 0, name


def dot_of(stem: str) -> dict[str, str]:
    """What the bench needs to read a suite of dot products."""
    record = load(ROOT / "vectors" / "dot", stem).record
    names = [column["name"] for column in record["columns"]]
    place, mask = names.index("d"), names.index("m_d")
    given = {"file": str(ROOT / "vectors" / "dot" / f"{stem}.tv"), "name": record["contract"]["name"].removeprefix("dot/")}
    counts = {"scales": int("sa" in names), "skip": mask - place - 1, "rest": len(names) - mask - 1, "kind": int("k_d" in names)}
    return given | {key: str(count) for key, count in counts.items()}


def place_of(stem: str) -> dict[str, str]:
    op = stem.partition("__")[0]
    return {"op": op, "file": str(ROOT / "vectors" / op / f"{stem}.tv")}


def test_the_package_lists_the_headers(checkout: Path) -> None:
    text = dpi_pages(checkout)[PATH]
    numbers = dict(re.findall(r"localparam int (EMU_\w+) = (-?\d+);", text))
    compiled = {name: str(getattr(lib, name)) for name in dir(lib) if name.startswith("EMU_")}
    assert {name: numbers[name] for name in compiled} == compiled
    imported, named = (
        re.findall(r'import "DPI-C" function \w+(?: unsigned)? (\w+)\(', text),
        re.findall(r"^  //   (\w+)$", text, re.MULTILINE),
    )
    assert {name for name in dir(lib) if name.startswith("emu_") and not name.endswith("_digest")} <= {*imported, *named}
    assert len({*imported, *named}) == len(imported) + len(named)
    assert {"emu_convert_code", "emu_find_format", "emu_dpi_convert"} <= set(imported)
    assert max(map(len, text.splitlines())) <= 140


def test_declarations_are_read_as_they_are_written() -> None:
    text = "enum { A = 1, B = -2 }; enum { C = 0x10 };\nint32_t emu_f(const emu_format *f, uint64_t code,\n uint8_t *open);\n"
    text += "int32_t emu_g(void *x);"
    assert list(enum_values(text)) == [("A", 1), ("B", -2), ("C", 16)]
    first, second = functions(text)
    assert first == (
        "int32_t",
        "emu_f",
        [Parameter("const emu_format*", "f"), Parameter("uint64_t", "code"), Parameter("uint8_t*", "open")],
    )
    assert (
        import_of(*first) == 'import "DPI-C" function int emu_f(input chandle f, input longint unsigned code, output byte unsigned open);'
    )
    assert import_of(*second) is None
    assert import_of("int32_t", "emu_h", [Parameter("int32_t", "program")]) == 'import "DPI-C" function int emu_h(input int program_);'
