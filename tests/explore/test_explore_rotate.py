"""Block behind a rotation: what the page says is what the reference model rotates, then quantizes."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.explorer import answers, compiled_and_run, link, planted, texts

from emu.contracts import parse
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact import block
from emu.engines.exact.decode import decode_code
from emu.engines.exact.transform import transform_codes
from emu.explain.link import of_operands
from emu.explore.build import known_objects
from emu.explore.build import page as built
from emu.spec import get, names
from emu.spec.programs.program import quantize_program

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
    "signs ignored": ("const signsAt = signs => signs === null ? 0 :", "const signsAt = signs => true ? 0 :"),
    "signs moved by an element": ("unsigned(signs >> bit)", "unsigned(signs >> bit + 1n)"),
    "no signs where none are given": ("signs => signs === null ? 0 : place(", "signs => place(signs === null ? new Uint8Array(32) : "),
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


SIGNED = [name for name in names("recipe") if get("recipe", name).transforms]
MASKS = (None, 0, 1, 0x8000, 0xBEEF, 0xFFFF)


def signed_links() -> list[tuple]:
    """Rows of recipes that rotate: a recipe, a contract, operands, and the link that a report of a check prints of them."""
    draw, out = np.random.Generator(np.random.Philox(33)), []
    for name in SIGNED:
        contract, drawing = parse(f"quantize/{name}"), quantize_program(get("recipe", name)).drawing
        for signs in MASKS:
            operands = {"x": draw.standard_normal((2, 40)).astype(np.float32).view(np.uint32)}
            if drawing is not None:
                operands["random"] = draw.integers(0, 1 << drawing.random_operand[1], (2, 40)).astype(np.uint64)
            made = of_operands(contract, {**operands, **({} if signs is None else {"signs": np.array(signs, "u4")})}, (1, 7)).link
            out.append((name, signs, operands, made))
    return out


def unlike(page: str, folder: Path) -> list[tuple]:
    """Links of recipes that rotate whose codes, scales or words on the page are not those of the reference model."""
    asked, out = signed_links(), []
    for (name, signs, operands, made), said in zip(asked, texts(page, [made for *_, made in asked], folder), strict=True):
        x, random = operands["x"].tolist(), operands.get("random")
        drawn = None if random is None else random.tolist()
        wanted = block.quantize(get("recipe", name), x, get("format", "fp32"), random=drawn, signs=signs, masked=True)
        told_of = "" if signs is None else f" {name} rotates with the signs 0x{signs:04X} that you give."
        if "a" not in said or told(said["a"]["codes"]) != wanted.codes[1][:40] or not said["sentence"].endswith(told_of):
            out.append((made, said.get("refused", "codes")))
        elif told(said["a"]["levels"][-1]) != list(wanted.levels["scale"][1]):
            out.append((made, "scales"))
    return out


def test_the_link_of_a_recipe_that_rotates_opens_its_signs(page, tmp_path):
    assert unlike(page, tmp_path) == [] and len(SIGNED) > 1


OWN_FAULTS = {
    "the signs of the recipe": ("signsAt(recipe.signs ? signs : null)", "signsAt(null)"),
    "signs moved by an element": ("unsigned(signs >> bit)", "unsigned(signs >> bit + 1n)"),
    "no signs where none are given": (
        "signs => signs === null ? 0 : place(",
        "signs => place(signs === null ? new Uint8Array(32).fill(1) : ",
    ),
    "said of none": ("rotation: null, signs: signsOf(state)", "rotation: null, signs: (signsOf(state), null)"),
}  # fmt: skip


@pytest.mark.cases(1, 1)
@pytest.mark.parametrize("fault", OWN_FAULTS)
def test_a_fault_of_the_signs_of_a_recipe_is_noticed(page, tmp_path, fault):
    assert unlike(planted(page, *OWN_FAULTS[fault]), tmp_path)


SIGNS_USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const copied = name => { at(name).click(); return explorer.copied(); };
out.label = at("[name=signs]").closest("label").textContent;
change("[name=signs]", "0x8001"); out.hash = location.hash; out.shown = explorer.text(location.hash);
out.python = copied("#copy-python"); out.c = copied("#copy-c"); out.command = copied("#copy-shell"); out.why = text("#copy-why");
change("[name=flip]", "3"); out.flips = explorer.text(location.hash).flips; change("[name=flip]", "");
change("[name=signs]", "0x10000"); out.wide = text("#fault");
change("[name=signs]", "0x8001"); change("[name=b]", "nvfp4_te_ref"); out.one = [text("#fault"), at("[name=signs]").value];
change("[name=a]", "nvfp4_te_ref"); out.left = [text("#fault"), Boolean(at("[name=signs]")), location.hash.includes("signs=&")];
out.plain = explorer.text(location.hash.replace("signs=&", "signs=0x1&")).refused;
return out;
"""


def test_signs_of_a_recipe_are_typed_copied_and_left(page, tmp_path):
    start = link("block", **{"from": "bf16"}, a="ufp4", b="ufp4", x=X).removeprefix("#")
    said = answers(page, SIGNS_USE, tmp_path, start)
    assert "thrown" not in said, said
    assert said["label"] == "signs of a recipe's own rotation (empty: its own)" and "signs=0x8001" in said["hash"]
    given = [int(code, 16) for code in X.split()]
    wanted = block.quantize(get("recipe", "ufp4"), [given], get("format", "bf16"), signs=0x8001)
    assert told(said["shown"]["a"]["codes"]) == wanted.codes[0]
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    for text in (said["command"], f"python3 - <<'PYTHON'\n{said['python']}PYTHON"):
        lines = subprocess.run(["bash", "-e", "-c", text], env=path, capture_output=True, text=True, check=True).stdout.splitlines()
        assert [[int(code) for code in line.strip("[]").split(", ")] for line in lines] == [wanted.codes[0]] * 2
    codes, scales = (line.partition(":")[2].split() for line in compiled_and_run(said["c"], tmp_path / "c").splitlines())
    assert [int(code, 16) for code in codes] == wanted.codes[0] and [int(code, 16) for code in scales] == wanted.levels["scale"][0]
    assert "a row of ufp4 has no signs: leave them out" in said["why"]
    for way in said["flips"]["ways"]:
        assert way["code"] is not None
        other = [int(way["code"], 16) if i == 3 else code for i, code in enumerate(given)]
        before = [other[3] - 1 if int(way["steps"], 16) > 0 and (way["step"] > 0) == (other[3] < 0x8000) else other[3] + 1]
        made, near = (
            block.quantize(get("recipe", "ufp4"), [row], get("format", "bf16"), signs=0x8001)
            for row in (other, [before[0] if i == 3 else code for i, code in enumerate(other)])
        )
        seen = [(each.codes[0][3], each.levels["scale"][0][0]) for each in (made, near, wanted)]
        assert seen[0] != seen[2] == seen[1], way
    assert said["wide"] == "signs 0x10000: write a mask of 16 bits as hex digits behind 0x"
    assert said["one"] == ["", "0x8001"] and said["left"] == ["", False, True]
    assert said["plain"] == "nvfp4_te_ref and nvfp4_te_ref rotate by no signs that may be given: leave signs out"


def test_signs_of_a_recipe_of_a_descriptor(page, tmp_path):
    mine = get("recipe", "ufp4").model_copy(update={"id": "mine"})
    text, codes = descriptor_text([mine]).rpartition("end ")[0], [int(code, 16) for code in X.split()]
    asked = {"a": "mine", "b": "ufp4", "from": "bf16", "x": X, "own": text, "signs": "0x5A01"}
    script = "document.querySelector('#copy-python').click(); return [explorer.text(location.hash), explorer.copied()];"
    said = answers(page, script, tmp_path, link("block", **asked).removeprefix("#"))
    wanted = block.quantize(mine, [codes], get("format", "bf16"), signs=0x5A01)
    assert [told(said[0][side]["codes"]) for side in "ab"] == [wanted.codes[0]] * 2
    assert "mine and ufp4 rotate with the signs 0x5A01 that you give." in said[0]["sentence"]
    done = subprocess.run([sys.executable, "-c", said[1]], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [int(code, 16) for code in done[0].partition(":")[2].split()] == wanted.codes[0] and len(done) == 4
