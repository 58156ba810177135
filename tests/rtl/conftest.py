"""What tests of the RTL hand-over share: the folder of the kit, tools that may be absent, the C reference, suites and a design."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from emu.cli.main import run
from emu.contracts.columns import Column, layout_from, layout_of
from emu.contracts.rows import Input, Row, make_row
from emu.rtl.portmap.file import load_map
from emu.rtl.simulate.units import Unit
from emu.rtl.simulate.vhdl import as_verilog
from emu.vectors.files import lint as lint_files
from emu.vectors.files import suite, writers
from emu.vectors.files.manifest import shard_name
from emu.vectors.files.writers import counts_of

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def kit(checkout: Path) -> Path:
    """The kit of this checkout."""
    return checkout / "vectors" / "bench"


def _rendered(checkout: Path, folder: Path, stem: str) -> Path:
    """Write the files of a frozen suite again, as the writers of this checkout make them; its path without ending."""
    source = checkout / "vectors" / stem.partition("__")[0]
    data = json.loads((source / f"{stem}.json").read_bytes())
    layout = layout_from(data["columns"])
    rows: list[Row] = []
    for entry in data["shards"]:
        rows += lint_files.parse_mem((source / entry["file"]).read_bytes(), entry["file"], layout, entry["tcFirst"])
    for name, text in suite.render(suite.Suite(data, layout, tuple(rows))).items():
        (folder / name).write_bytes(text.encode("ascii"))
    return folder / stem


@pytest.fixture(scope="session")
def frozen(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function of a stem: the path without ending of a copy of that suite of vectors/."""
    folder = tmp_path_factory.mktemp("suites")
    return lambda stem: _rendered(checkout, folder, stem)


@pytest.fixture
def handmade(tmp_path: Path) -> Callable[..., Path]:
    """A function of stem, columns and (inputs, answer) pairs: writes the files that a bench reads; their path without ending."""

    def write(
        stem: str, columns: Sequence[Column], cases: Sequence[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]], shards: int = 1
    ) -> Path:
        layout = layout_of(columns)
        rows = [make_row(layout, Input("made", ("value",), values), answer) for values, answer in cases]
        each, entries = len(rows) // shards, []
        for index in range(shards):
            part, first, name = rows[index * each : (index + 1) * each], 1 + index * each, shard_name(stem, index, shards)
            digest = suite.rows_sha256(layout, part)
            negative = writers.negative_rows(layout, rows[:each])
            entries.append({"file": f"{name}.mem", "tcFirst": first, "rows": len(part), "sha256": digest})
            (tmp_path / f"{name}.mem").write_text(writers.render_mem(layout, part, first))
            (tmp_path / f"{stem}.neg.mem").write_text(writers.render_mem(layout, negative))
            (tmp_path / f"{name}.svh").write_text(writers.render_svh(layout, counts_of(layout, part, name, first, len(negative), digest)))
        text = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        columns_text = json.dumps(layout.described(), separators=(",", ":"))
        (tmp_path / f"{stem}.json").write_text(f'{{"columns": {columns_text}, "shards": [\n{text}\n]}}\n')
        return tmp_path / shard_name(stem, 0, shards)

    return write


def _linted(unit: Unit, *more: str) -> Done:
    macros = [f"-D{macro}={value}" for macro, value in unit.defines.items()]
    # DECLFILENAME: a wrapper is module dut whatever its file is called
    command = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", "dut", *macros, *more, *map(str, unit.sources)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="session")
def lint(need: Callable[..., None]) -> Callable[..., Done]:
    """A function of a unit and more options: what Verilator says of it with all warnings."""
    need("verilator")
    return _linted


def _synthesized(unit: Unit, last: str = "stat", *more: str, whole: bool = True) -> Done:
    macros = " ".join([*(f"-D{macro}={value}" for macro, value in unit.defines.items()), *more])
    steps = "prep -flatten -top dut" if whole else "hierarchy -check -top dut; proc"
    script = f"read_verilog -sv {macros} {' '.join(map(str, unit.sources))}; {steps}; check -assert; {last}"
    return subprocess.run(["yosys", "-Q", "-p", script], capture_output=True, text=True)


@pytest.fixture(scope="session")
def synthesized(need: Callable[..., None]) -> Callable[..., Done]:
    """A function of a unit, the last command of the script, and more options: what yosys says of its flat netlist.

    whole: optimised and flat; without, only that yosys takes the text: a tenth of the time.
    """
    need("yosys")
    return _synthesized


@pytest.fixture(scope="session")
def table() -> Path:
    """The design that looks its answers up in the golden rows, with faults to choose: table.sv."""
    return Path(__file__).parent / "table.sv"


@pytest.fixture
def wrapped(kit: Path, tmp_path: Path, need: Callable[..., None]) -> Callable[..., list[str]]:
    """A function of an example with a port map, and (old, new) texts of its design: the files of design and wrapper, all in Verilog."""

    def files(name: str, *changes: tuple[str, str]) -> list[str]:
        folder = tmp_path / "wrapped"
        shutil.copytree(kit / "examples", folder, dirs_exist_ok=True)
        design = next(path for path in folder.glob(f"{name}.*") if path.suffix in (".sv", ".vhd"))
        for old, new in changes:
            text = design.read_text()
            assert text.count(old) == 1, (design.name, old)
            design.write_text(text.replace(old, new))
        if design.suffix == ".vhd":
            need("ghdl")
        file, wrapper = load_map(folder / f"{name}.yaml"), folder / "wrapper.sv"
        assert run(["rtl", "wrap", str(folder / f"{name}.yaml"), "-o", str(wrapper), "--force"]) == 0
        return [*map(str, as_verilog(file.files, file.map.module, tmp_path)), str(wrapper)]

    return files
