"""docs/how_it_works.md: its examples print what they say, each row of its tables is computed again, and the code points to its sections."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import emu
from tools.docs import examples

PAGE = "docs/how_it_works.md"
SECTIONS = {
    "one-table-and-rounding-to-odd",
    "the-scale-decision-of-a-block",
    "alignment-and-loss-in-a-fused-step",
    "order-along-k",
    "a-recipe-is-a-straight-line-program",
}


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / PAGE).read_text(encoding="utf-8")


def table(page: str, first: str) -> list[list[str]]:
    """Return the rows of the table whose first heading is given."""
    lines = page.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    assert len(rows) >= 2
    return rows


def tables(page: str, first: str) -> list[list[list[str]]]:
    return [table(page[match.start() :], first) for match in re.finditer(rf"(?m)^\| {first} \|", page)]


def words(codes: object) -> list[int]:
    return [int(code) for code in np.asarray(codes).reshape(-1)]


def test_examples_print_what_they_say(page: str, checkout: Path) -> None:
    blocks = list(examples.blocks_of(page))
    assert sum(block.text.count(">>> ") for block in blocks) >= 30
    found = examples.faults(checkout, (PAGE,))
    assert found == [], "\n".join(found)


def test_a_wrong_number_is_found(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page.replace("'0x4 0x4 0x5'", "'0x4 0x4 0x4'", 1), encoding="utf-8")
    assert len(examples.faults(tmp_path, ("page.md",))) == 1


def test_rounding_to_odd_rows(page: str) -> None:
    e2m1, nf4 = tables(page, "number")
    x = np.array([int(row[1], 16) for row in e2m1], np.uint32)
    odd = emu.convert(x, "bf16", rounding="odd", source="fp32")
    assert [int(row[2], 16) for row in e2m1] == words(x >> 16)
    assert [int(row[3], 16) for row in e2m1] == words(odd)
    assert [int(row[4], 16) for row in e2m1] == words(emu.convert(odd, "e2m1", source="bf16"))
    assert [int(row[5], 16) for row in e2m1] == words(emu.convert(x, "e2m1", source="fp32"))
    x = np.array([int(row[1], 16) for row in nf4], np.uint32)
    assert [int(row[2], 16) for row in nf4] == words(emu.convert(x, "bf16", rounding="odd", source="fp32"))
    assert [int(row[3], 16) for row in nf4] == words(emu.convert(x, "nf4", source="fp32"))
    values = emu.decode(list(range(16)), "nf4", np.float64)
    assert np.float32((values[8] + values[9]) / 2).view(np.uint32) == x[1]


def test_the_bit_trick_as_drawn(page: str) -> None:
    drawn = re.search(r"(?m)^x +([01 ]+) the next", page), re.search(r"(?m)^  >> 16 +([01 ]+) the bf16", page)
    assert drawn[0] and drawn[1]
    x, odd = (int(match[1].replace(" ", ""), 2) for match in drawn)
    assert x == 0x40200001 and odd == ((x & 0xFFFF) + 0xFFFF | x) >> 16 == 0x4021
    assert words(emu.convert(np.array([x], np.uint32), "bf16", rounding="odd", source="fp32")) == [odd]


def test_scale_decision_rows(page: str) -> None:
    rows = table(page, "element x")
    block = np.zeros((1, 16), np.float32)
    block[0, : len(rows)] = [float(row[0]) for row in rows]
    q = emu.quantize(block, "nvfp4_te_ref", tensor_amax=2688)
    scale = float(emu.decode(q.scales, "ue4m3").reshape(-1)[0])
    assert f"scale code    0x{int(q.scales[0, 0]):02X} = {scale}" in page and f"reciprocal    {1 / scale:.7f}" in page
    assert [row[1] for row in rows] == [f"{float(row[0]) / scale:.3g}" for row in rows]
    assert [int(row[2], 16) for row in rows] == words(q.codes[0, : len(rows)])
    assert [float(row[3]) for row in rows] == emu.decode(q.codes, "e2m1")[0, : len(rows)].tolist()
    assert [float(row[4]) for row in rows] == q.dequantize()[0, : len(rows)].tolist()


def test_two_recipes_differ_as_said(page: str) -> None:
    block = np.zeros((1, 32), np.float32)
    block[0, :4] = 7, 1, 0.2, -3
    for recipe, scale, *values in table(page, "recipe"):
        q = emu.quantize(block, recipe)
        assert float(emu.decode(q.scales, "e8m0").reshape(-1)[0]) == float(scale)
        assert q.dequantize()[0, :4].tolist() == [float(value) for value in values]


def test_alignment_rows(page: str) -> None:
    for third, exact, result in table(page, "third product"):
        factor = float(third.split(" * ")[0])
        a, b = np.zeros(32, np.float32), np.zeros(32, np.float32)
        a[:3], b[:3] = (16, -16, factor), (16, 16, 2**-6)
        assert float((a * b).sum()) == float(exact) == factor * 2**-6
        codes = emu.convert(a, "e4m3"), emu.convert(b, "e4m3")
        found = emu.dot(*codes, "hopper_fp8", a_format="e4m3", b_format="e4m3")
        assert float(found.view(np.float32)) == float(result)


def test_alignment_as_drawn(page: str) -> None:
    drawn = dict(re.findall(r"(?m)^ +(256|-256|3 \* 2\^-6|sum) +[+=-] +((?:[01] ){14}) ", page))
    unit = {name: int(bits.replace(" ", ""), 2) for name, bits in drawn.items()}
    assert unit == {"256": 256 * 2**5, "-256": 256 * 2**5, "3 * 2^-6": 3 * 2**5 // 2**6, "sum": 1}
    spec = emu.spec.get("datapath", "hopper_fp8").facts
    assert spec.align.fraction_bits == 13


def test_order_rows(page: str) -> None:
    a, b = np.zeros((1, 192), np.float32), np.zeros((192, 1), np.float32)
    a[0, :64], b[:64, 0] = 64, 64
    a[0, 64], b[64, 0] = 2**-4, 2**-4
    a[0, 128:], b[128:, 0] = 64, -64
    left, right = emu.quantize(a, "mxfp4_torchao_floor"), emu.quantize(b, "mxfp4_torchao_floor", axis=0, row_axis=1)
    orders = {
        "ascending": emu.Order(),
        "descending": emu.Order(direction="descending"),
        "split_k 2, interleaved": emu.Order(split_k=2, parts="interleaved"),
    }
    rows = dict(table(page, "order"))
    assert rows.keys() == orders.keys()
    for name, order in orders.items():
        assert float(emu.matmul(left, right, "blackwell_mxf4_b32_ue8m0", order=order)[0, 0]) == float(rows[name])


def test_steps_of_the_recipe(page: str) -> None:
    rows = table(page, "step")
    recipe = emu.spec.get("recipe", "mxfp4_torchao_floor")
    assert [row[0] for row in rows] == [step.out for step in recipe.facts.steps if step.op != "emit"]
    x = np.zeros((2, 64), np.float32)
    x[0, :4] = 7, 1, 0.2, -3
    q = emu.quantize(x, "mxfp4_torchao_floor")
    results = {"block": q.scales.size, "element": q.codes.size}
    assert [int(row[3]) for row in rows] == [results[row[2]] for row in rows]
    by_name = {row[0]: row[4] for row in rows}
    assert int(by_name["scale"], 16) == int(q.scales[0, 0]) and float(by_name["scale_value"]) == 1
    assert [int(code, 16) for code in by_name["codes"].split(", ")] == words(q.codes[0, :4])


def test_the_code_points_to_every_section(page: str, checkout: Path) -> None:
    headings = {re.sub(r"[^a-z0-9 -]", "", line[3:].lower()).replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
    assert headings == SECTIONS
    files = [*(checkout / "emu").rglob("*.py"), *(checkout / "emu").rglob("*.[ch]"), *(checkout / "c_ref").rglob("*.[ch]")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    pointed = {anchor for text in texts for anchor in re.findall(r"how_it_works\.md#([a-z0-9-]+)", text)}
    assert pointed == SECTIONS, "each section is pointed to from the code that does it, and no other"
