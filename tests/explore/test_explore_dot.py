"""The Dot room: each stage of each row is what the reference model says; faults are noticed; a row that parts two machines does."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from support.explorer import answers, integer, link, planted, texts

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.contracts.contract import stored_bits
from emu.contracts.dot import rows as fused_rows
from emu.contracts.levels import rows as level_rows
from emu.contracts.text import dyadic, meaning
from emu.engines.datapath import run_add
from emu.engines.exact import datapath, levels
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.ops.order import Order
from emu.spec import derive
from emu.spec.contract import level_plans, plans
from emu.spec.levels import LevelsPlan

NONE = {"m2": "none", "m3": "none"}


def known(page: str) -> list:
    """Plans that the page offers: all but those whose facts the C reference does not take."""
    named = [plan for plan in (*plans(), *level_plans()) if plan.name in page]
    assert len(named) > 600
    return named


def code_near_one(fmt, draw) -> int:
    """A code whose value is a few binades from 1, or any at all."""
    for _ in range(64):
        code = int(draw.integers(0, 1 << min(derive.codes(fmt).bits, 62)))
        value = decode_code(code, fmt) if code < 1 << derive.codes(fmt).bits else None
        if value is not None and value.kind == "finite" and Fraction(1, 512) <= abs(value.signed) <= 512:
            return code
    return 0


def row_of(plan, number: int, draw):
    """A row of one or two instructions: every third of any bits, specials among them, the others near 1 and with zeros."""
    span = max(plan.facts.k, plan.block or 1)
    k, wild = span * (1 + number % 2), number % 3 == 0
    k += -k % plan.facts.k

    def code(fmt) -> int:
        return int(draw.integers(0, 1 << stored_bits(fmt), dtype=np.uint64)) if wild and number % 2 else code_near_one(fmt, draw)

    def codes(fmt, count: int) -> tuple[int, ...]:
        found = [code(fmt) if draw.integers(0, 3) else 0 for _ in range(count)]
        if wild:  # a code of any bits among ordinary ones
            found[int(draw.integers(0, count))] = int(draw.integers(0, 1 << stored_bits(fmt), dtype=np.uint64))
        return tuple(found)

    blocks = k // plan.block if plan.scale is not None else 0
    scales = [tuple(code(plan.scale) for _ in range(blocks)) for _ in "ab"]
    if wild and blocks and number % 2 == 0:  # a bit that the format does not use, where it has one
        scales[0] = (1 << stored_bits(plan.scale) - 1, *scales[0][1:])
    c = None if plan.c is None else code(plan.c)
    if isinstance(plan, LevelsPlan):
        words = tuple(int(draw.integers(0, 1 << item[-1])) if isinstance(item[-1], int) else 0 for item in plan.draws(k))
        return level_rows.LevelsRow(codes(plan.a, k), codes(plan.b, k), *scales, c, tuple(0 for _ in words))
    return fused_rows.DotRow(codes(plan.a, k), codes(plan.b, k), *scales, c)


def state_of(row, plan) -> dict:
    told = row.texts(plan)
    return {"m1": plan.name, **NONE, **{name: told.get(name, "") for name in ("a", "b", "sa", "sb", "c")}}


def expected(row, plan) -> dict | None:
    """What the page must say of a row, by the reference model; None: nobody knows the result."""
    module = levels if isinstance(plan, LevelsPlan) else datapath
    try:
        found = module.dot(*row, plan)
    except (OpenError, OperandError):
        return None
    except ShapeError:
        return {"refused": True}
    return {"code": found.code, "found": found}


def term_facts(term) -> tuple[Fraction, int, bool]:
    return term.significand * power_of_two(term.exp - term.frac_bits), term.exp, term.live


def wrong_fused(said: dict, found, plan, c: int) -> str:
    """What differs between the steps that are shown and those of the reference model; empty: nothing."""
    told = [step for chain in said["chains"] for step in chain["steps"]]
    if any(step.special for step in found.steps) and plan.accumulator is not None:
        return "" if told[0]["special"] else "special"
    if len(told) != len(found.steps):
        return "count"
    if plan.accumulator is None and [int(step["c"]["code"], 16) for step in told] != [c, *(step.code for step in found.steps[:-1])]:
        return "c"
    return next(filter(None, (wrong_step(shown, step, plan) for shown, step in zip(told, found.steps, strict=True))), "")


def wrong_step(shown: dict, step, plan) -> str:
    if bool(step.special) != bool(shown["special"]):
        return "special"
    if plan.accumulator is None and integer(shown["raw"]) != step.code:
        return "code"
    if step.special:
        return ""
    if shown.get("total") is not None and (integer(shown["total"]), shown["lsb"]) != (step.total, step.lsb_exp):
        return "total"
    if step.exp is not None and shown["exp"] is not None and shown["exp"] != step.exp:
        return "exp"
    if step.aligned_c is not None and shown.get("alignedC") is not None and integer(shown["alignedC"]) != step.aligned_c:
        return "aligned c"
    if plan.facts.scale.apply == "promote":
        notes = [int(item["code"], 16) for _, item in shown["notes"]]
        return "" if notes == [step.parts[0], step.scale_codes[0], step.term_codes[0]] else "promote"
    if len(shown["terms"]) != len(step.terms):
        return "terms"
    return next((why for i, term in enumerate(shown["terms"]) if (why := wrong_term(term, i, step, plan))), "")


def wrong_term(term: dict, place: int, step, plan) -> str:
    value, exp, live = term_facts(step.terms[place])
    given = integer(term["number"]["n"]) * power_of_two(term["number"]["e"])
    if (given, term["value"], term["live"]) != (value, dyadic(value), live) or (live and term["exp"] != exp):
        return "term"
    if term["aligned"] is None or plan.late_c is not None:
        return ""
    aligned = step.aligned[place]
    lost = value - aligned * power_of_two(step.lsb_exp)
    return "" if (integer(term["aligned"]), term["lost"]) == (aligned, dyadic(lost)) else "aligned"


def held_text(held) -> str:
    if not isinstance(held, levels.Number):
        return {"nan": "NaN", "+inf": "infinity", "-inf": "-infinity"}[held]
    if not held.significand:
        return "-0" if held.negative else "0"
    return dyadic(held.significand * power_of_two(held.lsb_exp))


def wrong_levels(said: dict, found, plan) -> str:
    """What differs between the nodes that are shown and the stages of the reference model; empty: nothing."""
    for i, item in enumerate(said["products"]):
        stage = found.stages.get(f"product_{i}")
        if (item["text"] if item else None) != (None if stage is None else held_text(stage)):
            return f"product_{i}"
    nodes = [node for level in said["levels"] for node in level["nodes"]]
    return next((why for node in nodes if (why := wrong_node(node, found.stages))), "")


def wrong_node(node: dict, stages: dict) -> str:
    stage = stages.get(node["name"])
    if node["left"] != ("" if stage is None else held_text(stage)):
        return node["name"]
    for turn, lot in enumerate(node["lots"]):
        running = stages.get(f"{node['name']}_{turn}")
        if running is not None and lot["left"] != held_text(running):
            return f"{node['name']}_{turn}"
        if lot["exact"] and lot["lost"] and isinstance(running, levels.Number):
            held = running.significand * power_of_two(running.lsb_exp)
            if from_text(lot["exact"]) - held != from_text(lot["lost"]):
                return "lost"
    return ""


def from_text(text: str) -> Fraction:
    """The number that emu writes as 48, -0.25, 2^-144 or -3*2^-175."""
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    odd, _, power = text.partition("*2^") if "*" in text else ("1", "", text[2:]) if text.startswith("2^") else (text, "", "0")
    return sign * Fraction(odd) * power_of_two(int(power))


def wrong(rows: list[tuple], said: list[dict]) -> list[tuple]:
    """Rows on which the page and the reference model differ, with what differs."""
    out = []
    for (row, plan), told in zip(rows, said, strict=True):
        wanted = expected(row, plan)
        run = None if "refused" in told else told["runs"][0]
        if wanted is None:
            why = "" if run is not None and run["open"] and run["d"] == run["value"] == "open" else "not open"
        elif run is None or "refused" in wanted:
            why = "" if run is None and "refused" in wanted else str(told.get("refused", "not refused"))
        else:
            value = meaning(wanted["code"], plan.d).replace("nan", "NaN").replace("+inf", "infinity").replace("-inf", "-infinity")
            why = "" if (int(run["d"], 16), run["value"]) == (wanted["code"], value) else "code"
            args = (run, wanted["found"], plan)
            why = why or (wrong_levels(*args) if isinstance(plan, LevelsPlan) else wrong_fused(*args, row.c))
            why = why or ("" if f"gives {run['d']}, which is {value}" in told["sentence"] else "sentence")
        if why:
            out.append((plan.name, why, row))
    return out


def rows_over(found: list, count: int) -> list[tuple]:
    draw = np.random.Generator(np.random.Philox(23))
    in_levels = [plan for plan in found if isinstance(plan, LevelsPlan)]
    fused = [plan for plan in found if not isinstance(plan, LevelsPlan)]
    families = [list(group) for _, group in itertools.groupby(fused, key=lambda plan: plan.datapath.id)]
    out = []
    for i in range(count):
        if i % 4 == 0:
            plan = in_levels[i // 4 % len(in_levels)]
        else:
            family = families[i % len(families)]
            plan = family[int(draw.integers(0, len(family)))]
        out.append((row_of(plan, i // 3, draw), plan))
    return out


def ask(page: str, rows: list[tuple], folder) -> list[dict]:
    said: list[dict] = []
    for start in range(0, len(rows), 250):
        said += texts(page, [link("dot", **state_of(*item)) for item in rows[start : start + 250]], folder)
    return said


def test_dot_products_are_those_of_the_reference_model(page, tmp_path):
    rows = rows_over(known(page), 2000)
    said = ask(page, rows, tmp_path)
    found = wrong(rows, said)
    assert not found, (len(found), sorted({item[:2] for item in found}), found[0])
    values = [told["runs"][0]["value"] for told in said if "refused" not in told]
    assert {"NaN", "infinity", "-infinity", "open"} <= set(values)
    assert sum(text not in ("NaN", "infinity", "-infinity", "open", "0") for text in values) > 1200


ORDERS = [
    Order(split_k=split, parts=parts, direction=direction, combine=combine)
    for split in (1, 2, 3, 4)
    for parts in ("consecutive", "interleaved")
    for direction in ("ascending", "descending")
    for combine in ("ascending", "pairwise")
]


def test_orders_and_splits_are_those_of_the_reference_model(page, tmp_path):
    draw = np.random.Generator(np.random.Philox(24))
    chosen = {
        plan.name: plan
        for plan in known(page)
        if plan.name in ("hopper_fp8/e4m3xe4m3", "blackwell_mxf4nvf4_b16_ue4m3", "late_c/e1m2xe1m2/ue4m3/16")
    }
    rows, links = [], []
    for (name, plan), order in itertools.product(chosen.items(), ORDERS):
        base = [row_of(plan, 1, draw) for _ in range(2)]
        row = fused_rows.DotRow(*(sum((item[i] for item in base), ()) for i in range(4)), base[0].c)
        count = len(row.a) // plan.facts.k
        assert count == 4, name
        rows.append((row, plan, order))
        words = {"split": order.split_k, "parts": order.parts, "direction": order.direction, "combine": order.combine}
        links.append(link("dot", **state_of(row, plan), **words))
    different = set()
    for (row, plan, order), said in zip(rows, texts(page, links, tmp_path), strict=True):
        found = []
        for number, chain in enumerate(order.chains(4)):
            part = [tuple(code for i in chain for code in codes[i * size : (i + 1) * size]) for codes, size in sized(row, plan)]
            found.append(datapath.dot(*part, 0 if number else row.c, plan).code)
        while len(found) > 1:
            pairs = [found[:2], *([item] for item in found[2:])]
            if order.combine == "pairwise":
                pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
            found = [added(pair, plan) if len(pair) > 1 else pair[0] for pair in pairs]
        assert int(said["runs"][0]["d"], 16) == found[0], (plan.name, order)
        different.add((plan.name, found[0]))
    assert len(different) > 6


def sized(row, plan):
    blocks = plan.facts.k // plan.block if plan.block else 0
    return (row.a, plan.facts.k), (row.b, plan.facts.k), (row.scale_a, blocks), (row.scale_b, blocks)


def added(pair: list[int], plan) -> int:
    x, y = (np.array([[code]], np.uint64).astype(f"uint{8 * max(derive.codes(plan.d).bits // 8, 1)}") for code in pair)
    return int(run_add(x, y, plan, "exact")[0, 0])


PARTED = (
    ("hopper_fp8/e4m3xe4m3", "ada_fp8/e4m3xe4m3"),
    ("hopper_fp8/e4m3xe4m3", "blackwell_f8f6f4/e4m3xe4m3"),
    ("blackwell_mxf4nvf4_b16_ue4m3", "ideal/e2m1xe2m1/ue4m3/16"),
    ("nv_like/e1m2xe1m2/ue4m3/16", "cheap/e1m2xe1m2/ue4m3/16"),
    ("int12_cut", "int12_wrap"),
    ("int12_saturate", "int12_wrap"),
    ("rvbna4_rne", "rvbna4_odd"),
    ("int20_saturate", "int20_wrap"),
    ("bf16_pairwise", "products_12bit"),
)


def test_a_small_row_parts_two_machines(page, tmp_path):
    script = f"""return {[list(pair) for pair in PARTED]}.map(([x, y]) => {{
        const found = explorer.smallestDifference(x, y), state = new URLSearchParams({{m1: x, m2: y, m3: "none", ...found.state}});
        return {{row: found.row, count: found.count, sentence: explorer.text("#dot?" + state)}}; }});"""
    by_name = {plan.name: plan for plan in known(page)}
    for pair, said in zip(PARTED, answers(page, script, tmp_path), strict=True):
        both = [by_name[name] for name in pair]
        codes = {name: tuple(integer(code) for code in said["row"][name]) for name in ("a", "b", "sa", "sb")}
        c = None if said["row"]["c"] is None else integer(said["row"]["c"])

        def result(codes, plan, c=c):
            k = len(codes["a"])
            if isinstance(plan, LevelsPlan):
                return levels.dot(codes["a"], codes["b"], codes["sa"], codes["sb"], c, (0,) * len(plan.draws(k)), plan).code
            return datapath.dot(codes["a"], codes["b"], codes["sa"], codes["sb"], c, plan).code

        def parts(codes, both=both, result=result):
            x, y = (decode_code(result(codes, plan), plan.d) for plan in both)
            return x != y

        assert parts(codes), pair
        assert said["count"] == sum(map(bool, (x | y for x, y in zip(codes["a"], codes["b"], strict=True))))
        for i, (x, y) in enumerate(zip(codes["a"], codes["b"], strict=True)):
            less = {name: tuple(0 if k == i and name in "ab" else code for k, code in enumerate(row)) for name, row in codes.items()}
            assert not (x or y) or not parts(less), (pair, i)  # no product can be left out
        runs = said["sentence"]["runs"]
        assert [int(run["d"], 16) for run in runs] == [result(codes, plan) for plan in both] and not said["sentence"]["same"]


FAULTS = {
    "shifted out turned round": ("minus(number, {n: aligned, e: step.lsb})", "minus({n: aligned, e: step.lsb}, number)"),
    "aligned without its sign": ("BigInt.asIntN(1280, limbsAt(at))", "limbsAt(at) & 0xffffffffn"),
    "an unlike exponent": ("exp: Number(exp), live", "exp: Number(lsb), live"),
    "C of the wrong step": ("before = steps.at(-1).raw;", "before = row.c;"),
    "live forgotten": ("live: Boolean(live), aligned", "live: true, aligned"),
    "scales of b lost": ("placeCodes(row.sb), placeCodes([row.c])]", "placeCodes(row.sa), placeCodes([row.c])]"),
    "C lost": ("placeCodes(row.sb), placeCodes([row.c])]", "placeCodes(row.sb), placeCodes([0n])]"),
    "random integers that are not zero": ("random = Array(draws).fill(0)", "random = Array(draws).fill(255)"),
    "stage of another node": ("stageNumber(Number(stages), at) :", "stageNumber(Number(stages), at ^ 1) :"),
    "a zero's sign": ('!magnitude && negative ? "-0"', '!magnitude && negative ? "0"'),
    "a number's sign in levels": ("{n: sign ? -magnitude : magnitude, e: lsb}", "{n: magnitude, e: lsb}"),
    "open said as a code": ('run.d = run.open ? "open"', 'run.d = false ? "open"'),
    "infinity's sign": ('=== "NaN" ? "NaN" : sign ? "-infinity"', '=== "NaN" ? "NaN" : sign ? "infinity"'),
    "unit of the total": ("step.lsb = Number(lsb);", "step.lsb = Number(lsb) + 1;"),
    "powers in a text": ("`${sign}${odd}*2^${e}`", "`${sign}${odd}*2^${e + 1}`"),
}  # fmt: skip


RARE = ("open said as a code", "infinity's sign")  # of few rows


@pytest.mark.cases(3, 0)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_room_is_noticed(page, tmp_path, fault):
    rows = rows_over(known(page), 1200 if fault in RARE else 250)
    assert wrong(rows, ask(planted(page, *FAULTS[fault]), rows, tmp_path))


USE = """
const at = selector => document.querySelector(selector), out = {};
const change = (name, value) => {
  const item = at(`[name=${name}]`);
  item.value = value; item.dispatchEvent(new Event("change", {bubbles: true}));
};
const said = () => at("#sentence") ? at("#sentence").textContent : null;
out.start = said(); out.runs = document.querySelectorAll(".machines section").length;
out.lanes = document.querySelectorAll("svg.lanes").length;
out.lost = document.querySelectorAll("svg.lanes .lost").length;
change("split", "2"); out.split = said(); out.joined = document.body.textContent.includes("Chains joined");
change("split", "1"); change("turn", "1"); out.turn = at("#shell").textContent;
change("turn", "0"); change("m1", "int12_wrap"); out.other = said(); out.fault = at("#fault").textContent; out.m2 = at("[name=m2]").value;
change("m2", "int12_cut"); at("#part-them").click(); out.parted = said(); out.count = document.querySelectorAll(".machines section").length;
change("a", "1"); out.short = at("#fault").textContent; out.gone = said(); out.form = Boolean(at("[name=a]"));
change("a", "[1, 2]"); out.few = at("#fault").textContent;
out.labels = [...document.querySelectorAll("input, select, textarea, button")]
  .every(item => item.closest("label") || item.getAttribute("aria-label") || item.textContent);
return out;
"""


def test_the_room_answers(page, tmp_path):
    said = answers(page, USE, tmp_path, "dot")
    assert said["start"].startswith(
        "The exact sum is 14745601*2^-15. hopper_fp8/e4m3xe4m3 gives 0x43E10000, which is 450: an error of -2^-15;"
    )
    assert said["start"].endswith(
        "hopper_fp8/e4m3xe4m3: step 0 shifts 2^-15 out of term 2; blackwell_f8f6f4/e4m3xe4m3: nothing is lost before D."
    )
    assert said["runs"] == 3 and said["lanes"] >= 3 and said["lost"] > 0
    assert said["joined"] and said["split"].startswith("The exact sum")
    assert "--a 380838" in said["turn"]
    assert said["m2"] != "none" and said["other"].startswith("The exact sum is 16. int12_wrap gives")
    assert "int12_cut" in said["parted"] and "They agree" not in said["parted"] and said["count"] == 2
    assert said["short"] == "a has 1 elements and b 16: give as many" and said["gone"] is None and said["form"]
    assert said["few"] == "a has 2 elements and b 16: give as many" and said["labels"]
    assert said["fault"] == ""


WRONG = {
    "dot?m1=none": "no such machine",
    "dot?m2=int12_cut": "takes other operands than",
    "dot?a=0x123": "each e4m3 code takes 2",
    "dot?a=38&b=38": "give a multiple of 32",
    "dot?split=3": "2 instructions along K",
    "dot?m1=int64%2Fe1m2xe1m2%2F16&m2=none&m3=none&a=" + "0" * 128 + "&b=" + "0" * 128 + "&split=2": "split must be 1",
    "dot?c=1": "each fp32 code takes 8",
    "dot?turn=x": "write a number from 0",
    "dot?a=" + "[1e9]": "beyond the largest",
}


def test_a_wrong_link_says_what_is_wrong(page, tmp_path):
    for (link_, fault), said in zip(WRONG.items(), texts(page, list(WRONG), tmp_path), strict=True):
        assert fault in said.get("refused", ""), (link_, said)
