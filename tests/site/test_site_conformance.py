"""The pages that only the site has: every kernel, every instruction and every open question is on them, with the numbers of the record."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qs

from emu.files.record import Data
from emu.spec import KINDS, get, names
from emu.spec.contract import parse
from emu.spec.registry import digest
from tools import machines
from tools.docs.foreign_kernels import told
from tools.foreign_kernels import KIND, RECORD
from tools.site.beside import row_of
from tools.site.conformance import conformance, explorer_link, open_questions

ROOT = Path(__file__).resolve().parents[2]
NAMED = (("format", "fp32"), ("format", "e2m1"), ("rounding", "rne"), ("policy", "gfloat_sat"))
RECIPES = {"mxfp4_torchao_even"}
COMPARED = machines.KIND.read(ROOT / machines.RECORD)


def rows(page: str, table: str) -> list[str]:
    return re.findall(r"<tr>(.*?)</tr>", page.partition(f'id="{table}"')[2].partition("</tbody>")[0].partition("<tbody>")[2], re.DOTALL)


def linked(contract: str, operands: dict[str, str], place: str = "codes[0]", source: str = "fp32") -> str | None:
    return explorer_link(contract, row_of(parse(contract), source, operands, place), RECIPES, source)


def test_every_kernel_has_its_row_with_the_counts_of_the_record() -> None:
    record: Data = KIND.read(ROOT / RECORD)
    found = rows(conformance(record, COMPARED, RECIPES), "libraries-table")
    assert len(found) == len(record["rows"]) > 100
    for row, text in zip(record["rows"], found, strict=True):
        differing, compared = (sum(suite[key] for suite in row["suites"].values()) for key in ("differing", "compared"))
        assert f"<code>{row['kernel']}</code>" in text and f"<code>{row['contract']}</code>" in text
        assert f"{differing:,} of {compared:,}" in text
        assert ("differs" in text) == bool(differing)
        assert text.count(" must be ") == len(row["failures"])


def test_every_instruction_and_open_question_has_its_row() -> None:
    told = rows(conformance(KIND.read(ROOT / RECORD), COMPARED, None), "machines-table")
    assert len(told) == len(names("instruction"))
    for name, text in zip(names("instruction"), told, strict=True):
        assert f">{name}</a>" in text and f"<td>{get('instruction', name).status}</td>" in text
    asked = sum(len(get(kind, name).open) for kind in KINDS for name in names(kind))
    assert len(rows(open_questions(), "open-table")) == asked > 100


def test_every_pair_of_datapaths_has_its_row_with_its_sources_and_its_smallest_row() -> None:
    page = conformance(KIND.read(ROOT / RECORD), COMPARED, RECIPES)
    found = rows(page, "datapaths-table")
    assert len(found) == len(COMPARED["pairs"]) > 100
    for pair, text in zip(COMPARED["pairs"], found, strict=True):
        for name in (pair["first"], pair["second"]):
            model = get("datapath", name.partition("/")[0])
            assert f">{name}</a><br><small>{model.status}: {model.sources[0].ref}" in text
        assert f"<td>{pair['verdict']}<br>" in text
        assert (f"{pair['differ']:,} of {pair['rows']:,}" in text) == (pair["verdict"] != machines.EQUAL)
        assert all(f"<code>{code}</code>" in text for code, _ in pair.get("results", []))
        assert ("explorer_page.html#dot?m1=" in text) == (pair["verdict"] == machines.DIFFERS)


def test_every_machine_stands_in_a_pair_or_among_those_that_are_not_compared() -> None:
    page = conformance(KIND.read(ROOT / RECORD), COMPARED, None)
    alone = rows(page, "alone-table")
    there = "".join(rows(page, "datapaths-table") + alone)
    wanted = [name for name in names("datapath") if machines.is_machine(get("datapath", name))]
    assert len(wanted) == 23 and all(f"reference/datapath/{name}.html" in there for name in wanted)
    unknown = {name for name in wanted if get("datapath", name).status == "unknown"}
    assert unknown == {name for name in wanted if any(f"/{name}.html" in row and "<td>unknown<" in row for row in alone)}
    assert any("/cdna3_fp8.html" in row and "e4m3fnuzxe5m2fnuz" in row for row in alone)


def test_a_page_without_explorer_links_to_none() -> None:
    page = conformance(KIND.read(ROOT / RECORD), COMPARED, None)
    assert "explorer_page" not in page
    assert "explorer_page.html#number?" in conformance(KIND.read(ROOT / RECORD), COMPARED, RECIPES)


def test_the_link_of_a_conversion_holds_its_facts() -> None:
    found = linked("convert/e2m1/rne/gfloat_sat", {"codes": "7F800000"})
    assert found is not None
    name, _, state = found.partition("#number?")
    assert name == "explorer_page.html"
    assert {key: value for key, (value,) in parse_qs(state).items()} == {
        "from": "fp32",
        "code": "0x7F800000",
        "to": "e2m1",
        "round": "rne",
        "policy": "gfloat_sat",
        "r": "0",
        "spec": "".join(digest(get(*thing))[:8] for thing in NAMED),
    }


def test_the_link_of_a_block_holds_all_its_values() -> None:
    found = linked("quantize/mxfp4_torchao_even", {"x": "00000000 x3 7F600000 00000000 x28"}, "codes[0, 3]")
    assert found is not None
    state = parse_qs(found.partition("#block?")[2], keep_blank_values=True)
    assert state["x"][0].split() == ["0x00000000"] * 3 + ["0x7F600000"] + ["0x00000000"] * 28
    assert state["a"] == state["b"] == ["mxfp4_torchao_even"] and state["amax"] == [""]


def test_the_link_of_a_block_can_show_another_recipe_beside() -> None:
    recipes, operands = RECIPES | {"mxfp4_te_pow2"}, {"x": "3F800000 x32"}
    row = row_of(parse("quantize/mxfp4_torchao_even"), "fp32", operands, "scale[0, 0]")
    found = explorer_link("quantize/mxfp4_torchao_even", row, recipes, beside="mxfp4_te_pow2")
    assert found is not None
    state = parse_qs(found.partition("#block?")[2])
    assert (state["a"], state["b"]) == (["mxfp4_torchao_even"], ["mxfp4_te_pow2"])
    assert state["spec"] == ["".join(digest(get("recipe", name))[:8] for name in ("mxfp4_torchao_even", "mxfp4_te_pow2"))]
    other = explorer_link("quantize/mxfp4_torchao_even", row, RECIPES, beside="mxfp4_te_pow2")  # not offered here
    assert other == linked("quantize/mxfp4_torchao_even", operands, "scale[0, 0]")


def test_a_row_of_bf16_codes_opens_as_one() -> None:
    found = linked("convert/e8m0/rna/nvidia", {"codes": "7F40"}, source="bf16")
    assert found is not None and found.startswith("explorer_page.html#number?from=bf16&code=0x7F40&to=e8m0&")


def test_codes_and_blocks_that_are_read_open_too() -> None:
    made = linked("decode/ue4m3", {"codes": "7F"}, "values[0]")
    assert made is not None and made.startswith("explorer_page.html#number?from=ue4m3&code=0x7F&")
    made = linked("dequantize/mxfp4_torchao_even/torchao", {"codes": "0 x26 8 0 x5", "scale": "1B"}, "values[0, 26]")
    assert made is not None and "#dequantize?recipe=mxfp4_torchao_even&" in made and "&element=26&" in made


def test_rows_that_the_explorer_cannot_show_have_no_link() -> None:
    assert linked("quantize/nvfp4_te_ref", {"x": "00000000 x16", "tensor_amax": "00000000"}, "codes[0, 1]") is None  # not offered here
    assert "&own=emu+descriptor+1" in linked("decode/binary8p3se", {"codes": "1"})  # a member of a series
    assert linked("quantize/mxfp4_torchao_even", {"x": "00000000 x20 ..."}, "codes[0, 1]") is None


def test_every_cell_says_which_contract_is_compared_and_which_others_are_known() -> None:
    record: Data = KIND.read(ROOT / RECORD)
    found = rows(conformance(record, COMPARED, RECIPES), "libraries-table")
    for row, text in zip(record["rows"], found, strict=True):
        assert ("the only contract compared" in text) == (row["identified"] is None)
        assert ("among all: " in text) == (row["identified"] is not None)
    here = next(text for row, text in zip(record["rows"], found, strict=True) if row["kernel"] == "torch.e8m0_from_bf16")
    assert here.count("#number?from=bf16") == 3 and "as <code>convert/e8m0/" in here


def test_both_pages_of_the_record_say_the_same_of_a_kernel() -> None:
    record: Data = KIND.read(ROOT / RECORD)
    page = (ROOT / "docs/foreign_kernels.md").read_text(encoding="utf-8")
    site = rows(conformance(record, COMPARED, None), "libraries-table")
    for row, text in zip(told(record), site, strict=True):
        line = next(line for line in page.splitlines() if line.startswith(f"| `{row['kernel']}` |"))
        for count in (row["differing"], row["compared"]):
            assert not count or (f"{count:,}" in line and f"{count:,}" in text)
        assert row["identified"] in html.unescape(text) and row["package"] in text
