"""The explorer: what the page says of a link is what the reference model says; its faults are noticed; nothing leaves it."""

import json
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, digits, link, planted, texts

from emu.base.errors import EmuError, OpenError, OperandError
from emu.cli.convert import parse_value
from emu.cli.main import run
from emu.engines.exact import block, convert, layout
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value, finite
from emu.explain.link import link as page_link
from emu.spec import get, names
from emu.spec.derive import REFUSE, policy_entry
from emu.spec.programs.program import quantize_program

SPECIALS = {
    "fp32": (
        0x0,
        0x80000000,
        0x1,
        0x80000001,
        0x7FFFFF,
        0x7F7FFFFF,
        0xFF7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xFFC00001,
        0x40200000,
        0x40C00000,
        0x40E00000,
    ),
    "bf16": (0x0, 0x8000, 0x1, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x4020, 0x40C0, 0x40E0),
    "fp16": (0x0, 0x8000, 0x1, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x4100, 0x4600, 0x4700),
}


def number_rows(count: int) -> list[dict]:
    """Rows over every pair of destination and policy, each rounding and special in turn; values near the destinations' own.

    First NaN and infinity for each pair where a library refuses NaN.
    """
    draw = np.random.Generator(np.random.Philox(21))
    pairs = [(to, policy) for to in names("format") for policy in names("policy") if covers(policy, to)]
    refusing = [(to, policy) for to, policy in pairs if REFUSE in policy_entry(get("policy", policy), get("format", to)).nan]
    roundings, out = names("rounding"), []
    for (to, policy), code in product(refusing, ("0x7fc00000", "0x7f800000")):
        out.append({"from": "fp32", "code": code, "to": to, "round": "rne", "policy": policy, "r": 0})
    for i in range(count - len(out)):
        (to, policy), source = pairs[i % len(pairs)], ("fp32", "bf16", "fp16")[i % 3]
        width = {"fp32": 32, "bf16": 16, "fp16": 16}[source]
        code = int(draw.integers(0, 1 << width))
        if i % 4:  # an exponent from 2^-9 to 2^9 and few bits: ties, neighbours and overflows
            exp, frac = {"fp32": (8, 23), "bf16": (8, 7), "fp16": (5, 10)}[source]
            field = int(draw.integers(-9, 10)) + (1 << exp - 1) - 1
            code = int(draw.integers(0, 2)) << width - 1 | field << frac | int(draw.integers(0, 16)) << frac - 4
        if i % 7 == 0:
            code = SPECIALS[source][int(draw.integers(0, len(SPECIALS[source])))]
        out.append(
            {
                "from": source,
                "code": hex(code),
                "to": to,
                "round": roundings[int(draw.integers(0, len(roundings)))],
                "policy": policy,
                "r": int(draw.integers(0, 256)),
            }
        )
    return out


def covers(policy: str, to: str) -> bool:
    try:
        policy_entry(get("policy", policy), get("format", to))
    except EmuError:
        return False
    return True


def said_of(value: Value) -> str:
    if value.kind != "finite":
        return "NaN" if value.kind == "nan" else "-infinity" if value.sign else "infinity"
    return "-0" if value.is_zero and value.sign else digits(value.signed)


def expected(row: dict) -> dict | None:
    """What the page must say of a row by the reference model; None: both refuse the pair of rounding and destination."""
    source, to, rounding = get("format", row["from"]), get("format", row["to"]), get("rounding", row["round"])
    code, bits = int(row["code"], 16), rounding.random_bits
    value = decode_code(code, source)
    try:
        made = convert.convert_code(code, source, to, rounding, get("policy", row["policy"]), row["r"] % (1 << bits) if bits else None)
    except OpenError:
        return {"source": said_of(value), "result": "open"}
    except OperandError as error:
        return {"source": said_of(value), "result": "refused"} if "refuses" in str(error) else None
    except EmuError:
        return None
    try:
        result = decode_code(made, to)
    except OpenError:
        return {"source": said_of(value), "result": "open"}
    both = value.kind == result.kind == "finite"
    return {
        "source": said_of(value),
        "result": made,
        "value": said_of(result),
        "error": digits(result.signed - value.signed) if both else "",
    }


def wrong(rows: list[dict], found: list[dict]) -> list[tuple]:
    """Rows on which the page and the reference model differ."""
    out = []
    for row, said in zip(rows, found, strict=True):
        wanted = expected(row)
        if wanted is None:
            if "refused" not in said:
                out.append((row, said))
            continue
        told = {key: said.get(key) for key in wanted}
        if str(told["result"]).startswith("0x"):
            told["result"] = int(told["result"], 16)
        sentence = said.get("sentence", "")
        if (
            told != wanted
            or f"is {wanted['source']}" not in sentence
            or (wanted.get("value") and f"which is {wanted['value']}" not in sentence)
        ):
            out.append((row, said, wanted))
    return out


def test_numbers_are_those_of_the_reference_model(page, tmp_path):
    rows = number_rows(2000)
    found = texts(page, [link("number", **row) for row in rows], tmp_path)
    assert not wrong(rows, found)
    assert sum("sentence" in said for said in found) > 1800  # the others are pairs that are refused
    assert {"open", "refused"} <= {said.get("result") for said in found}


def test_the_number_line_says_where_the_reference_model_goes(page, tmp_path):
    rows = [
        {
            "from": "fp32",
            "code": hex(code),
            "to": to,
            "round": rounding,
            "policy": next(name for name in names("policy") if covers(name, to)),
        }
        for to in names("format")
        if to not in ("bf16", "fp16", "fp32", "fp64") and any(covers(name, to) for name in names("policy"))
        for rounding in names("rounding")
        for code in (0xBF800000, 0x00000000, 0x40200000)
    ]
    compared = 0
    for row, said in zip(rows, texts(page, [link("number", **row) for row in rows], tmp_path), strict=True):
        if "refused" in said:
            assert expected({**row, "r": 0}) is None, (row, said)
            continue
        fmt, rounding = get("format", row["to"]), get("rounding", row["round"])
        entry = policy_entry(get("policy", row["policy"]), fmt)
        assert said["line"], row
        for part in said["line"]:
            below, above = (decode_code(int(part[end], 16), fmt).signed for end in ("below", "above"))
            assert (part["goes"] is None) == bool(rounding.random_bits) and below < above
            for quarters, up in zip((1, 2, 3), part["goes"] or (), strict=False):
                code = convert.convert_value(finite(below + (above - below) * quarters / 4), fmt, rounding, entry)
                assert decode_code(code, fmt).signed == (above if up else below), (row, part)
                compared += 1
    assert compared > 5000


def test_typed_numbers_are_rounded_once(page, tmp_path):
    words = [
        "0.1",
        "-3e-5",
        "1e39",
        "-1e39",
        "1.00000005960464477539062500000000000000000001",
        "1.000000059604644775390625",
        "1e-45",
        "7e-46",
        "1e-60",
        "3.4028235677973366e38",
        "3.4028235677973365e38",
        "16777217",
        "16777219",
        "inf",
        "-inf",
        "nan",
        "-nan",
        "-0",
        "0",
        "123456789012345678901234567890",
        ".5",
        "5.",
        "2.3509887e-38",
        "1.17549429e-38",
    ]
    words += ["0"] * (-len(words) % 32)
    (said,) = texts(page, [link("block", x=f"tensor([{', '.join(words)}])")], tmp_path)
    assert [int(code, 16) for code in said["codes"]] == [parse_value(text, get("format", "fp32")) for text in words]


def test_the_sign_of_a_typed_nan_stays(page, tmp_path):
    """In formats with NaN of both signs and of one, and where another format is chosen for the values."""
    sources = ["fp32", "bf16", "fp16"]
    pasted = texts(page, [link("block", **{"from": source}, x=" ".join(["nan", "-nan", "+nan", "1"] * 8)) for source in sources], tmp_path)
    for source, said in zip(sources, pasted, strict=True):
        wanted = [parse_value(text, get("format", source)) for text in ("nan", "-nan", "+nan", "1")] * 8
        assert [int(code, 16) for code in said["codes"]] == wanted
    (refused,) = texts(page, [link("block", x="1,5 2,5")], tmp_path)
    assert "write decimal points" in str(refused)


def one_row(recipe: str) -> bool:
    return get("block", get("recipe", recipe).facts.block).facts.shape[0] == 1


def block_links() -> list[tuple[str, list[int]]]:
    draw, out = np.random.Generator(np.random.Philox(22)), []
    for recipe in names("recipe"):
        for spread in (2, 30):
            scale = np.exp2(draw.integers(-spread, spread + 1, 64).astype(np.float64))
            values = (draw.standard_normal(64) * scale).astype(np.float32).view(np.uint32)
            out.append((recipe, [int(code) for code in values]))
    return out


def test_blocks_are_those_of_the_reference_model(page, tmp_path):
    offered = set(answers(page, "return [...document.querySelector('[name=a]').options].map(option => option.value);", tmp_path, "block"))
    assert offered == set(names("recipe"))
    drawing = {name for name in offered if quantize_program(get("recipe", name)).drawing}
    rows = [row for row in block_links() if row[0] not in drawing and one_row(row[0])]  # the others: test_explore_rows.py
    found = texts(page, [link("block", a=name, b=name, x=" ".join(map(hex, codes))) for name, codes in rows], tmp_path)
    for (name, codes), said in zip(rows, found, strict=True):
        recipe = get("recipe", name)
        wanted = block.quantize(recipe, [codes], get("format", "fp32"), masked=True)
        assert "refused" not in said, (name, said)
        told = [
            [-1 if item["code"] == "open" else int(item["code"], 16) for item in level["items"]]
            for level in (said["a"]["codes"], *said["a"]["levels"])
        ]
        for here, there in zip(told, (wanted.codes, *wanted.levels.values()), strict=True):
            flat = [code for row in there for code in row]
            assert flat == [here[i * len(here) // len(flat)] for i in range(len(flat))] and len(flat) % len(here) == 0, name
        program = quantize_program(recipe)
        assert [step["name"] for step in said["a"]["steps"]] == [item.out for item in program.instructions][: len(said["a"]["steps"])]
        assert said["parts"] is None and not any(said["differ"])


def test_the_first_page_shows_two_libraries_that_part(page, tmp_path):
    (said,) = texts(page, [""], tmp_path)
    assert said["a"]["id"] == "mxfp4_torchao_floor" and said["b"]["id"] == "mxfp4_triton_up"
    assert said["parts"]["name"] == "scale" and said["parts"]["number"] == 2
    both = [
        block.quantize(get("recipe", said[side]["id"]), [[int(code, 16) for code in said["codes"]]], get("format", "fp32")) for side in "ab"
    ]
    assert [a != b for a, b in zip(both[0].codes[0], both[1].codes[0], strict=True)] == said["differ"] and sum(said["differ"]) == 6
    assert (
        "Of 32 values 6 get other codes" in said["sentence"]
        and "0x7F, 1;" in said["sentence"]
        and "0x80, 2 in its step 4" in said["sentence"]
    )


def test_layouts_are_those_of_the_reference_model(page, tmp_path):
    rows = [(name, r, i) for name in names("layout") for r, i in ((0, 0), (1, 3), (33, 5), (127, 15), (64, 8))]
    found = texts(page, [link("layout", layout=name, rows=128, codes=16, row=r, index=i) for name, r, i in rows], tmp_path)
    compared = 0
    for (name, r, i), said in zip(rows, found, strict=True):
        if "refused" in said:
            assert name == "deep_gemm_ue8m0", (name, said)
            continue
        model = get("layout", name)
        assert (said["at"], said["size"]) == (layout.place(r, i, 128, 16, model), layout.size(128, 16, model)), name
        assert f"holds row {r}, index {i}." in said["sentence"]
        compared += 1
    assert compared > 50


FORMATS = ("e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "e5m2", "bf16", "int4")


def other_formats(page: str, folder: Path) -> tuple[list[dict], list[tuple]]:
    """Rows with a chosen set of formats, and those of their results that the reference model has not."""
    rows = [{**row, "formats": " ".join(FORMATS)} for row in number_rows(300)]
    found, out = texts(page, [link("number", **row) for row in rows], folder), []
    for row, said in zip(rows, found, strict=True):
        if "refused" in said:
            continue
        assert [item["to"] for item in said["formats"]] == list(FORMATS)
        for item in said["formats"]:
            assert covers(item["policy"], item["to"]) and (item["policy"] == row["policy"] or not covers(row["policy"], item["to"]))
            wanted = expected({**row, "to": item["to"], "policy": item["policy"]})
            told = {"result": int(item["code"], 16) if item["code"].startswith("0x") else item["code"], "value": item["value"]}
            told["error"] = item["error"]
            if wanted is not None and told != {"value": "", "error": "", **{key: wanted[key] for key in wanted if key != "source"}}:
                out.append((row, item, wanted))
    return found, out


def test_the_value_in_other_formats_is_that_of_the_reference_model(page, tmp_path):
    found, out = other_formats(page, tmp_path)
    assert out == [] and sum("formats" in said for said in found) > 250


def test_a_fault_of_other_formats_is_noticed(page, tmp_path):
    fault = page.replace("convertOnce({...state, to}, state.round, policy, code)", "convertOnce({...state, to}, 'rz', policy, code)")
    assert fault != page and other_formats(fault, tmp_path)[1]


def test_all_formats_stand_under_one_another(page, tmp_path):
    (every, none) = texts(page, [link("number", formats="all"), link("number", formats="e2m1 nothing")], tmp_path)
    assert len(every["formats"]) > 20 and none["refused"] == "format nothing: no such object in this page"


def test_the_figures_of_block_and_layout_show_what_the_rooms_say(page, tmp_path):
    count = "return [...'abp'].map(name => document.querySelectorAll(`#grid .${name === 'p' ? 'part' : name}`).length);"
    assert answers(page, count, tmp_path, "block") == [32, 32, 6]
    chosen = "return [document.querySelector('#map [font-weight=bold]').textContent, document.querySelectorAll('#map rect').length];"
    assert answers(page, chosen, tmp_path, link("layout", layout="sf128x4", rows=128, codes=8, row=33, index=5).removeprefix("#")) == [
        str(layout.place(33, 5, 128, 8, get("layout", "sf128x4"))), 32 * 8,
    ]  # fmt: skip


FAULTS = {
    "sign of a value": ("n: value.sign ? -value.significand : value.significand", "n: value.significand"),
    "digits": ("digits * 5n ** BigInt(places)", "digits * 5n ** BigInt(places - 1)"),
    "trailing bits": ("return sign + (digits << BigInt(e))", "return sign + digits"),
    "error turned round": ("minus(dyadic(result), dyadic(value))", "minus(dyadic(value), dyadic(result))"),
    "policy ignored": ("policyOf(policy, state.to), code, drawn", "policyOf(policiesOf(state.to)[0], state.to), code, drawn"),
    "rounding ignored": ("formatOf(state.to), roundingOf(id), policyOf", "formatOf(state.to), roundingOf('rne'), policyOf"),
    "random integer lost": ("BigInt.asUintN(bits, BigInt(state.r))", "0n"),
    "open said as a code": ('["", "open", "refused"][Number(open)]', '["", "", "refused"][Number(open)]'),
    "refused said as open": ('["", "open", "refused"][Number(open)]', '["", "open", "open"][Number(open)]'),
    "minus zero": ('value.sign ? "-0" : "0"', '"0"'),
    "infinity's sign": ('value.sign ? "-infinity" : "infinity"', '"infinity"'),
    "hex of the result": ("made.mark || hex(made.code, wide)", "made.mark || hex(made.code ^ 1n, wide)"),
}


@pytest.mark.cases(6, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_page_is_noticed(page, tmp_path, fault):
    rows = number_rows(400)
    assert wrong(rows, texts(planted(page, *FAULTS[fault]), [link("number", **row) for row in rows], tmp_path))


USE = """
const at = selector => document.querySelector(selector), said = () => at("#sentence") ? at("#sentence").textContent : null, out = {};
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const press = (selector, key) => at(selector).dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
out.start = said();
at('[data-bit="22"]').click(); out.bit = at("[name=code]").value;
press("[name=code]", "ArrowUp"); out.up = at("[name=code]").value;
press("[name=typed]", "ArrowDown"); press("[name=typed]", "ArrowDown"); out.down = at("[name=code]").value;
change("[name=typed]", "-0.1"); out.typed = at("[name=code]").value;
change("[name=code]", "0x00000000"); press("[name=code]", "ArrowDown"); out.belowZero = at("[name=code]").value;
press("[name=code]", "ArrowUp"); out.zero = at("[name=code]").value;
change("[name=code]", "0x7F7FFFFF"); press("[name=code]", "ArrowUp"); out.most = at("[name=code]").value;
change("[name=from]", "bf16"); out.other = at("[name=code]").value;
change("[name=to]", "e4m3"); change("[name=round]", "rz"); out.target = said();
out.shell = at("#shell").textContent; out.hash = location.hash;
change("[name=code]", "hello"); change("[name=from]", "fp32"); out.kept = at("#fault").textContent;
out.fault = at("#fault").textContent; out.gone = said(); out.noShell = at("#shell").textContent;
change("[name=code]", "0x3F80"); out.mended = said(); out.noFault = at("#fault").textContent;
out.labels = [...document.querySelectorAll("input, select, textarea, button")]
  .every(item => item.closest("label") || item.getAttribute("aria-label") || item.textContent);
out.requests = performance.getEntriesByType("resource").map(item => item.name);
return out;
"""


def test_everything_on_the_page_answers(page, tmp_path):
    said = answers(page, USE, tmp_path, "number")
    assert "thrown" not in said, said
    assert (
        said["start"]
        == "fp32 0x40200000 is 2.5, between 2 and 3, at the middle; convert/e2m1/rne/nvidia gives 0x4, which is 2: an error of -0.5."
    )
    assert (said["bit"], said["up"], said["down"], said["typed"]) == ("0x40600000", "0x40600001", "0x405FFFFF", "0xBDCCCCCD")
    assert (said["belowZero"], said["zero"], said["most"], said["other"]) == ("0x80000001", "0x00000000", "0x7F7FFFFF", "0x7F80")
    assert "convert/e4m3/rz/nvidia" in said["target"]
    assert said["shell"] == "emu convert e4m3 0x7F80 --source bf16 --rounding rz --policy nvidia"
    assert re.search(r"spec=[0-9a-f]{32}$", said["hash"])
    assert said["kept"] == said["fault"]
    assert said["fault"] == "code hello: write a code as hex digits behind 0x" and said["gone"] is None and said["noShell"] == ""
    assert said["mended"].startswith("bf16 0x3F80 is 1") and said["noFault"] == ""
    assert said["labels"] and said["requests"] == []
    new = page_link("number", **{"from": "fp32", "to": "e2m1", "round": "rne", "policy": "nvidia"})
    digests = new.partition("spec=")[2]
    changed = {digests[:8] + "01234567" + digests[16:]: "of e2m1:", digests[:16]: "of rne, nvidia:", "0" * 32: "of fp32, e2m1,"}
    for spec, told in {digests: "", **changed}.items():
        old = answers(page, "return document.querySelector('#digest').textContent;", tmp_path, new.replace(digests, spec))
        assert (told in old and "made with other facts" in old) if told else old == ""
    here = answers(
        page,
        "document.querySelector('[data-row=\"3\"][data-index=\"1\"]').click(); return document.querySelector('#sentence').textContent;",
        tmp_path,
        "layout",
    )
    assert "row 3, index 1 of 128 x 8 lies at place 49 of" in here


WRONG_LINKS = {
    "number?code=0x1FFFFFFFF": "the format has 32 bits",
    "number?to=nothing": "no such object",
    "number?r=-1": "write 0 to",
    "block?x=": "no values",
    "block?x=1%202%203": "give a multiple of 32",
    "block?x=1%20apple": "write a number",
    "block?a=ufp4x": "no such object",
    "layout?rows=0": "write a number from 1",
    "layout?row=128": "from 0 to 127",
}


def test_a_wrong_link_says_what_is_wrong(page, tmp_path):
    script = f"""return {json.dumps(list(WRONG_LINKS))}.map(link => {{
        history.replaceState(null, "", "#number"); dispatchEvent(new HashChangeEvent("hashchange"));
        history.replaceState(null, "", "#" + link); dispatchEvent(new HashChangeEvent("hashchange"));
        return [document.querySelector("#fault").textContent, document.querySelector("#sentence"), explorer.text(link).refused];
    }});"""
    for (link_, said), (fault, sentence, refused) in zip(WRONG_LINKS.items(), answers(page, script, tmp_path), strict=True):
        assert said in fault and fault == refused and sentence is None, link_


def test_the_page_is_one_file_that_asks_for_nothing(page):
    assert len(page.encode()) < 1_500_000
    without = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"https?://|src=|@import|fetch\(|XMLHttpRequest|import\(|sendBeacon|WebSocket",
        re.sub(r"const (WASM|DESCRIPTOR|META|SAMPLES) = .*;\n", "", without),
    )
    assert "default-src 'none'" in page
    scripts = re.sub(r"const (WASM|DESCRIPTOR|META|SAMPLES) = .*;\n", "", page)
    assert not re.search(r"parseFloat|Math\.(?!max|min|ceil|trunc)|toFixed|toPrecision", scripts)


def test_without_clang_one_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["explore", "--out", str(tmp_path / "page.html")]) == 5
    assert (
        capsys.readouterr().err
        == "emu: clang: not found, and the page of the explorer is compiled with it: install it (Debian: apt-get install clang)\n"
    )
    assert not list(Path(tmp_path).iterdir())


def test_digits_are_all_of_them():
    assert [digits(Fraction(*pair)) for pair in ((1, 8), (-5, 2), (3, 1), (0, 1))] == ["0.125", "-2.5", "3", "0"]
