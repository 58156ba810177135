"""Block and Dot with a descriptor: recipes and datapaths that no file has are computed as the reference model does, or refused by line."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import devtools
from support.descriptor_samples import Loaded, renamed, sealed
from support.explorer import answers, browser, link, planted, ran, texts
from support.program_samples import own_blocks, random_recipe

from emu.base.errors import EmuError
from emu.contracts import parse
from emu.contracts.contract import stored_bits
from emu.contracts.dot.rows import DotRow
from emu.contracts.levels.rows import LevelsRow
from emu.contracts.rows import unpack
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact import block, datapath, levels
from emu.spec import get
from emu.spec.datapath import plans_of
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models.levels import DatapathLevels
from emu.spec.programs.program import quantize_program

SHAPES = ((1, 48), (12, 40), (3, 48), (5, 7))  # rows, and values of each
RECIPE, DATAPATH = "mxfp4_torchao_floor", "hopper_fp8"  # half of the objects have a shipped id, and stand before the shipped one


def bare(text: str) -> str:
    """A descriptor without its last line."""
    return text[: text.rindex("\nend ") + 1]


def drawn_recipes(count: int) -> list[tuple]:
    """Recipes that no file has, with their descriptors, and rows of values and of random words."""
    out, seed = [], 0
    while len(out) < count:
        seed += 1
        draw = np.random.Generator(np.random.Philox(seed))
        recipe = random_recipe(draw).model_copy(update={"id": RECIPE if seed % 2 else "mine"})
        try:
            program, text = quantize_program(recipe), bare(descriptor_text([recipe]))
        except EmuError:  # it draws from two operands, or is beyond a limit of C
            continue
        rows, columns = SHAPES[seed % len(SHAPES)]
        x = draw.standard_normal(rows * columns) * np.exp2(draw.integers(-20, 21, rows * columns).astype(np.float64))
        codes = [int(code) for code in x.astype(np.float32).view(np.uint32)]
        codes[:2] = (0x80000000, 0x7F800000) if seed % 5 == 0 else codes[:2]
        lanes, bits = (1, 0) if program.drawing is None else program.drawing.random_operand
        words = [int(word) for word in draw.integers(0, 1 << bits, -(-rows * columns // lanes))] if bits else None
        out.append((recipe, text, [codes[i : i + columns] for i in range(0, len(codes), columns)], words))
    return out


def spread(kept: dict, trace: dict, tall: int, wide: int) -> list[list[int]]:
    """The codes of a register of the page in so many parts of the padded matrix, both ways."""
    codes = [-1 if item["code"] == "open" else int(item["code"], 16) for item in kept["items"]]
    down, across, width = trace["height"] // tall, trace["width"] // wide, trace["width"] // kept["across"]
    return [[codes[r * down // kept["down"] * width + c * across // kept["across"]] for c in range(wide)] for r in range(tall)]


def wrong_recipes(page: str, folder: Path, count: int) -> tuple[list, int]:
    """Drawn recipes on which the page and the reference model differ; how many codes were compared."""
    (folder / "blocks").mkdir()
    with own_blocks(folder / "blocks"):
        rows, out, compared = drawn_recipes(count), [], 0
        links = [
            link("block", a=recipe.id, b=recipe.id, own=text, rows=len(x), x=" ".join(hex(code) for row in x for code in row),
                 random=" ".join(map(hex, words or ())))
            for recipe, text, x, words in rows
        ]  # fmt: skip
        for (recipe, _, x, words), said in zip(rows, texts(page, links, folder), strict=True):
            try:
                wanted = block.quantize(recipe, x, get("format", "fp32"), random=words and [words], masked=True)
            except EmuError:  # a step refuses a value
                out += [] if "refused" in said else [(recipe.id, "not refused")]
                continue
            if "refused" in said:
                out.append((recipe.id, said))
                continue
            registers = said["a"]["filled"], *said["a"]["levels"]
            for kept, there in zip(registers, (wanted.codes, *wanted.levels.values()), strict=True):
                tall, wide = (said["a"]["height"], said["a"]["width"]) if there is wanted.codes else (len(there), len(there[0]))
                here = spread(kept, said["a"], tall, wide)
                compared += sum(map(len, there))
                out += [] if there == [row[: len(there[0])] for row in here[: len(there)]] else [(recipe.id, here, there)]
            program = quantize_program(recipe)
            names = [step["name"] for step in said["a"]["steps"]]
            out += [] if names == [item.out for item in program.instructions] else [(recipe.id, names)]
    return out, compared


def test_drawn_recipes_are_computed_as_the_reference_model_does(page, tmp_path):
    out, compared = wrong_recipes(page, tmp_path, 60)
    assert out == [] and compared > 4000


def drawn_machines() -> list[tuple]:
    """Datapaths that no file has, in one step and in levels: a descriptor, plans and a row each; beside one called mine a shipped one."""
    out = []
    names = ("hopper_fp8", "nv_like_exact", "blackwell_f8f6f4", "bf16_register_random", "ada_fp8", "mx_lane24")
    for seed in range(24):
        name = names[seed % len(names)]
        is_levels, new = isinstance(get("datapath", name).facts, DatapathLevels), DATAPATH if seed // len(names) % 2 else "mine"
        model = renamed(name, new, None if is_levels else seed)
        pick = lambda one: list(level_plans_of(one) if is_levels else plans_of(one))  # noqa: B023, E731
        plan, draw = pick(model)[seed * 7 % len(pick(model))], np.random.Generator(np.random.Philox(seed))
        beside = [pick(get("datapath", name))[seed * 7 % len(pick(model))]] if new == "mine" else []
        k = max(plan.facts.k, plan.block or 1)
        codes = lambda fmt, count: tuple(int(code) for code in draw.integers(0, 1 << stored_bits(fmt), count))  # noqa: B023, E731
        scales = [codes(plan.scale, k // plan.block) if plan.scale is not None else () for _ in "ab"]
        c = None if plan.c is None else int(np.float32(draw.standard_normal()).view(np.uint32)) >> 32 - stored_bits(plan.c)
        given = codes(plan.a, k), codes(plan.b, k), *scales, c
        row = LevelsRow(*given, (0,) * len(list(plan.draws(k)))) if isinstance(plan, LevelsPlan) else DotRow(*given)
        out.append((bare(descriptor_text([model])), [plan, *beside], row))
    return out


def wrong_machines(page: str, folder: Path) -> tuple[list, int]:
    """Drawn datapaths on which the page and the reference model differ; how many gave a finite result."""
    rows, out, finite, links = drawn_machines(), [], 0, []
    for text, plans, row in rows:
        told, names = row.texts(plans[0]), {f"m{i + 1}": plans[i].name if i < len(plans) else "none" for i in range(3)}
        links.append(link("dot", **names, own=text, **{key: told.get(key, "") for key in ("a", "b", "sa", "sb", "c")}))
    for (_, plans, row), said in zip(rows, texts(page, links, folder), strict=True):
        for i, plan in enumerate(plans):
            try:
                wanted = (levels if isinstance(plan, LevelsPlan) else datapath).dot(*row, plan).code
            except EmuError:
                wanted = "open"
            got = said.get("refused") or said["runs"][i]["d"]
            got = int(got, 16) if got.startswith("0x") else got
            finite += "refused" not in said and said["runs"][i]["value"] not in ("NaN", "infinity", "-infinity", "open")
            out += [] if got == wanted else [(plan.name, got, wanted)]
    return out, finite


def test_drawn_datapaths_are_computed_as_the_reference_model_does(page, tmp_path):
    out, finite = wrong_machines(page, tmp_path)
    assert out == [] and finite > 6


def test_every_machine_of_the_page_has_the_kind_that_c_says(page, tmp_path):
    said = answers(page, "return explorer.kinds();", tmp_path)
    assert len(said) > 50 and [kind for kind, found in said if found != [kind]] == []


FAULTS = {
    "the recipe of the page": ("C.ex_program(libraryOf(isOwnRecipe(id)),", "C.ex_program(libraryOf(false),"),
    "the words of the page's recipe": ("own.recipes.find(recipe => recipe.id === id) || META.",
                                      "META.recipes.find(recipe => recipe.id === id) || own."),
    "steps named by their argument": ("return [names[out], [", "return [names[args[0]], ["),
    "levels in another order": ("C.ex_level_register(program, i)", "C.ex_level_register(program, facts.levels - 1 - i)"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_own_recipes_is_noticed(page, tmp_path, fault):
    assert wrong_recipes(planted(page, *FAULTS[fault]), tmp_path, 24)[0]


MACHINE_FAULTS = {
    "the datapath of the page": ("from = libraryOf(mine),", "from = library,"),
    "the machines of the last one": ("  machines = null;\n", ""),
    "a name for the only choice": ("return some.length > 1 ? some", "return some.length ? some"),
    "formats of the page alone": ("[[library, META.formats], [own.at, own.formats]]", "[[library, META.formats]]"),
}  # fmt: skip


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", MACHINE_FAULTS)
def test_a_fault_of_own_datapaths_is_noticed(page, tmp_path, fault):
    assert wrong_machines(planted(page, *MACHINE_FAULTS[fault]), tmp_path)[0]


USE = """
const at = selector => document.querySelector(selector), out = {}, text = selector => at(selector) ? at(selector).textContent : null;
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
const values = (...names) => names.map(name => at(`[name=${name}]`).value), own = () => at("[name=own]");
const until = async what => { for (let i = 0; i < 600 && !what(); i++) await new Promise(done => setTimeout(done, 20)); };
const drop = (name, data) => { const held = new DataTransfer(); held.items.add(new File([data], name));
    dispatchEvent(new DragEvent("drop", {dataTransfer: held, cancelable: true})); };
const refused = async (name, data) => { drop(name, data); await until(() => text("#fault").startsWith(name)); return text("#fault"); };
const [first, second] = FIELDS, kept = values(...MORE);
out.none = [own(), at("#copy-own"), ...values(first, second)];
at("#edit").click();
out.begun = [own().value, text("#sentence"), ...values(first, second), document.activeElement.name, at("#edit"), text("#fault")];
change("[name=own]", own().value.replace(...EDIT)); out.edited = [text("#sentence"), ...values(first, second)]; out.hash = location.hash;
out.said = JSON.parse(JSON.stringify(explorer.text(location.hash), (_, value) => typeof value === "bigint" ? String(value) : value));
at("#copy-own").click(); out.copied = explorer.copied(); out.shell = text("#shell");
out.refusals = ["#copy-python", "#copy-c", "#copy-row"].map(id => { at(id).click(); return text("#fault"); });
const good = own().value;
change("[name=own]", good.replace(...WRONG)); out.wrong = [text("#fault"), text("#sentence"), own().value === good.replace(...WRONG)];
change("[name=own]", good); out.mended = [text("#fault"), text("#sentence"), ...values(first, second)];
out.kept = JSON.stringify(values(...MORE)) === JSON.stringify(kept);
location.hash = "number"; await until(() => at("[name=typed]")); out.number = [own(), text("#fault")];
location.hash = out.hash; await until(() => at(`[name=${first}]`)); out.again = [text("#sentence"), text("#digest"), own().value === good];
out.empty = await refused("format.txt", FORMAT);
out.bad = await refused("bad.txt", DROPPED.replace("\\ntail", "\\nTail").replace("\\nk ", "\\nK "));
out.stays = [own().value === good, text("#shell")];
at("#copy-link").click(); out.link = explorer.copied().endsWith(out.hash);
at("#leave").click(); out.left = [own(), ...values(first, second), text("#fault"),
    [...at(`[name=${first}]`).options].some(item => item.value.startsWith("mine"))];
drop("other.txt", DROPPED); await until(own); out.dropped = [text("#fault"), ...values(first, second), own().value];
return out;
"""


FORMAT = descriptor_text([get("format", "e2m1")])


def used(page: str, folder: Path, room: str, **words: object) -> dict:
    """What the room says while a descriptor is begun, edited, broken, mended, left and dropped."""
    script = USE
    for name, value in {**words, "FORMAT": FORMAT}.items():
        script = script.replace(name, json.dumps(value))
    (folder / "page.html").write_text(page, encoding="utf-8")
    with devtools.page(browser()) as tab:
        tab.open(f"{(folder / 'page.html').as_uri()}#{room}")
        said = tab.ask(script)
    assert said["none"][:2] == [None, None] and said["begun"][4:] == ["own", None, ""], said["begun"]
    text = said["begun"][0]
    assert Loaded(sealed(f"{text}end 0\n")).written() == sealed(f"{text}end 0\n"), "the beginning is not canonical"
    assert said["copied"] == sealed(text.replace(*words["EDIT"]) + "end 0\n")
    assert said["refusals"] == ["", "", ""]
    assert said["wrong"][1:] == [None, True] and said["mended"] == ["", *said["edited"]] and said["kept"]
    fault = Loaded(sealed(text.replace(*words["EDIT"]).replace(*words["WRONG"]) + "end 0\n")).line
    assert said["wrong"][0] == f"descriptor line {fault}" and not fault.startswith("0:")
    assert said["number"] == [None, ""] and said["again"] == [said["edited"][0], "", True] and said["link"]
    assert said["bad"].startswith("bad.txt: descriptor line ") and said["stays"] == [True, said["shell"]]
    assert said["dropped"][0] == "" and said["dropped"][3] == bare(str(words["DROPPED"]))
    return said


def test_the_steps_of_a_recipe_are_edited_and_files_dropped(page, tmp_path):
    other, recipe = get("recipe", "nvfp4_modelopt").model_copy(update={"id": "dropped"}), get("recipe", RECIPE)
    edit, wrong = ("e8m0_rule floor", "e8m0_rule ceil"), ("tail error", "tail errors")
    words = {"FIELDS": ["a", "b"], "MORE": ["x", "from"], "EDIT": edit, "WRONG": wrong, "DROPPED": descriptor_text([other])}
    said = used(page, tmp_path, "block", **words)
    assert said["none"][2:] == [RECIPE, "mxfp4_triton_up"] and said["begun"][2:4] == ["mine", RECIPE]
    assert said["begun"][1].startswith(f"Of 32 values 0 get other codes from mine than from {RECIPE}, and 0 of 1 scales differ.")
    steps = tuple(step.model_copy(update={"rule": "ceil"}) if step.op == "e8m0_rule" else step for step in recipe.facts.steps)
    edited = recipe.model_copy(update={"id": "mine", "facts": recipe.facts.model_copy(update={"steps": steps})})
    x = [int(code) for code in said["said"]["codes"]]
    both = [block.quantize(one, [x], get("format", "fp32")).codes[0] for one in (edited, recipe)]
    assert [[int(item["code"], 16) for item in said["said"][side]["codes"]["items"]] for side in "ab"] == both
    count = sum(a != b for a, b in zip(*both, strict=True))
    parts = "2, scale = e8m0_rule ceil block_amax 2 0: 0x80, 2; mxfp4_torchao_floor has 0x7F, 1 in its step 2 of that name."
    assert count and said["edited"][0].endswith(parts)
    assert said["edited"][0].startswith(f"Of 32 values {count} get other codes from mine than from {RECIPE}")
    shown = [(step["name"], step["text"], step["extent"]) for step in said["said"]["a"]["steps"]]
    assert shown[3] == ("divisor", "max propagate scale_value 0x800000 (2^-126)", "block") and shown[4][2] == "element"
    row = "".join(f"{code:08x}" for code in reversed(x))
    mine, plain_ = (f"printf 'a {row}\\n' | emu_ref fill quantize/{name} --source fp32" for name in ("mine", RECIPE))
    assert said["shell"] == f"{mine} --descriptor mine.txt && {plain_}"
    assert said["left"] == [None, RECIPE, "mxfp4_triton_up", "", False] and said["dropped"][1:3] == ["dropped", RECIPE]
    assert said["empty"] == "format.txt: no recipe in it: write one with emu export descriptor recipe/ID"


def test_the_facts_of_a_datapath_are_edited_and_files_dropped(page, tmp_path):
    other, model, name = renamed("nv_like_exact", "dropped"), get("datapath", DATAPATH), f"{DATAPATH}/e4m3xe4m3"
    edit, wrong = ("frac_bits 13", "frac_bits 3"), ("align_mode rz", "align_mode rw")
    words = {"FIELDS": ["m1", "m2"], "MORE": ["a", "b"], "EDIT": edit, "WRONG": wrong, "DROPPED": descriptor_text([other])}
    said = used(page, tmp_path, "dot", **words)
    assert said["none"][2] == name and said["begun"][2:4] == ["mine/e4m3xe4m3", name] and "They agree." not in said["edited"][0]
    align = model.facts.align.model_copy(update={"fraction_bits": 3})
    edited = model.model_copy(update={"id": "mine", "facts": model.facts.model_copy(update={"align": align})})
    a, b = ([int(text[i : i + 2], 16) for i in range(0, 128, 2)] for text in ("7E380838" + "00" * 60, "38380138" + "00" * 60))
    for run, one in zip(said["said"]["runs"], (edited, model), strict=False):
        plan = next(plan for plan in plans_of(one) if plan.name.endswith("/e4m3xe4m3"))
        assert int(run["d"], 16) == datapath.dot(a, b, (), (), 0, plan).code and f"{run['name']} gives {run['d']}" in said["edited"][0]
    first, _, second = said["shell"].partition(" && ")
    assert first.startswith("printf 'a ") and first.endswith(" | emu_ref fill dot/mine/e4m3xe4m3 --descriptor mine.txt")
    assert second.startswith(f"emu explain dot {name} ")
    assert said["left"][:2] == [None, name] and said["left"][3:] == ["", False] and said["dropped"][1].startswith("dropped/")
    assert said["empty"] == "format.txt: no datapath in it: write one with emu export descriptor datapath/ID"


COPIED = """
const at = selector => document.querySelector(selector);
const change = (selector, value) => { at(selector).value = value; at(selector).dispatchEvent(new Event("change", {bubbles: true})); };
at("#edit").click();
if (at("[name=random]")) change("[name=random]", "5a 0xFF 0 80 7");
at("#copy-shell").click();
const said = explorer.text(location.hash);
return [at("#fault").textContent, said.a.id, explorer.copied(), at("#shell").textContent, said.a.filled.items.map(item => item.code)];
"""


@pytest.mark.parametrize("recipe", ["ufp4_sr", "nvfp4_te_2d_ref", "nvfp4_modelopt"])
def test_the_copied_command_of_an_own_recipe_gives_its_codes(page, tmp_path, recipe):
    """Random words, blocks of rows, a tensor maximum and a last block that is not full: all of it is in the line that emu_ref fills."""
    rows, columns = {"ufp4_sr": (2, 24), "nvfp4_te_2d_ref": (16, 32), "nvfp4_modelopt": (1, 32)}[recipe]
    x = [round(0.375 * (i * 7 % 19 - 9), 3) for i in range(rows * columns)]
    amax, other = "3.5" if recipe == "nvfp4_modelopt" else "", "ufp4" if recipe == "ufp4_sr" else "nvfp4_te_ref"
    place = link("block", a=recipe, b=other, rows=rows, x=str(x), amax=amax)
    fault, name, copied, shown, codes = answers(page, COPIED, tmp_path, place.removeprefix("#"))
    assert (fault, name) == ("", "mine") and "emu_ref fill quantize/mine" in shown and copied.endswith(f"{shown}\n")
    ran_, height = [line.split()[1:] for line in ran(copied, tmp_path) if line[0] == "a"], parse(f"quantize/{recipe}").block.facts.shape[0]
    lines = ran_[: rows // height * -(-columns // parse(f"quantize/{recipe}").block.facts.shape[1])]  # those of the other recipe follow
    contract = parse(f"quantize/{recipe}")
    height, width = contract.block.facts.shape
    across = -(-columns // width)
    for number, words in enumerate(lines):
        at = next(i for i, column in enumerate(contract.layout.columns) if column.name == "codes")
        got = unpack(int(words[at], 16), contract.layout.columns[at])
        top, left = number // across * height, number % across * width
        for i, code in enumerate(got):
            place_ = (top + i // width) * across * width + left + i % width
            assert codes[place_] == "open" or int(codes[place_], 16) == code, (number, i)
    assert len(lines) == rows // height * across
