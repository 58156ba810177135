"""C that is copied from Block and Dot prints what the page says, also with a recipe or datapath of one's own."""

import json
import subprocess
from pathlib import Path

import pytest
from support.explorer import answers, link, planted

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
}  # fmt: skip
OWN = ("two recipes", "three machines", "levels")  # begun as a descriptor
CHANGE = """const other = document.querySelector("[name=m2]"); other.value = "none";
    other.dispatchEvent(new Event("change", {bubbles: true}));"""  # a shipped one of levels is in no table of C
SCRIPT = """return Object.entries(PLACES).map(([place, isOwn]) => {
    history.replaceState(null, "", place); dispatchEvent(new HashChangeEvent("hashchange"));
    if (isOwn) document.querySelector("#edit").click();
    if (isOwn && place.includes("m1=bf16")) { CHANGE }
    document.querySelector("#copy-c").click();
    const said = explorer.text(location.hash), codes = ({items}) => items.map(({code}) => code);
    return [explorer.copied(), document.querySelector("#fault").textContent, said.runs ? said.runs.map(({d}) => [[d]])
        : [said.a, said.b].map(side => [codes(side.filled), ...side.levels.map(codes)])];
});"""


def wrong(page: str, folder: Path, places: dict[str, bool]) -> list[tuple]:
    """Places whose program is refused, does not compile, or prints other codes than the page has."""
    script = SCRIPT.replace("PLACES", json.dumps({PLACES[name]: own for name, own in places.items()})).replace("CHANGE", CHANGE)
    source, out = c_reference(), []
    (folder / "c").mkdir()
    made = ["gcc", "-std=c99", "-O0", "-c", f"-I{source}", *map(str, source.glob("src/*/*.c"))]
    subprocess.run(made, cwd=folder / "c", check=True)
    for name, (text, fault, wanted) in zip(places, answers(page, script, folder, "number"), strict=True):
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
    return out


def codes_of(word: str) -> int | str:
    return word if word == "open" else int(word, 16)


def test_copied_programs_print_what_the_page_says(page, tmp_path):
    assert wrong(page, tmp_path, {name: name in OWN for name in PLACES}) == []


def test_a_machine_that_the_library_has_not_is_refused(page, tmp_path):
    (found,) = wrong(page, tmp_path, {"levels": False})
    assert found[1].startswith("Copy C: emu_ref.h has no bf16_register_random")


FAULTS = {
    "the maximum left out": ('amax !== null && facts.amax ? "&amax" : "NULL"', '"NULL"'),
    "random words left out": ("drawn ? `&random${k}` : \"NULL\"", '"NULL"'),
    "C of the page's recipe": ('ids.some(isOwnRecipe), isIn = isMine ? "_in(library, " : "("', 'ids.some(isOwnRecipe), isIn = "("'),
    "C of a dot product left out": ('given = {a: row.a, b: row.b, sa: row.sa, sb: row.sb, c: row.c === null ? [] : [row.c]}',
        'given = {a: row.a, b: row.b, sa: row.sa, sb: row.sb, c: [0n]}'),
}  # fmt: skip


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_programs_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path, {name: name in OWN for name in PLACES})
