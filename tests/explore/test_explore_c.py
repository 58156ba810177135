"""C that is copied from Block and Dot prints what the page says, also with a recipe or datapath of one's own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.explorer import answers, link, planted, ran

from emu.engines.c_ref import c_reference

X = " ".join(["1.5", "-3", "0.3", "7"] * 16)
PLACES = {
    "two recipes": link("block", x=X),
    "rows, a maximum": link("block", a="nvfp4_modelopt", b="nvfp4_te_2d_ref", amax="9", rows=16, x=" ".join([X] * 4)),
    "random words, a tail": link("block", a="ufp4_sr", b="ufp4", x="1.5 -3 0.3 7 1 2 3", random="5a 0xFF 0 80 7"),
    "an open value": link("block", a="nvfp4_te_ref", b="mxfp4_torchao_floor", x=X.replace("7", "nan")),
    "three machines": link("dot", c="3F800001"),
    "scales": link("dot", m1="blackwell_mxf4nvf4_b16_ue4m3", m2="ideal/e2m1xe2m1/ue4m3/16", m3="none", a="1234567f" * 8, b="76543a21" * 8,
                   sa="38393a01", sb="40384038", c="3f800001"),
    "levels": link("dot", m1="bf16_register_random", m2="none", m3="none", a="3f80" * 8, b="3f81" * 8, words="80 81 82"),
    "chains": link("dot", a="7E380838" * 32, b="38380138" * 32, c="3F800001", split=3, parts="interleaved", direction="descending",
                   combine="pairwise", m3="none"),
    "levels, from the end": link("dot", m1="bf16_register", m2="none", m3="none", a="3f80" * 15 + "4f81", b="3f81" * 16,
                                 direction="descending"),
    "more than a block": link("block", a="nvfp4_te_row_scaled", b="nvfp4_modelopt", x=X),
    "another source": link("block", a="ufp4_sr", b="mxfp4_torchao_floor", x="0x3FC1 0xC0FF 0x0081 0x7F00 " * 8, random="key 3",
                           **{"from": "bf16"}),
}  # fmt: skip
OWN = ("two recipes", "three machines", "levels")  # begun as a descriptor
CHANGE = """const other = document.querySelector("[name=m2]"); other.value = "none";
    other.dispatchEvent(new Event("change", {bubbles: true}));"""  # a shipped one of levels is in no table of C
SCRIPT = """return Object.entries(PLACES).map(([place, isOwn]) => {
    history.replaceState(null, "", place); dispatchEvent(new HashChangeEvent("hashchange"));
    if (isOwn) document.querySelector("#edit").click();
    if (isOwn && place.includes("m1=bf16")) { CHANGE }
    const said = explorer.text(location.hash), codes = ({items}) => items.map(({code}) => code);
    const press = kind => { document.querySelector(`#copy-${kind}`).click(); return explorer.copied(); };
    const fault = () => document.querySelector("#fault").textContent;
    const texts = ["c", "python", "shell"].map(press), wrong = fault(), row = press("row");
    return [[...texts, fault() ? "" : row], wrong, said.runs ? said.runs.map(({d}) => [[d]])
        : [said.a, said.b].map(side => [codes(side.filled), ...side.levels.map(codes)])];
});"""


def wrong(page: str, folder: Path, places: dict[str, bool]) -> list[tuple]:
    """Places whose program is refused, does not compile, or prints other codes than the page has."""
    script = SCRIPT.replace("PLACES", json.dumps({PLACES[name]: own for name, own in places.items()})).replace("CHANGE", CHANGE)
    source, out = c_reference(), []
    (folder / "c").mkdir()
    made = ["gcc", "-std=c99", "-O0", "-c", f"-I{source}", *map(str, source.glob("src/*/*.c"))]
    subprocess.run(made, cwd=folder / "c", check=True)
    for name, ((text, python, shell, row), fault, wanted) in zip(places, answers(page, script, folder, "number"), strict=True):
        (folder / "main.c").write_text(text)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{source}", "-o", "main", "main.c", *map(str, (folder / "c").glob("*.o"))]
        done = subprocess.run(["gcc", *flags], cwd=folder, capture_output=True, text=True, check=False)
        if fault or done.returncode:
            out.append((name, fault, done.stderr[:500]))
            continue
        printed = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
        lines = [[codes_of(word) for word in line.partition(":")[2].split()] for line in printed.stdout.splitlines()]
        flat = [[codes_of(word) for word in part] for side in wanted for part in side]
        same = [line in (part, part * len(line)) for line, part in zip(lines, flat, strict=False)]  # a coarser register is repeated
        if printed.returncode or len(lines) != len(flat) or not all(same):
            out.append((name, lines, flat))
        out += [(name, *found) for found in otherwise(python, shell, row, lines, folder)]
    return out


def otherwise(python: str, shell: str, row: str, lines: list[list], folder: Path) -> list[tuple]:
    """Copied Python that prints other codes than C, and a command that gives another row or another result. lines: what C printed."""
    out, done = [], subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=False)
    got = [[codes_of(word) for word in line.partition(":")[2].split()] for line in done.stdout.splitlines()]
    if "Library(" not in python:  # of recipes of the spec codes alone, of datapaths a result a line
        got = [[int(word, 0) for word in re.findall("0x[0-9a-f]+|[0-9]+", line)] for line in done.stdout.splitlines()]
    made = lines if len(got) == len(lines) else [line for line in lines if len(line) >= len(got[0])] if got else []
    if done.returncode or not got or [line[: len(each)] for line, each in zip(made, got, strict=False)] != got:
        out.append(("python", got, lines, done.stderr[-300:]))
    said, rows = ran(shell, folder), row.splitlines()
    if "emu_ref fill" in shell and [line for line in said if line.startswith("a ")][: len(rows)] != rows:
        out.append(("shell", said, rows))
    if "python3 -" in shell and [line for line in said if line] != done.stdout.splitlines():
        out.append(("shell", said, done.stdout))
    if "emu explain dot" in shell and not all(f"{line[0]:x}" in "\n".join(said).lower() for line in lines):
        out.append(("shell", said, lines))
    return out


def codes_of(word: str) -> int | str:
    return word if word == "open" else int(word, 16)


def test_copied_programs_print_what_the_page_says(page, tmp_path):
    assert wrong(page, tmp_path, {name: name in OWN for name in PLACES}) == []


def test_a_datapath_of_levels_of_the_page_is_copied_with_its_facts(page, tmp_path):
    assert wrong(page, tmp_path, {"levels": False}) == []


FAULTS = {
    "the maximum left out": ('amax !== null && facts.amax ? "&amax" : "NULL"', '"NULL"'),
    "random words left out": ("drawn ? `&random${k}` : \"NULL\"", '"NULL"'),
    "C of the page's recipe": ('ids.some(isOwnRecipe), isIn = isMine ? "_in(library, " : "("', 'ids.some(isOwnRecipe), isIn = "("'),
    "C of a dot product left out": ("given = {...chain, c: chain.c === null ? [] : [chain.c]}", "given = {...chain, c: [0n]}"),
    "the first chain alone": ('return {joins, last: left[0]}', "return {joins, last: 0}"),
}  # fmt: skip


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_programs_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path, {name: name in OWN for name in PLACES})
