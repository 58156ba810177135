"""The reference pages: one for every object, links that lead somewhere, `exact`'s own text, and numbers that the exact engine confirms."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

from emu.base.errors import FileError
from emu.engines.exact.codebook import round_to_codebook
from emu.engines.exact.convert import convert_code
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import round_value
from emu.engines.exact.value import finite
from emu.pages.grid import grid
from emu.spec import KINDS, derive, get, names
from emu.spec.contract import GRAMMARS
from emu.spec.models.common import Status
from emu.spec.models.datapath import DotExample
from emu.spec.models.format import CodebookFacts
from research.pages.charts import same_data
from tools.docs import tree
from tools.docs.grids import four_bit_grids, grid_rows, grids_picture
from tools.docs.overviews import STATUS
from tools.docs.reference_model import COMPOSED, ENTRIES, reference_model_pages
from tools.docs.source import Module, closure, reference_model

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
MOST_BYTES = 2_300_000
LINK = re.compile(r"\]\(([^)#]*)(#[^)]*)?\)")
NARROW = [name for name in names("format") if derive.codes(get("format", name)).bits <= 8]
TINY = Fraction(1, 1 << 200)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """The fragment that a viewer makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(path: Path) -> set[str]:
    found, fenced = set(), False
    for line in text_of(path).splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            found.add(anchor(line.lstrip("#").strip()))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_has_its_page_with_title_status_and_sources(kind: str) -> None:
    assert sorted(path.stem for path in (REFERENCE / kind).glob("*.md")) == list(names(kind))
    for name in names(kind):
        thing, page = get(kind, name), text_of(REFERENCE / kind / f"{name}.md")
        assert page.startswith(f"{tree.MARK}\n\n# {kind} `{name}`\n\n**{thing.title}**\n\nStatus **{thing.status}**")
        assert all(f"`{alias}`" in page for alias in thing.aliases)
        assert all(f"| {' '.join(point.what.split()).replace('|', chr(92) + '|')} |" in page for point in thing.open)
        assert all(f"(../sources.md#{source.ref})" in page for source in thing.sources)


def test_every_status_word_is_explained_and_counted() -> None:
    rows = {cells[0]: cells for word in STATUS for cells in rows_of(REFERENCE / "contents.md", f"{word} |")}
    assert set(STATUS) == set(get_args(Status)) == set(rows)
    assert sum(int(cells[2]) for cells in rows.values()) == sum(len(names(kind)) for kind in KINDS)


def test_links_lead_to_files_and_headings() -> None:
    pages = sorted(REFERENCE.rglob("*.md"))
    known = {path: headings(path) for path in pages}
    assert len(pages) > 150
    count, broken = 0, []
    for page in pages:
        for target, fragment in LINK.findall(text_of(page)):
            if target.startswith("http"):
                continue
            path = (page.parent / target).resolve() if target else page
            count += 1
            if not path.exists() or (fragment and fragment[1:] not in known.get(path, ())):
                broken.append(f"{page.relative_to(ROOT)}: {target}{fragment}")
    assert broken == [] and count > 1000


def test_the_tree_stays_small_and_its_lines_are_clean() -> None:
    pages = sorted(REFERENCE.rglob("*.md"))
    assert sum(path.stat().st_size for path in pages) < MOST_BYTES
    assert [path for path in pages if re.search(r"[ \t]$|\r", text_of(path), re.MULTILINE) or not text_of(path).endswith("\n")] == []


def test_every_row_of_a_table_has_the_cells_of_its_head() -> None:
    count = 0
    for page in sorted(REFERENCE.rglob("*.md")):
        cells, fenced = 0, False
        for line in text_of(page).splitlines():
            fenced ^= line.startswith("```")
            if fenced or not line.startswith("| "):
                cells = 0
                continue
            found = len(re.findall(r"(?<!\\)\|", line))
            assert cells in (0, found), f"{page.relative_to(ROOT)}: {line}"
            cells, count = found, count + 1
    assert count > 3000


def test_the_reference_model_is_printed_whole() -> None:
    """Every line of every module stands on its page, in the order of the file; nothing is retyped, nothing left out."""
    modules = reference_model(ROOT)
    assert len(modules) > 15
    for name, module in modules.items():
        source = [line for line in text_of(ROOT / "emu" / "engines" / "exact" / f"{name}.py").splitlines() if line.strip()]
        printed = [line for piece in module.pieces for line in piece.text.splitlines() if line.strip()]
        summary = [line.strip() for line in module.summary.splitlines() if line.strip()]
        assert [line for line in source if line in printed] == printed
        rest = [line.strip().strip('"') for line in source if line not in printed]
        assert [line for line in rest if line] == summary
        page = text_of(REFERENCE / "reference_model" / f"{name}.md")
        assert all(piece.text in page for piece in module.pieces)


def test_no_module_takes_the_page_of_operations() -> None:
    with pytest.raises(FileError, match="another name"):
        reference_model_pages({**reference_model(ROOT), "operations": Module("operations", "")})


def test_every_operation_of_a_contract_has_its_source() -> None:
    assert set(GRAMMARS) <= set(ENTRIES) | set(COMPOSED) and not set(ENTRIES) & set(COMPOSED)


def test_functions_behind_an_operation() -> None:
    modules = reference_model(ROOT)
    found = [f"{piece.module}.{piece.name}" for piece in closure(modules, ("decode", "decode_code"))]
    assert found[0] == "decode.decode_code" and {"decode.magnitude_of", "decode.codebook_values", "value.Value"} <= set(found)
    assert not any(name.startswith("round.") for name in found)
    with pytest.raises(FileError, match=r"emu/engines/exact/decode\.py has no decode_all: the pages name it"):
        closure(modules, ("decode", "decode_all"))


@pytest.mark.parametrize("name", NARROW)
def test_bins_are_those_of_the_reference_model(name: str) -> None:
    """Just inside each edge a value rounds to the bin's own value, just outside to another; the bias follows from the edges."""
    fmt = get("format", name)
    points, nearest = grid(fmt), get("rounding", "rne")
    assert points is not None

    def rounded(number: Fraction) -> Fraction:
        if isinstance(fmt.facts, CodebookFacts):
            return decode_code(round_to_codebook(finite(number), fmt, nearest, None), fmt).signed
        return round_value(finite(number), fmt, nearest).signed

    for item in points.bins():
        assert rounded(item.low + TINY) == rounded(item.high - TINY) == item.value
        assert rounded(item.low - TINY) != item.value and rounded(item.high + TINY) != item.value
        assert item.low + item.high == 2 * item.mean
    assert len(points.bins()) > 0 or len(points.values) < 3


def test_what_the_bins_say_about_the_proposal() -> None:
    """E2M1 shrinks where its spacing doubles; the uniform grids never."""
    biases = {
        name: [(item.value, item.bias) for item in grid(get("format", name)).bins() if item.bias]
        for name in ("e2m1", "e1m2", "e0m3", "int4")
    }
    assert biases == {"e2m1": [(2, Fraction(-1, 8)), (4, Fraction(-1, 4))], "e1m2": [], "e0m3": [], "int4": []}


def rows_of(page: Path, start: str) -> list[list[str]]:
    """The table rows of a page whose first cell starts with a text, cell by cell."""
    lines = [line for line in text_of(page).splitlines() if line.startswith(f"| {start}")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_policies_say_what_a_conversion_gives() -> None:
    """The rows of E2M1 against single conversions of the reference model from binary32."""
    section = text_of(REFERENCE / "policies.md").split("\n## e2m1\n")[1].split("\n## ")[0]
    sources = {"+NaN": 0x7FC00000, "-NaN": 0xFFC00000, "+Inf": 0x7F800000, "-Inf": 0xFF800000}
    rows = [line for line in section.splitlines() if line.startswith("| [")]
    compared = 0
    for line in rows:
        policies, _, _, inf, nan, zero = (cell.strip() for cell in line.strip("|").split(" | "))
        for policy in re.findall(r"\[`(\w+)`\]", policies):
            for key, cell in (("Inf", inf), ("NaN", nan)):
                said = re.findall(r"`(0x\w+)`", cell)
                for sign, text in zip("+-", said * 2 if len(said) == 1 else said, strict=False):
                    found = convert_code(
                        sources[sign + key], get("format", "fp32"), get("format", "e2m1"), get("rounding", "rne"), get("policy", policy)
                    )
                    assert found == int(text, 16)
                    compared += 1
            assert zero.startswith("`0x8`")
    assert compared >= 20


def test_a_datapath_page_shows_the_stages_that_the_facts_give() -> None:
    """Numbers of the fact sheet on the page of the reported FP4 datapath; the worked step ends in its worked example."""
    page = text_of(REFERENCE / "datapath" / "blackwell_mxf4nvf4_b16_ue4m3.md")
    assert "|  8 bits + sign, unit 2^-2\n" in page and "|  12 bits + sign\n" in page and "|  19 bits + sign" in page
    assert "|  49 bits: sign, 13 integer, 35 fraction\n" in page
    assert f"adder  S{'I' * 13}.{'F' * 35}  49 bits\n" in page
    (row,) = rows_of(REFERENCE / "datapath" / "blackwell_mxf4nvf4_b16_ue4m3.md", "e2m1 x e2m1")
    assert row[5:] == ["49, 2^-20", "35", "13", "49", "-139", "36", "while E <= 15", "1217392"]
    assert "| E | 16 |" in page and "D = `0x3AFFC000`" in page
    widths = {
        cells[0]: cells[1:] for pair in ("e1m2 x e1m2", "e2m1 x e2m1", "int4 x int4") for cells in rows_of(REFERENCE / "datapaths.md", pair)
    }
    assert widths == {
        "e1m2 x e1m2": ["6", "10", "18", "10", "38", "49", "49", "3577648"],
        "e2m1 x e2m1": ["8", "12", "19", "13", "36", "50", "50", "1217392"],
        "int4 x int4": ["7", "11", "18", "14", "34", "49", "49", "2739136"],
    }


@pytest.mark.parametrize("name", names("datapath"))
def test_the_worked_step_of_a_datapath_ends_in_its_example(name: str) -> None:
    example = next((item for item in get("datapath", name).expect if isinstance(item, DotExample)), None)
    page = text_of(REFERENCE / "datapath" / f"{name}.md")
    if example is not None:
        assert f"D = `{example.d}`" in page.split("## Worked examples")[0]
    elif "## One step, worked" in page:
        assert re.search(r"\nD = `0x[0-9A-F]+` ", page)
    else:
        assert "## Unknown" in page or "## Refused" in page


def test_an_instruction_page_shows_registers_and_options() -> None:
    page = text_of(REFERENCE / "instruction" / "ptx_cvt_rs_f4x4.md")
    assert "d      | 15..12 lane 0 | 11..8 lane 1 | 7..4 lane 2 | 3..0 lane 3 |" in page
    assert "random: `share16`, `split8`, `b200_bitrev`" in page
    assert "| NaN | `7` 6 |" in page and "| -0 | `8` -0 |" in page
    proposal = text_of(REFERENCE / "instruction" / "prop_mma_4bit.md")
    assert proposal.index("## Why") < proposal.index("## What it does") and "| `{a}` | `s4` | A [`int4`](../format/int4.md) |" in proposal


def test_each_of_two_scale_operands_is_told_with_its_forms() -> None:
    scale = text_of(REFERENCE / "instruction" / "arm_f1cvtl.md").split("## Scale")
    assert len(scale) == 2 and re.findall(r"(?m)^(`.*):$|^Operand `lscale`, (\d+) bits", scale[1]) == [
        ("`f1cvtl vd.8h vn.8b F8S1=e4m3`, `f1cvtl vd.8h vn.8b F8S1=e5m2`", ""), ("", "4"),
        ("`bf1cvtl vd.8h vn.8b F8S1=e4m3`, `bf1cvtl vd.8h vn.8b F8S1=e5m2`", ""), ("", "6"),
    ]  # fmt: skip


def test_instructions_side_by_side_name_every_family() -> None:
    page = text_of(REFERENCE / "instructions.md")
    assert [name for name in names("instruction") if f"](instruction/{name}.md)" not in page] == []
    assert "| `0x7` (6) | `0x7` (6), `0xF` (-6) |" in next(line for line in page.splitlines() if line.startswith("| [`ptx_cvt_f4x2`]"))


def test_the_picture_of_the_grids_marks_the_biased_bins() -> None:
    """One bin for each value from 0 upwards, side by side up to the largest; marked where the bias is. The file shows these data."""
    grids = four_bit_grids()
    rows = grid_rows(grids)
    assert [row.name for row in rows] == [name for name in names("format") if derive.codes(get("format", name)).bits == 4]
    for row in rows:
        points = grids[row.name]
        largest = points.values[-1]
        assert row.values == tuple(float(value / largest) for value in points.values if value >= 0)
        assert [low for _, low, _ in row.bins] == [0.0, *(high for _, _, high in row.bins[:-1])] and row.bins[-1][2] == 1.0
        assert all(low <= value <= high for value, (_, low, high) in zip(row.values, row.bins, strict=True))
        biased = [item for item in points.bins() if item.bias and item.value > 0]
        assert row.means == tuple(float(item.mean / largest) for item in biased)
        assert [low for kind, low, _ in row.bins if kind == "biased"] == [float(item.low / largest) for item in biased]
    assert same_data(text_of(REFERENCE / "grids.svg"), grids_picture(grids))
    ET.fromstring(text_of(REFERENCE / "grids.svg").partition("\n\n")[2])


@pytest.mark.cases(0, 0)  # every page is made again, in a process of its own
def test_the_same_bytes_under_another_hash_seed_and_folder(tmp_path: Path) -> None:
    script = (
        "import sys, hashlib; from pathlib import Path; from tools.docs import tree; "
        "print(hashlib.sha256(repr(sorted(tree.pages(Path(sys.argv[1])).items())).encode()).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", script, str(ROOT)],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed, "LC_ALL": "C", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        for seed in ("1", "2")
    ]
    assert [result.stderr for result in digests] == ["", ""] and len({result.stdout for result in digests}) == 1
