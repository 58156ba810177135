"""Block behind a rotation: what the page says is what the reference model rotates, then quantizes."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, link, planted, texts

from emu.engines.exact import block
from emu.engines.exact.decode import decode_code
from emu.engines.exact.transform import transform_codes
from emu.explore.build import known_objects
from emu.explore.build import page as built
from emu.spec import get, names

RECIPES = ("mxfp4_torchao_floor", "nvfp4_te_ref", "nvfp4_te_cuda", "e1m2_fp32scale", "nve0m3")
SPECIAL = {"fp32": (0x7F800000, 0x7FC00000, 0x7F7FFFFF, 1), "bf16": (0xFF80, 0x7FC0, 0x7F7F, 1), "fp16": (0x7C00, 0x7E00, 0x7BFF, 1)}


def rows() -> list[dict]:
    """Every rotation and source, through recipes in turn: ordinary values, some with a special one; other signs where it may have them."""
    draw, out = np.random.Generator(np.random.Philox(31)), []
    for transform in names("transform"):
        for source, special in SPECIAL.items():
            for i in range(6):
                kind = {"fp32": np.float32, "fp16": np.float16}.get(source, np.float32)
                x = draw.standard_normal(32).astype(kind) * np.exp2(draw.integers(-3, 4, 32)).astype(kind)
                codes = x.view(np.uint32) >> 16 if source == "bf16" else x.view(np.uint32 if source == "fp32" else np.uint16)
                codes = [int(code) for code in codes]
                if i >= 4:
                    codes[int(draw.integers(0, 32))] = special[(i + len(out)) % 4]
                free = get("transform", transform).facts.signs_operand == "yes" and i % 2
                signs = int(draw.integers(0, 1 << 16)) if free else None
                pair = RECIPES[len(out) % 5], RECIPES[(len(out) + 1) % 5]
                out.append({"rotate": transform, "from": source, "codes": codes, "signs": signs, "a": pair[0], "b": pair[1]})
    return out


def place(row: dict) -> str:
    signs = "" if row["signs"] is None else hex(row["signs"])
    return link("block", **{**row, "signs": signs, "x": " ".join(map(hex, row["codes"]))})


def rotated(row: dict) -> list[int]:
    transform, source = get("transform", row["rotate"]), get("format", row["from"])
    size, codes = transform.facts.size, row["codes"]
    groups = [transform_codes(codes[i : i + size], source, transform, row["signs"]) for i in range(0, len(codes), size)]
    return [code for group in groups for code in group]


def told(register: dict) -> list[int]:
    return [-1 if item["code"] == "open" else int(item["code"], 16) for item in register["items"]]


def size_of(codes: list[int], source: str) -> Fraction | None:
    values = [decode_code(code, get("format", source)) for code in codes]
    return max(abs(value.signed) for value in values) if all(value.kind == "finite" for value in values) else None


def number(text: str) -> Fraction:
    """A number as the page writes it: decimals, or a whole number times a power of two."""
    whole, _, power = text.partition("2^")
    return Fraction(whole.rstrip("*") or 1) * Fraction(2) ** int(power) if power else Fraction(text)


def wrong(page: str, folder: Path, asked: list[dict]) -> list[tuple]:
    """Rows on which the page and the reference model differ."""
    out = []
    for row, said in zip(asked, texts(page, [place(row) for row in asked], folder), strict=True):
        codes, result = rotated(row), get("transform", row["rotate"]).facts.result
        if "refused" in said or [int(code, 16) for code in said["taken"]["codes"]] != codes or said["taken"]["from"] != result:
            out.append((row, said.get("refused", "values")))
            continue
        for side in "ab":
            wanted = block.quantize(get("recipe", row[side]), [codes], get("format", result), masked=True)
            scales = list(wanted.levels.values())[-1][0]
            if told(said[side]["codes"]) != list(wanted.codes[0]) or told(said[side]["levels"][-1]) != list(scales):
                out.append((row, side))
        plain = block.quantize(get("recipe", row["a"]), [row["codes"]], get("format", row["from"]), masked=True)
        scales = [
            list(here.levels.values())[-1][0]
            for here in (plain, block.quantize(get("recipe", row["a"]), [codes], get("format", result), masked=True))
        ]
        other = sum(one != two for one, two in zip(*scales, strict=True))
        sizes = [size_of(codes, result), size_of(row["codes"], row["from"])]
        now, _, before = said["rotation"].partition("the largest magnitude is ")[2].partition(";")[0].partition(", where it was ")
        if (
            f"; scales of {row['a']} that are not those without it: {other} of {len(scales[0])}." not in said["rotation"]
            or [None if size is None else number(text) for size, text in zip(sizes, (now, before), strict=True)] != sizes
        ):
            out.append((row, said["rotation"]))
    return out


def test_rotated_values_are_those_of_the_reference_model(page, tmp_path):
    assert wrong(page, tmp_path, rows()) == []
    assert {row["signs"] is None for row in rows()} == {True, False}


def test_a_rotation_of_more_elements_than_a_word_has_bits(tmp_path, page):
    small = get("transform", "rht16_ufp4")
    facts = small.facts.model_copy(update={"size": 128, "signs": "0x" + "0123456789abcdef" * 2, "scale": "1/8"})
    big = small.model_copy(update={"id": "rht128", "facts": facts, "expect": ()})
    codes = [int(code) for code in np.random.Generator(np.random.Philox(32)).integers(0x3F000000, 0x41000000, 256)]
    whole = built([*known_objects(), big])
    for signs in (None, 0xF0000000000000010000000000000003):
        mask = "" if signs is None else hex(signs)
        asked = link("block", a="nvfp4_te_ref", b="nvfp4_te_ref", rotate="rht128", signs=mask, x=" ".join(map(hex, codes)))
        (said,) = texts(whole, [asked], tmp_path)
        wanted = [code for i in (0, 128) for code in transform_codes(codes[i : i + 128], get("format", "fp32"), big, signs)]
        assert [int(code, 16) for code in said["taken"]["codes"]] == wanted, said


FAULTS = {
    "the recipes take what was given": ("return {codes, from: facts.result, rows", "return {codes: given, from: state.from, rows"),
    "the format of what was given": ("return {codes, from: facts.result, rows", "return {codes, from: state.from, rows"),
    "signs ignored": ("const mask = signs === null ? 0 :", "const mask = true ? 0 :"),
    "signs moved by an element": ("unsigned(signs >> bit)", "unsigned(signs >> bit + 1n)"),
    "no signs where none are given": ("mask = signs === null ? 0 : place(", "mask = place(signs === null ? new Uint8Array(32) : "),
    "read as binary32": ("C.ex_rotate(formatOf(state.from),", 'C.ex_rotate(formatOf("fp32"),'),
    "another rotation": ("transform = transformOf(state.rotate), facts", 'transform = transformOf("rht16_exact"), facts'),
    "B without it": ("(id, i) => traceOf(id, codes, amax, from, rows,",
        "(id, i) => traceOf(id, i ? valuesOf(state.x, state.from) : codes, amax, i ? state.from : from, rows,"),
    "the smallest magnitude": ("compare(dyadic(most), dyadic(value)) < 0", "compare(dyadic(most), dyadic(value)) > 0"),
    "the magnitude of before": ("where it was ${largest(rotation.given, state.from)}", "where it was ${largest(codes, from)}"),
    "scales that are the same": ("item.code !== plain.items[i].code", "item.code === plain.items[i].code"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_rotation_is_noticed(page, tmp_path, fault):
    assert wrong(planted(page, *FAULTS[fault]), tmp_path, rows()[::3])


X = "0x40E0 0x3F80 0xBF00 0x4040 " * 8
USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const heads = () => [...document.querySelectorAll("tbody th")].map(item => item.textContent);
out.off = [text("#rotation"), heads(), Boolean(at("[name=signs]"))];
change("[name=rotate]", "rht16_te"); out.te = [text("#rotation"), heads(), Boolean(at("[name=signs]")), document.activeElement.name];
change("[name=rotate]", "rht16_ufp4"); change("[name=signs]", "0x8001"); out.signs = [text("#rotation"), text("#fault")];
at("#copy-python").click(); out.python = explorer.copied(); out.hash = location.hash;
at("#copy-row").click(); out.row = explorer.copied();
out.again = explorer.text(location.hash);
change("[name=signs]", "0x10000"); out.wide = [text("#fault"), text("#rotation"), text("#sentence")];
change("[name=signs]", "words"); out.words = text("#fault");
change("[name=signs]", "0x1"); change("[name=rotate]", "rht16_te");
out.kept = [text("#fault"), explorer.text(location.hash).taken.codes.length];
change("[name=a]", "ufp4"); out.own = text("#fault");
change("[name=a]", "nvfp4_te_ref"); change("[name=x]", "1 2 3"); out.short = text("#fault");
change("[name=x]", X); change("[name=rotate]", "none"); out.none = [text("#rotation"), heads(), text("#fault")];
return out;
"""


def test_a_rotation_is_chosen_and_left(page, tmp_path):
    start = link("block", **{"from": "bf16"}, a="mxfp4_torchao_floor", b="nvfp4_te_ref", x=X).removeprefix("#")
    said = answers(page, USE.replace("X);", json.dumps(X) + ");"), tmp_path, start)
    assert "thrown" not in said, said
    plain, both = ["value", "A", "B"], ["value", "rotated", "A", "B"]
    assert said["off"] == [None, plain, False] and said["none"] == [None, plain, ""]
    assert said["te"][1:] == [both, False, "rotate"]
    assert said["te"][0].startswith("Both recipes take what rht16_te makes of each 16 values, with the signs 0xD7E8, in bf16: the largest")
    assert (
        "with the signs 0x8001, in bf16" in said["signs"][0] and said["signs"][1] == "" and "rotate=rht16_ufp4&signs=0x8001" in said["hash"]
    )
    assert said["wide"] == ["signs 0x10000: write a mask of 16 bits as hex digits behind 0x", None, None]
    assert said["words"] == "signs words: write a mask of 16 bits as hex digits behind 0x"
    assert said["kept"] == ["", 32] and said["own"] == "ufp4 has a rotation of its own: choose the rotation none, or another recipe"
    assert said["short"] == "rht16_te: 3 values: give a multiple of 16"
    wanted = rotated({"rotate": "rht16_ufp4", "from": "bf16", "codes": [int(code, 16) for code in X.split()], "signs": 0x8001})
    shown = said["again"]
    assert [int(code, 16) for code in shown["taken"]["codes"]] == wanted
    assert int(said["row"].split()[1], 16) == sum(code << 16 * i for i, code in enumerate(wanted))
    done = subprocess.run([sys.executable, "-c", said["python"]], capture_output=True, text=True, check=True)
    codes = [code for side in "ab" for code in told(shown[side]["codes"])]
    assert [int(code) for code in "".join(letter if letter.isdigit() else " " for letter in done.stdout).split()] == codes


def test_signs_of_a_rotation_that_has_its_own_are_refused(page, tmp_path):
    (said,) = texts(page, [link("block", rotate="rht16_te", signs="0x1")], tmp_path)
    assert said["refused"] == "rht16_te has fixed signs: leave signs out"
    (said,) = texts(page, [link("block", rotate="nothing")], tmp_path)
    assert said["refused"] == "transform nothing: no such object in this page"
