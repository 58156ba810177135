"""Block: rows of the golden vectors, pasted and copied; values of other sources, and rows that end within a block."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.explorer import answers, link, planted, texts

from emu.base import philox
from emu.contracts import parse
from emu.contracts.columns import KIND_BITS, Layout, layout_from
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.rows import Input, Row, make_row, pack, unpack, value_of
from emu.engines.exact import block
from emu.spec import get
from emu.spec.contract import ContractName
from emu.spec.programs.program import quantize_program
from emu.vectors.files.writers import row_lines

VECTORS = Path(__file__).parents[2] / "vectors" / "quantize"
NO_SUCH = "this room has no such recipe"
OPEN = "The pasted row leaves all of its results open."


class Line(NamedTuple):
    """A row of a suite: its file, its words with spaces between them, its values, and the layout."""

    file: str
    text: str
    row: Row
    layout: Layout

    @property
    def recipe(self) -> str:
        return self.file.split("__")[2]

    @property
    def valid(self) -> int:
        """How many of the lanes of x are values."""
        named = {column.name for column in self.layout.inputs}
        return self.value("n_valid") if "n_valid" in named else self.layout.columns[self.layout.index("x")].lanes

    def value(self, name: str) -> int:
        return value_of(self.layout, self.row, name)

    def masked(self) -> list[tuple[str, int]]:
        """The lanes that the row compares."""
        out = []
        for column in self.layout.results:
            masks = unpack(self.value(f"m_{column.name}"), column)
            out += [(column.name, lane) for lane, mask in enumerate(masks) if mask]
        return out

    def meant(self) -> list[int]:
        """The values without what means nothing: lanes of inputs behind the last value, results under a mask of 0, payloads of any NaN."""
        values = dict(zip((column.name for column in self.layout.columns), self.row.values, strict=True))
        for column in self.layout.inputs:
            if column.lanes > 1:  # of x and of random integers
                values[column.name] &= (1 << column.lane_bits * self.valid) - 1
        for column in self.layout.results:
            values[column.name] &= values[f"m_{column.name}"]
            for lane in range(column.lanes if column.any_nan else 0):
                if values[f"k_{column.name}"] >> KIND_BITS * lane & 1:
                    values[column.name] &= ~(((1 << column.lane_bits) - 1) << column.lane_bits * lane)
        return list(values.values())


def line_of(file: str, text: str, layout: Layout) -> Line:
    words = re.split("[ _]", text.partition("//")[0].strip())[1:]
    return Line(file, text, Row("", (), tuple(int(word, 16) for word in words)), layout)


def lines_of(ending: str = ".tv", suites: str = "quantize__*") -> list[list[Line]]:
    """The rows of each suite."""
    out = []
    for file in sorted(VECTORS.glob(f"{suites}.json")):
        layout = layout_from(json.loads(file.read_text(encoding="ascii"))["columns"])
        rows = file.with_suffix(ending)
        out.append([line_of(rows.name, text, layout) for text in rows.read_text(encoding="ascii").splitlines() if text.startswith("a")])
    return out


def chosen(most: int) -> list[Line]:
    """Of each suite the first rows, the last one, and the first with a tail, with nothing to compare, and with a result that is any NaN."""
    out = []
    for lines in lines_of():
        kinds = [column.name for column in lines[0].layout.columns if column.role == "kind"]
        tails = [line for line in lines if line.valid < line.layout.columns[line.layout.index("x")].lanes]
        opens = [line for line in lines if not line.masked()]
        nans = [line for line in lines if any(line.value(name) for name in kinds)]
        out += dict.fromkeys([*lines[:most], lines[-1], *tails[:1], *opens[:1], *nans[:1]])
    return out


def wrong(page: str, folder: Path, lines: list[Line]) -> list[tuple]:
    """Rows of which the page says anything else than that they are right, that it reads as another recipe's, or copies as other rows."""
    text, out = [f"vectors/quantize/{line.file}:7:{line.text}" for line in lines], []
    for line, said in zip(lines, pasted(page, folder, text), strict=True):
        count = len(line.masked())
        wanted = f"All {count} results that the pasted row compares are those of {line.recipe}." if count else OPEN
        copied = line_of(line.file, said.get("copy", "a 0").strip(), line.layout)
        if (said.get("a"), said.get("said")) != (line.recipe, wanted) or copied.meant() != line.meant():
            out.append((line.file, line.text, said, wanted))
    return out


def pasted(page: str, folder: Path, text: list[str]) -> list[dict]:
    said = answers(page, f"return {json.dumps(text)}.map(explorer.paste);", folder)
    assert isinstance(said, list), said
    return said


def test_pasted_rows_are_right_and_copied_as_they_stand(page, tmp_path):
    lines = chosen(2)
    assert wrong(page, tmp_path, lines) == []
    assert len({line.recipe for line in lines}) > 50 and {line.file.split("__")[1].split("_to_")[0] for line in lines} == {"bf16", "fp32"}
    assert {line.valid for line in lines} > {1, 16, 32} and "ufp4_sr" in {line.recipe for line in lines}
    assert any(not line.masked() for line in lines)


def test_the_wrong_bit_of_a_self_test_is_found(page, tmp_path):
    suites = zip(lines_of(".mem"), lines_of(".neg.mem"), strict=True)
    pairs = [pair for right, other in suites for pair in zip(right, other, strict=False)]
    pairs = [(one, two) for one, two in pairs if one.row != two.row]
    assert len(pairs) > 80
    for (one, two), said in zip(pairs, pasted(page, tmp_path, [f"{two.file}:{two.text}" for _, two in pairs]), strict=True):
        column = one.layout.results[0]
        wants, gets = (unpack(line.value(column.name), column) for line in (two, one))
        (lane,) = [i for i in range(column.lanes) if wants[i] != gets[i]]
        digits = -(-column.lane_bits // 4)
        assert said["said"] == (
            f"1 of the {len(one.masked())} results that the pasted row compares is not that of {one.recipe}; the first is {column.name}, "
            f"element {lane}: the row has 0x{wants[lane]:0{digits}X}, here it is 0x{gets[lane]:0{digits}X}."
        )
        assert line_of(one.file, said["copy"].strip(), one.layout).meant() == one.meant()


FIELDS = {"bf16": 7, "fp16": 10, "fp32": 23}  # bits of a fraction
SPECIALS = {
    "bf16": (0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0x0001),
    "fp16": (0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0x0001),
    "fp32": (0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00000001),
}
MAXIMA = (0x41000000, 0x7F800000, 0x7FC00000, 0x00000001)


def values(draw: np.random.Generator, source: str, count: int) -> list[int]:
    """Codes of a source, from an eighth to 8 in size."""
    width, fraction = (32 if source == "fp32" else 16), FIELDS[source]
    one = (1 << width - 2 - fraction) - 1
    signs, exponents = draw.integers(0, 2, count), draw.integers(one - 3, one + 3, count)
    return [int(code) for code in signs << width - 1 | exponents << fraction | draw.integers(0, 1 << fraction, count)]


def drawn(recipes: list[str]) -> list[Line]:
    """Rows of every recipe and source, answered by the reference model: ordinary values, and most with a special one among them."""
    draw, out = np.random.Generator(np.random.Philox(25)), []
    for i, recipe in enumerate(recipes):
        for j, source in enumerate(FIELDS):
            contract = QuantizeContract.of(ContractName("quantize", (recipe,)), source)
            codes = values(draw, source, contract.rows * contract.columns)
            if (i + j) % 3:
                codes[int(draw.integers(0, len(codes)))] = SPECIALS[source][(i + j) % 5]
            given = {"x": pack(codes, contract.layout.inputs[0].lane_bits), "ts": MAXIMA[(i + j) % 4]}
            given["n_valid"] = 1 + (i + 5 * j) % len(codes)
            given["r"] = int.from_bytes(draw.bytes(512))
            taken = [(column.name, column.lanes, column.lane_bits) for column in contract.layout.inputs]
            case = Input("", (), tuple(given[name] % (1 << lanes * bits) for name, lanes, bits in taken))
            row = make_row(contract.layout, case, contract.exact(case.values))
            out.append(Line(f"quantize__{source}_to_it__{recipe}__drawn.tv", row_lines(contract.layout, [row])[0], row, contract.layout))
    return out


def offered(page: str, folder: Path) -> list[str]:
    found = answers(page, "return [...document.querySelector('[name=a]').options].map(option => option.value);", folder, "block")
    assert isinstance(found, list) and len(found) > 60
    return found


def test_rows_of_every_recipe_and_source_are_those_of_the_reference_model(page, tmp_path):
    large = [name for name in offered(page, tmp_path) if parse(f"quantize/{name}").is_large]
    lines = drawn([name for name in offered(page, tmp_path) if name not in large])
    assert wrong(page, tmp_path, lines) == []
    assert sum(not line.masked() for line in lines) < len(lines) / 2
    places = [f"quantize__fp32_to_it__{name}__all.tv:a 0 0" for name in large]  # rows that no suite has
    said = [here["refused"] for here in pasted(page, tmp_path, places)]
    why = "a row of {} would be a tile of 128 x 128 values, and rows have at most 1024"
    assert said == [why.format(name) for name in large] and len(large) == 4


def test_any_nan_is_right_where_the_row_says_so_and_nothing_else(page, tmp_path):
    lines = [line for line in chosen(0) if any(line.value(f"k_{column.name}") for column in line.layout.results if column.any_nan)]
    assert len(lines) > 10
    others, finite = [], []
    for line in lines:
        column = next(item for item in line.layout.results if item.any_nan and line.value(f"k_{item.name}"))
        words = line.text.split()
        words[1 + line.layout.index(column.name)] = "ffffff01" * column.lanes  # NaN, but not the one that the row has
        others.append(f"{line.file}:{' '.join(words)}")
        words[1 + line.layout.index(f"k_{column.name}")] = "0" * column.lanes
        finite.append(f"{line.file}:{' '.join(words)}")
    assert all(said["said"].startswith("All ") for said in pasted(page, tmp_path, others))
    assert not any(said["said"].startswith("All ") for said in pasted(page, tmp_path, finite))


def test_several_blocks_of_which_the_last_is_not_full(page, tmp_path):
    draw = np.random.Generator(np.random.Philox(24))
    recipes = [recipe for recipe in offered(page, tmp_path) if get("recipe", recipe).facts.tail != "error"]
    asked = [(recipe, source, values(draw, source, 37)) for recipe, source in zip(recipes, 40 * ("bf16", "fp16"), strict=False)]
    links = [link("block", **{"from": source}, a=recipe, b=recipe, x=" ".join(map(hex, codes))) for recipe, source, codes in asked]
    for (recipe, source, codes), said in zip(asked, texts(page, links, tmp_path), strict=True):
        assert "refused" not in said, (recipe, source, said)
        drawing = quantize_program(get("recipe", recipe)).drawing
        words = None if drawing is None else [philox.draw(1, 37, drawing.random_bits).tolist()]
        wanted = block.quantize(get("recipe", recipe), [codes], get("format", source), random=words, masked=True)
        told, shown = (
            [-1 if item["code"] == "open" else int(item["code"], 16) for item in said["a"][name]["items"]] for name in ("filled", "codes")
        )
        assert told[: len(wanted.codes[0])] == list(wanted.codes[0]) and shown == told[:37] and len(told) > 37, (recipe, source)
    assert len(asked) > 5


ROW = lines_of(suites="quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke")[0][0]
USE = """
const at = selector => document.querySelector(selector), said = () => at("#row") ? at("#row").textContent : null, out = {};
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const fields = () => ["a", "b", "from", "amax", "x"].map(name => at(`[name=${name}]`).value), fault = () => at("#fault").textContent;
out.start = [said(), fault()];
change("[name=x]", PASTED); out.read = [fields(), said(), fault(), document.activeElement.name];
at("#copy-row").click(); out.copied = explorer.copied();
out.again = explorer.text(location.hash).row;
change("[name=b]", "nvfp4_te_cuda"); out.other = said();
change("[name=from]", "fp32"); out.widened = [fields(), said()];
change("[name=x]", PASTED); change("[name=amax]", "7"); out.changed = [said(), fault()];
change("[name=x]", PASTED); change("[name=a]", "mxfp4_torchao_even"); out.unfit = [said(), fault()];
change("[name=a]", "nvfp4_te_ref"); change("[name=x]", PASTED.replace(/^[^ ]*:/, "")); out.bare = [fields(), said()];
const before = location.hash;
out.refused = REFUSED.map(text => { change("[name=x]", text); return [fault(), location.hash === before]; });
change("[name=x]", "1 2"); at("#copy-row").click(); out.short = fault();
return out;
"""
NAMED = "name the file before the row, as grep -H does, or choose recipe A"
REFUSED = {
    f"{ROW.file}:{ROW.text}\n{ROW.file}:{ROW.text}": "2 lines: paste one row",
    f"{ROW.file}:{ROW.text} 0": "a row of 11 columns: one of nvfp4_te_ref from bf16 has 10",
    f"{ROW.file}:{ROW.text}0": f"a row of 10 columns: one of nvfp4_te_ref from bf16 has 10, and 1 hex digit in k_amax: {NAMED}",
    f"{ROW.file}:{ROW.text[:2]}{ROW.text[3:]}": f"and 64 hex digits in x: {NAMED}",
    f"quantize__bf16_to_mxfp4__no_recipe__smoke.tv:{ROW.text}": f"a row of no_recipe: {NO_SUCH}",
    f"quantize__fp64_to_nvfp4__nvfp4_te_ref__smoke.tv:{ROW.text}": "a row from fp64: this room has values in bf16, fp16, fp32",
    f"vectors/dot/dot__a__b__smoke.tv:{ROW.text}": "a row of vectors/dot/dot__a__b__smoke.tv: Block reads rows of the suites quantize__...",
    f"{ROW.file}:e{ROW.text[1:]}": "the last line of a file, which counts its rows: paste one of those, which begin with a",
}


def test_a_row_is_pasted_and_copied_by_hand(page, tmp_path):
    text = f"vectors/{ROW.file}:3:{ROW.text}"
    script = USE.replace("PASTED", json.dumps(text)).replace("REFUSED", json.dumps(list(REFUSED)))
    said = answers(page, script, tmp_path, "block")
    assert "thrown" not in said, said
    x = [f"0x{code:04X}" for code in unpack(ROW.value("x"), ROW.layout.columns[ROW.layout.index("x")])]
    right = f"All {len(ROW.masked())} results that the pasted row compares are those of nvfp4_te_ref."
    assert said["start"] == [None, ""]
    assert said["read"] == [["nvfp4_te_ref", "nvfp4_te_ref", "bf16", f"0x{ROW.value('ts'):08X}", " ".join(x)], right, "", "x"]
    assert said["copied"] == ROW.text + "\n" and said["again"] == said["other"] == said["bare"][1] == right
    assert said["widened"][0][2] == "fp32" and said["widened"][0][4] == " ".join(f"{code}0000" for code in x) and said["widened"][1] is None
    assert said["changed"] == [None, ""] and said["unfit"][0] is None and "give a multiple of 32" in said["unfit"][1]
    assert said["bare"][0][2] == "bf16"
    for (text, wanted), (fault, stays) in zip(REFUSED.items(), said["refused"], strict=True):
        assert wanted in fault and "\n" not in fault and stays, (text, fault)
    assert said["short"] != ""


def test_a_row_in_a_link_that_is_not_the_rooms_is_refused(page, tmp_path):
    x = " ".join(hex(code) for code in unpack(ROW.value("x"), ROW.layout.columns[ROW.layout.index("x")]))
    state = {"a": "nvfp4_te_ref", "b": "nvfp4_te_ref", "from": "bf16", "x": x, "amax": f"0x{ROW.value('ts'):08X}", "row": ROW.text}
    wrong_ = {
        "row: write a row of a .tv file": {"row": "a zz"},
        "a row of 1 columns": {"row": "a 12"},
        "row: it has other values, other random words": {"x": x.replace(x.split()[0], "0x1")},
        "other random words or another tensor maximum": {"amax": "0x3F800000"},
        "or another tensor maximum than": {"x": f"{x} {x}"},
    }
    said = texts(page, [link("block", **state), *(link("block", **(state | change)) for change in wrong_.values())], tmp_path)
    assert said[0]["row"].startswith("All ")
    assert all(wanted in item["refused"] for wanted, item in zip(wrong_, said[1:], strict=True)), said[1:]


FAULTS = {
    "lanes turned round": ("BigInt(`0x${word}`) >> BigInt(bits * i))", "BigInt(`0x${word}`) >> BigInt(bits * (lanes - 1 - i)))"),
    "word turned round": ("lanes.reduceRight((word, lane)", "lanes.reduce((word, lane)"),
    "junk lanes read": ("cells.x.filter((_, i) => i % wide < valid)", "cells.x"),
    "another place of a value": (
        "Math.trunc(i / columns) * wide + i % columns",
        "Math.trunc(i / columns) * wide + columns - 1 - i % columns",
    ),
    "random words not read": ("cells.r ? wordsText(", "cells.q ? wordsText("),
    "random words not copied": ("return wordOf(lanesOf(drawn.words, column), column);", "return wordOf(lanesOf([], column), column);"),
    "n_valid copied as the block": ("return each(() => BigInt(codes.length / rows));", "return each(() => BigInt(column.lanes));"),
    "maximum not read": ('amax: cells.ts ? hex(cells.ts[0], 32) : ""', 'amax: ""'),
    "maximum not copied": ('if (column.name === "ts") return each(() => maximum);', 'if (column.name === "ts") return each(() => 0n);'),
    "masks not looked at": ("if (!masks[i]) return;", ""),
    "values compared, not NaN": ("(kinds && kinds[i] ? !got.nan :", "(false ? !got.nan :"),
    "nothing compared": ("(got.code ^ want) & masks[i]", "(got.code ^ got.code) & masks[i]"),
    "dropped lanes told": ("i % trace.width < trace.columns || trace.tail !== TAIL.drop ? told(item)", "true ? told(item)"),
    "kept lanes left out": ("trace.tail !== TAIL.drop ? told(item)", "false ? told(item)"),
    "levels turned round": ("found[name] = trace.levels[i]", "found[name] = trace.levels[recipe.levels.length - 1 - i]"),
    "a source as binary32": ('from = formats.split("_to_")[0];', 'from = "fp32";'),
    "open said as known": ('item.code === "open" ? {code: 0n, known: false', 'item.code === "open" ? {code: 0n, known: true'),
    "kind not copied": ("BigInt(laneAt(lanes, i, column.lanes).nan)", "0n"),
}


BEHIND = {  # faults that no right row shows, with the test that does
    "nothing compared": test_the_wrong_bit_of_a_self_test_is_found,
    "values compared, not NaN": test_any_nan_is_right_where_the_row_says_so_and_nothing_else,
}


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_rows_is_noticed(page, tmp_path, fault):
    faulty = planted(page, *FAULTS[fault])
    if fault in BEHIND:
        with pytest.raises(AssertionError):
            BEHIND[fault](faulty, tmp_path)
    else:
        assert wrong(faulty, tmp_path, chosen(1))
