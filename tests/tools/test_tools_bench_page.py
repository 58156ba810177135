"""docs/benchmarks.md: its first lines say what its tables hold; names and aims of the tables are those of the cases. No rate is judged."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """Cells of every table whose head begins so."""
    tables = re.findall(rf"(?m)^\| {re.escape(first)} \|.*\n\|[- :|]+\n((?:\|.*\n)+)", TEXT)
    return [[cell.strip() for cell in line.strip("|").split("|")] for table in tables for line in table.splitlines()]


def between(text: str, number: str) -> bool:
    first, _, last = text.partition(" to ")
    return float(first) <= round(float(number)) <= float(last or first)


def test_the_first_lines_say_what_the_tables_hold() -> None:
    said = re.search(
        r"converts to E2M1 (.*) times as .* NVFP4 (.*) times and to MXFP4 (.*) times as .*quantizer takes (.*) to (.*) seconds", TEXT
    )
    assert said is not None
    ratios = {cells[0]: cells[3] for cells in rows("job") if len(cells) > 4}
    jobs = ("convert e2m1 native", "quantize nvfp4_te_ref native", "quantize mxfp4_torchao_floor native")
    assert [between(range_, ratios[job]) for range_, job in zip(said.groups(), jobs, strict=False)] == [True] * 3
    assert (said[4], said[5]) == ends("whole")


def ends(kind: str) -> tuple[str, str]:
    """The least and the most seconds of a whole or quick check of a quantizer, as the table has them."""
    seconds = sorted((cells[2] for cells in rows("check") if cells[0].endswith(f", {kind}")), key=float)
    assert len(seconds) > 3
    return seconds[0], seconds[-1]


def test_the_page_about_kernels_says_the_same() -> None:
    said = re.search(
        r"in (\S+) to (\S+) seconds of CPU.* takes (\S+) to (\S+) ", (ROOT / "docs/howto_kernel.md").read_text(encoding="utf-8")
    )
    assert said is not None and (said[1], said[2]) == ends("quick") and (said[3], said[4]) == ends("whole")


def test_names_and_aims_are_those_of_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    from emu.engines.native import convert as kernel
    from emu.engines.native._kernels import lib
    from tools.bench import checks, training
    from tools.bench.cases import cases

    monkeypatch.setattr(kernel, "BEST_FORM", lib.EMU_AVX512)
    wanted = {case.name: "-" if case.promised is None else f"{case.promised:g}" for case in cases()}
    wanted |= {f"train {case.training} step": "-" if case.peer == "none" else "1" for case in training.CASES}
    found = {cells[0]: cells[4] for cells in rows("job") if len(cells) > 4}
    assert len(found) > 30 and {name: wanted.get(name) for name in found} == found
    most = {name: str(most) for name, most, _ in (*checks._quantizers(), *checks._products())}
    assert {re.sub("`", "", cells[0]): cells[3] for cells in rows("check")} == most
