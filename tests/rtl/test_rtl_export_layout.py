"""Index maps of layouts in SystemVerilog: places, their inverse and the size, equal to the reference model in Icarus and in Verilator."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.layouts import sides_of

from emu.cli.main import run
from emu.engines.exact.layout import size
from emu.engines.numpy.layout import origins, places
from emu.rtl.export.layout import render
from emu.spec import get, names

MOST = 400  # places of a shape that are compared


def questions(name: str) -> list[tuple[int, int]]:
    """The shapes of a layout that are small, and its largest."""
    layout = get("layout", name)
    found = [pair for pair in sides_of(layout) if size(*pair, layout) <= MOST]
    return [*found[:: max(1, len(found) // 6)], max(sides_of(layout))]


def bench(shapes: int) -> tuple[str, int]:
    """Return a module that compares and prints what differs, then how many values were equal; and how many there are.

    shapes: so many of each layout, the largest first.
    """
    lines, count = [], 0

    def ask(call: str, want: int) -> None:
        nonlocal count
        count += 1
        lines.append(
            f'        if (emu_layout_pkg::{call} !== 64\'d{want}) begin $display("WRONG {call}"); bad = bad + 1; end else good = good + 1;'
        )

    for name in names("layout"):
        layout = get("layout", name)
        for rows, codes in questions(name)[::-1][:shapes]:
            found, back = places(rows, codes, layout), origins(rows, codes, layout)
            ask(f"{name}_size({rows}, {codes})", len(back))
            step = max(1, found.size // (10 * shapes))
            for number in [*range(0, found.size, step), found.size - 1]:
                row, idx = divmod(number, codes)
                ask(f"{name}_place({row}, {idx}, {rows}, {codes})", int(found[row, idx]))
                ask(f"{name}_row({int(found[row, idx])}, {rows}, {codes})", row)
                ask(f"{name}_idx({int(found[row, idx])}, {rows}, {codes})", idx)
            for at in [at for at, here in enumerate(back.tolist()) if here < 0][:: max(1, len(back) // (4 * shapes))]:
                row, idx = (f"emu_layout_pkg::{name}_{axis}({at}, {rows}, {codes})" for axis in ("row", "idx"))
                told = f'$display("WRONG padding {name} {at}"); bad = bad + 1;'
                count += 1
                lines.append(f"        if (!(({row} >= {rows}) || ({idx} >= {codes}))) begin {told} end else good = good + 1;")
    text = "\n".join(["module top;", "    integer good, bad;", "    initial begin", "        good = 0; bad = 0;", *lines])
    return text + '\n        $display("equal %0d of %0d", good, good + bad);\n        $finish;\n    end\nendmodule\n', count


def simulate(tool: str, folder: Path) -> str:
    package = folder / "layouts.sv"
    package.write_text(render([get("layout", name) for name in names("layout")]), encoding="ascii")
    if tool == "icarus":
        command = ["iverilog", "-g2012", "-o", str(folder / "top.vvp"), str(package), str(folder / "top.sv")]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return subprocess.run(["vvp", str(folder / "top.vvp")], check=True, capture_output=True, text=True).stdout
    command = [
        "verilator",
        "--binary",
        "-O0",
        "--Mdir",
        str(folder / "made"),
        "--top-module",
        "top",
        "-Wno-WIDTH",
        str(package),
        str(folder / "top.sv"),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return subprocess.run([str(folder / "made" / "Vtop")], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("tool", "shapes", "least"), [("icarus", 6, 3500), pytest.param("verilator", 1, 450, marks=pytest.mark.cases(0, 0))]
)
def test_places_and_inverse_in_a_simulator(tool: str, shapes: int, least: int, tmp_path: Path) -> None:
    if shutil.which("iverilog" if tool == "icarus" else tool) is None:
        pytest.skip(f"{tool} is not installed")
    text, count = bench(shapes)
    (tmp_path / "top.sv").write_text(text, encoding="ascii")
    found = simulate(tool, tmp_path)
    assert count > least and "WRONG" not in found and f"equal {count} of {count}" in found


def test_the_command_writes_the_package(tmp_path: Path) -> None:
    out = tmp_path / "maps.sv"
    assert run(["rtl", "export", "--layout", "to_blocked", "--layout", "sf8x4", "-o", str(out)]) == 0
    assert out.read_text() == render([get("layout", "sf128x4"), get("layout", "sf8x4")])
    assert run(["rtl", "export", "--layout", "sf8x4", "--package", "c", "-o", str(tmp_path / "no")]) == 2 and not (tmp_path / "no").exists()
