"""Links into the explorer's page: what they say, that reports print them, and where there is none."""

from itertools import product
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from emu.base.errors import SpecError
from emu.cli.main import run
from emu.contracts import parse
from emu.contracts.convert.contract import split_rounding
from emu.contracts.dot.rows import row_of
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.exact.block import quantize
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.transform import transform_codes
from emu.explain.link import (
    MOST,
    NO_ROOM,
    OBJECTS,
    lines_of_values,
    link,
    of_dot,
    of_lane,
    of_operands,
    of_values,
    see,
)
from emu.rtl.mismatch.lines import parse_log
from emu.spec import derive, get
from emu.spec.datapath import resolve
from emu.spec.derive import OPEN
from emu.spec.instruction import all_forms, questions
from emu.spec.models.rounding import Word
from emu.spec.registry import digest, names, replaced
from emu.vectors.suites.plan import find


def fields(made: str) -> dict[str, str]:
    room, _, words = made.partition("?")
    assert room in OBJECTS
    return {name: values[0] for name, values in parse_qs(words, keep_blank_values=True).items()}


def test_a_link_names_its_objects_by_their_facts():
    made = link("block", a="mxfp4_torchao_floor", b="mxfp4_triton_up", x="1 2")
    assert made.startswith("block?a=mxfp4_torchao_floor&b=mxfp4_triton_up&x=1+2&spec=")
    assert fields(made)["spec"] == digest(get("recipe", "mxfp4_torchao_floor"))[:8] + digest(get("recipe", "mxfp4_triton_up"))[:8]
    assert fields(link("dot", m1="hopper_fp8/e4m3xe4m3", m2="none"))["spec"] == digest(get("datapath", "hopper_fp8"))[:8]
    assert fields(link("block", a="mxfp4_torchao_floor", rotate="rht16_te"))["spec"][8:] == digest(get("transform", "rht16_te"))[:8]
    assert fields(link("block", a="mxfp4_torchao_floor", rotate="none"))["spec"] == digest(get("recipe", "mxfp4_torchao_floor"))[:8]
    assert see(made) == [f"see it: emu explore --open '{made}'"] and see(None) == [NO_ROOM]
    with pytest.raises(SpecError):
        link("block", a="no_such_recipe")


def test_a_changed_fact_changes_the_link():
    before = link("number", to="e2m1", round="rne")
    fmt = get("format", "e2m1")
    changed = fmt.model_copy(update={"facts": fmt.facts.model_copy(update={"bias": fmt.facts.bias + 1})})
    with replaced(changed):
        assert link("number", to="e2m1", round="rne") != before
    assert link("number", to="e2m1", round="rne") == before


CONTRACTS = {
    "convert/e2m1/rne/nvidia": True,
    "convert/e2m1/sr_add8/nvidia": True,
    "quantize/mxfp4_torchao_floor": True,
    "quantize/nvfp4_modelopt": True,
    "quantize/nvfp4_te_2d_ref": True,
    "quantize/ufp4_sr": True,
    "dot/hopper_fp8/e4m3xe4m3": True,
    "dot/int12_cut": True,
    "dequantize/mxfp4_torchao_floor/torchao": True,
    "decode/e2m1": True,
    "transform/rht16_te": True,
    "accumulate/systolic_4way": True,
    "layout/nvfp4/sf128x4": True,
    "convert/binary8p3se/rne/p3109_sat_finite": True,
    "decode/binary8p3se": True,
    "operate/multiply/binary8p3se/binary8p3se/rne/p3109_sat_none": True,
    "operate/compare_less/binary8p3se": False,
}


@pytest.mark.cases(6)
@pytest.mark.parametrize("text", CONTRACTS)
def test_rows_have_links_where_a_room_shows_them(text):
    operation = parse(text)
    case = next(iter(operation.suites())).cases(0, 1)[0]
    made = of_values(operation, case.values).link
    assert (made is not None) == CONTRACTS[text]
    if operation.name.op == "dot":
        assert fields(made)["m1"] == operation.plan.name and fields(made)["a"] == operation.taken(case.values).texts(operation.plan)["a"]


def test_operands_of_a_check_have_links():
    convert = parse("convert/e2m1/rne/nvidia")
    made = of_operands(convert, {"codes": np.array([[1, 0x40200000]], np.uint32)}, (0, 1)).link
    assert fields(made) | {"spec": ""} == {
        "from": "fp32", "code": "0x40200000", "to": "e2m1", "round": "rne", "policy": "nvidia", "r": "0", "spec": "",
    }  # fmt: skip
    quantize = parse("quantize/mxfp4_torchao_floor")
    x = np.arange(64, dtype=np.uint32).reshape(2, 32)
    made = of_operands(quantize, {"x": x}, (1, 3)).link
    assert fields(made)["x"].split()[:2] == ["0x00000020", "0x00000021"] and fields(made)["a"] == "mxfp4_torchao_floor"
    assert of_operands(quantize, {"x": x[:, :31]}).link is None  # no whole block
    dot = parse("dot/hopper_fp8/e4m3xe4m3")
    codes = np.full((2, 32), 0x38, np.uint8)
    made = of_operands(dot, {"a": codes, "b": codes, "c": np.array([0, 0x3F800000], np.uint32)}, (1,)).link
    assert fields(made)["c"] == "3f800000" and fields(made)["a"] == "38" * 32


@pytest.mark.parametrize("rounding", [name for name in names("rounding") if get("rounding", name).random_bits])
def test_a_link_carries_what_was_drawn(rounding):
    """Of a word that values share also the word and the place in it; of each value the integer that its own row of a suite has."""
    contract = parse(f"convert/e2m1/{rounding}/nvidia")
    shared = isinstance(get("rounding", rounding).facts.random, Word)
    form = contract.form(contract.fmt)
    assert form.draws is not None
    lanes, bits = form.draws.random_operand
    words = np.random.Generator(np.random.Philox(9)).integers(0, 1 << bits, -(-10 // lanes), np.uint64)
    operands = {"codes": np.arange(0x40200000, 0x4020000A, dtype=np.uint32).reshape(2, 5), "random": words}
    flat = operands | {"codes": operands["codes"].reshape(-1)}
    found = [fields(of_operands(contract, operands, divmod(place, 5)).link) for place in range(10)]
    assert [int(each["r"]) for each in found] == [form.row(flat, place)[1] for place in range(10)]
    assert len({each["r"] for each in found}) > 2
    for place, each in enumerate(found):
        assert ("word" in each) == shared
        if shared:
            assert (int(each["word"], 16), int(each["lane"])) == (words[place // lanes], place % lanes)


@pytest.mark.parametrize("random", [None, np.zeros(1, np.uint32)])
def test_what_was_not_handed_over_is_no_zero(random):
    """A kernel that draws by itself: nobody knows which integer it was."""
    operands = {"codes": np.zeros(9, np.uint32)} | ({} if random is None else {"random": random})
    found = of_operands(parse("convert/e2m1/sr_te_sw8/nvidia"), operands, (3,))
    assert found.link is None and "random" in found.what


@pytest.mark.cases(1)  # the drawn rows of the other take seconds
@pytest.mark.parametrize("name", ["accumulate/int64/e1m2xe1m2/16", "accumulate/systolic_4way"])
def test_operands_of_a_check_of_a_chain_have_links(name):
    chain = parse(name)
    cases = next(iter(chain.suites())).cases(0, 8)
    ((operands, members),) = chain.form(get("format", "fp32")).stacked(cases)
    places = [of_operands(chain, operands, (number,)).link for number in range(len(members))]
    assert places == [of_values(chain, case.values).link for case in members] and len(set(places)) == len(members) == 8
    assert ("acc" in fields(places[1])) == ("int64" in name)


def test_operands_of_a_check_of_codes_and_groups_have_links():
    decode, turn = parse("decode/e2m1"), parse("transform/rht16_ufp4", "bf16")
    assert fields(of_operands(decode, {"codes": np.array([1, 5], np.uint8)}, (1,)).link)["code"] == "0x5"
    assert fields(of_operands(decode, {"codes": np.array([7], np.uint8)}).link)["from"] == "e2m1"
    x = np.arange(64, dtype=np.uint16).reshape(2, 32)
    made = fields(of_operands(turn, {"x": x, "signs": np.uint16(0xABCD)}, (1, 17)).link)
    assert [int(code, 16) for code in made["x"].split()] == [*range(48, 64)] and (made["signs"], made["from"]) == ("0xABCD", "bf16")
    assert made["rotate"] == "rht16_ufp4" and of_operands(turn, {"x": x[:, :8], "signs": np.uint16(1)}, (0, 0)).link is None


def test_a_code_is_a_number_of_binary32_with_its_infinities():
    made = fields(of_values(parse("decode/e5m2"), (0x7C,)).link)
    assert (made["from"], made["code"], made["to"], made["policy"]) == ("e5m2", "0x7C", "fp32", "ieee")


def test_a_member_of_a_series_comes_with_its_facts_and_has_no_digits():
    to, policy = get("format", "binary8p3se"), get("policy", "p3109_sat_none")
    made = fields(of_values(parse("convert/binary8p3se/rne/p3109_sat_none"), (1,)).link)
    assert made["own"] == descriptor_text([to, policy]).rpartition("end ")[0] and made["spec"][8:16] == "--------"
    decoded = fields(of_values(parse("decode/binary8p3se"), (1,)).link)
    assert decoded["own"] == descriptor_text([to]).rpartition("end ")[0] and decoded["spec"][:8] == "--------"
    assert "own" not in fields(of_values(parse("decode/e4m3"), (1,)).link)


def test_links_of_tiles_hold_every_row_and_those_of_drawn_values_their_words():
    tiles, drawn = parse("quantize/nvfp4_te_2d_ref"), parse("quantize/ufp4_sr")
    x = np.arange(48 * 32, dtype=np.uint32).reshape(48, 32)
    made = fields(of_operands(tiles, {"x": x, "tensor_amax": np.uint32([0x40000000])}, (33, 5)).link)
    assert made["rows"] == "16" and [int(code, 16) for code in made["x"].split()] == [*range(32 * 32, 48 * 32)]
    assert of_operands(tiles, {"x": x}, (33, 5)).link is None  # the maximum of all the tiles is not told
    assert fields(of_operands(tiles, {"x": x[:16]}, (3, 5)).link)["amax"] == ""
    half = fields(of_operands(tiles, {"x": x[:40], "tensor_amax": np.uint32([0x40000000])}, (33, 5)).link)  # filled up with zeros
    assert half["rows"] == "8" and [int(code, 16) for code in half["x"].split()] == [*range(32 * 32, 40 * 32)]
    assert fields(of_operands(tiles, {"x": x[:7, :20]}, (3, 5)).link)["rows"] == "7"
    assert of_operands(tiles, {"x": np.zeros((16, 48), np.uint32)}, (0, 0)).link is None  # a part of them has another maximum
    words = np.arange(96, dtype=np.uint64).reshape(3, 32)
    made = fields(of_operands(drawn, {"x": x[:3], "random": words}, (2, 1)).link)
    assert "rows" not in made and [int(word, 16) for word in made["random"].split()] == [*range(64, 96)]
    assert [int(code, 16) for code in made["x"].split()] == [*range(64, 96)]
    assert of_operands(drawn, {"x": x[:3]}, (2, 1)).link is None  # the words are not told
    (case,) = drawn.draw(5, 6)
    assert [int(word, 16) for word in fields(of_values(drawn, case.values).link)["random"].split()] == drawn.taken(case.values)[2][0]


def test_links_of_recipes_that_rotate_hold_their_signs():
    x, signs = np.arange(0x3F800000, 0x3F800000 + 48, dtype=np.uint32).reshape(2, 24) ** 2, np.array(0xBEEF, "u4")
    made = of_operands(parse("quantize/ufp4"), {"x": x, "signs": signs}, (1, 3)).link
    assert fields(made)["signs"] == "0xBEEF" and "rotate" not in fields(made)
    wanted = quantize(get("recipe", "ufp4"), x.tolist(), get("format", "fp32"), signs=0xBEEF)
    assert answer_of(made) == [*wanted.codes[1], *wanted.levels["scale"][1]]
    assert "signs" not in fields(of_operands(parse("quantize/ufp4"), {"x": x}, (1, 3)).link)


@pytest.mark.parametrize("name", ["operate/multiply/binary8p3se/binary8p3se/rne/p3109_sat_none", "insn/v_cvt_scalef32_pk_fp4_f32"])
def test_operands_of_a_check_of_rows_have_links_and_say_what_they_show(name):
    operation = parse(name)
    cases = next(iter(operation.suites())).cases(0, 24)
    ((operands, members),) = operation.form(get("format", "fp32")).stacked(cases)
    places = [(number, lane) if name.startswith("insn") else (number,) for number in range(len(members)) for lane in (0, 1)]
    found = [of_operands(operation, operands, place) for place in places]
    wanted = [of_values(operation, members[number].values, *lane) for number, *lane in places]
    assert found == wanted
    assert {part.what for part in found} >= ({"lane 0", "lane 1, moved by the scale"} if "insn" in name else {"its exact result, rounded"})


INSTRUCTIONS = [find(file.stem).operation for file in sorted((Path(__file__).parents[2] / "vectors" / "insn").glob("*__smoke.tv"))]


def answer_of(made: str) -> list[int]:
    """What the reference model gives for a link into Number or Block: one code, or the codes of a row and of its scales."""
    room, said = made.partition("?")[0], fields(made)
    source = get("format", said.get("from", "fp32"))
    if room == "number":
        rounding, policy = split_rounding(get("rounding", said["round"])), get("policy", said["policy"])
        drawn = int(said["r"]) if rounding.random_bits else None
        entry = derive.policy_entry(policy, get("format", said["to"]))
        return [convert_value(decode_code(int(said["code"], 16), source), get("format", said["to"]), rounding, entry, drawn)]
    x, amax = [int(code, 16) for code in said["x"].split()], int(said["amax"], 16) if said["amax"] else None
    signs = int(said["signs"], 16) if said.get("signs") else None
    if "rotate" in said:
        turned = get("transform", said["rotate"])
        groups = [x[first : first + turned.facts.size] for first in range(0, len(x), turned.facts.size)]
        x, source = [code for group in groups for code in transform_codes(group, source, turned, signs)], get("format", turned.facts.result)
        signs = None
    made_of = quantize(get("recipe", said["a"]), [x], source, tensor_amax=amax, signs=signs, masked=True)
    return [*made_of.codes[0], *made_of.levels["scale"][0]]


def opened(operation, values: tuple[int, ...], lane: int) -> str:
    """Check that the link of a lane gives its answer, or that the lane has none; what is said of it."""
    wanted, *more = operation.exact(values)
    made, what = of_lane(operation, values, lane)
    if made is None:
        assert wanted[lane] == OPEN or "no number of" in what, (operation.name, values, lane, what)
    elif operation.facts.performs == "quantize":
        assert answer_of(made) == [*wanted, *more[0]], (operation.name, values)
    else:
        assert answer_of(made) == [wanted[lane]], (operation.name, values, lane, what)
    (line,) = lines_of_values(operation, values, lane)
    assert line == (f"no link: {operation.name}: {what}" if made is None else f"see it{what and f' ({what})'}: emu explore --open '{made}'")
    return what


@pytest.mark.cases(len(INSTRUCTIONS), 0)
@pytest.mark.parametrize("operation", INSTRUCTIONS, ids=lambda operation: operation.part)
def test_the_link_of_a_lane_gives_the_answer_of_the_lane(operation):
    cases, lanes = next(iter(operation.suites())).cases(0, 200), 1 if operation.facts.performs == "quantize" else operation.lanes
    said = [opened(operation, case.values, lane) for case in cases[:: -(-len(cases) // 24)] for lane in range(lanes)]
    assert len(said) >= 4 and any("lane" in what for what in said) == (operation.lanes > 1 and operation.facts.performs != "quantize")
    assert any("flags" in what for what in said) == operation.has_flags
    assert any("moved" in what for what in said) == (operation.facts.scale is not None)


@pytest.mark.exhaustive
def test_every_form_of_an_instruction_has_links_that_give_its_answers():
    names_of = [
        "/".join(("insn", form.id, *chosen))
        for family, form in all_forms()
        if form.facts.performs != "mma"
        for chosen in product(*questions(family, form).values())
    ]
    assert len(names_of) > 239
    for number, name in enumerate(names_of):
        operation = parse(name)
        for case in operation.draw(number % 2, number % 2 + 1):
            opened(operation, case.values, 0 if operation.facts.performs == "quantize" else number % operation.lanes)


TILES = [name for name in names("recipe") if "_tile128_" in name]


@pytest.mark.parametrize("number", range(8))
def test_an_answer_in_a_large_tile_opens_its_row_and_the_row_of_the_maximum(number):
    name, source = TILES[number % 4], ("fp32", "bf16")[number // 4]
    x = (np.random.Generator(np.random.Philox(number)).standard_normal((200, 150)) * 2.0 ** (number * 9 - 40)).astype(np.float32)
    x[number * 20, 3], x[150, 140] = x.max() * 4, -x.max() * 5
    codes = x.view(np.uint32) if source == "fp32" else (x.view(np.uint32) >> 16).astype(np.uint16)
    at = ((1, 2), (number * 20, 5), (140, 149))[number % 3]
    if number == 3:  # NaN: the sources leave all of what is asked open
        codes = codes[:128, :128]
        codes[77, 2] = 0x7FC00000
    wanted, levels = parse(f"quantize/{name}", source).numpy(codes, None, None)
    made = of_operands(parse(f"quantize/{name}", source), {"x": codes}, at)
    said, left = fields(made.link), at[1] // 128 * 128
    given = [int(code, 16) for code in said["x"].split()]
    rows = [given[i : i + len(given) // int(said["rows"])] for i in range(0, len(given), len(given) // int(said["rows"]))]
    found = quantize(get("recipe", name), rows, get("format", source), masked=True)
    assert found.codes[0] == wanted[at[0]][left : left + 128] and rows[0] == codes[at[0], left : left + 128].tolist()
    assert found.levels["scale"] == [[levels["scale"][at[0] // 128][at[1] // 128]]] and said["cell"] == str(at[1] - left)
    assert (len(rows) == 1) == (number % 3 == 1) and (found.codes[0][0] == OPEN) == (number == 3)
    assert made.what.startswith(f"row {at[0] % 128} of its tile" + ("" if len(rows) == 1 else ", and row "))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TILES)
def test_the_rows_of_a_large_tile_have_the_codes_of_the_reference_model(name):
    x = np.random.Generator(np.random.Philox(3)).standard_normal((128, 128)).astype(np.float32).view(np.uint32)
    wanted, source = quantize(get("recipe", name), x.tolist(), get("format", "fp32")), get("format", "fp32")
    for row in range(0, 128, 9):
        said = fields(of_operands(parse(f"quantize/{name}"), {"x": x}, (row, 0)).link)
        given = [int(code, 16) for code in said["x"].split()]
        found = quantize(get("recipe", name), [given[:128], given[128:]] if len(given) > 128 else [given], source)
        assert (found.codes[0], found.levels) == (wanted.codes[row], wanted.levels)


def test_a_tile_whose_scale_no_two_rows_have_says_so():
    recipe = get("recipe", "e4m3_tile128_compressed_tensors")
    first, *others = recipe.facts.steps
    far = others[0].model_copy(update={"out": "far", "op": "sub", "args": ("8", "x")})  # the largest is that of the zeros
    steps = (far, first.model_copy(update={"args": ("far",)}), *others)
    changed = recipe.model_copy(update={"facts": recipe.facts.model_copy(update={"steps": steps})})
    x = np.arange(0x3F800000, 0x3F800000 + 128 * 128, dtype=np.uint32).reshape(128, 128)
    with replaced(changed):
        part = of_operands(parse(f"quantize/{recipe.id}"), {"x": x}, (3, 4))
    assert part.link is None and part.what.endswith("and no part of so many has its scale")
    whole = recipe.model_copy(update={"facts": recipe.facts.model_copy(update={"tail": "error"})})
    with replaced(whole):
        part = of_operands(parse(f"quantize/{recipe.id}"), {"x": x}, (3, 4))
        back = of_operands(parse(f"dequantize/{recipe.id}/exact"), {"codes": np.zeros((128, 128), np.uint8), "scale": x[:1, :1]}, (3, 4))
    assert part == back == (None, "emu explore shows 512 values at most, and a tile has 128 x 128")


@pytest.mark.parametrize("name", TILES)
def test_a_value_of_a_large_tile_opens_its_row(name):
    contract = parse(f"dequantize/{name}/{next(iter(get('recipe', name).facts.dequantize))}")
    codes, scales = np.arange(200 * 150).reshape(200, 150).astype(np.uint8), np.array([[1, 2], [3, 4]], np.uint32) + 0x3F80
    for at in ((1, 2), (150, 3), (199, 149)):
        made = of_operands(contract, {"codes": codes, "scale": scales}, at)
        said, left = fields(made.link), at[1] // 128 * 128
        assert bytes.fromhex(said["codes"]) == codes[at[0], left : left + 128].tobytes() and made.what == f"row {at[0] % 128} of its tile"
        assert int(said["level0"], 16) == scales[at[0] // 128, at[1] // 128] and (said["rows"], said["element"]) == ("1", str(at[1] - left))


WHOLE = [name for name in names("recipe") if get("block", get("recipe", name).facts.block).facts.shape == (1, 1)]


@pytest.mark.parametrize("name", WHOLE)
def test_a_scale_of_a_whole_row_or_tensor_opens_the_row(name):
    quantized, profile = parse(f"quantize/{name}"), next(iter(get("recipe", name).facts.dequantize))
    x, amax = np.arange(0x3F800000, 0x3F800000 + 40, dtype=np.uint32).reshape(2, 20), 0x41000000
    x[1] += 0x01000001
    made = fields(of_operands(quantized, {"x": x, **({"tensor_amax": np.uint32([amax])} if quantized.reads_amax else {})}, (1, 3)).link)
    wanted = quantize(get("recipe", name), x.tolist(), get("format", "fp32"), tensor_amax=amax if quantized.reads_amax else None)
    opened = quantize(
        get("recipe", name), [[int(code, 16) for code in made["x"].split()]], get("format", "fp32"),
        tensor_amax=int(made["amax"], 16) if made["amax"] else None,
    )  # fmt: skip
    assert (opened.codes[0], opened.levels["scale"][-1]) == (wanted.codes[1], wanted.levels["scale"][-1])
    contract = parse(f"dequantize/{name}/{profile}")
    rows, shift = ([[0x3F80], [0x4000]] if "_row" in name else [[0x4000]]), 16 if contract.levels[0].format == "fp32" else 0
    scales = np.array(rows, np.uint32) << shift
    back = fields(of_operands(contract, {"codes": np.arange(40, dtype=np.uint8).reshape(2, 20), "scale": scales}, (1, 3)).link)
    assert (back["codes"], int(back["level0"], 16)) == ("17", int(scales[-1, 0]))


LONG = [  # recipe, place in 20 x 1056 values, what is shown of them
    ("mxfp4_torchao_floor", (1, 700), "elements 672 to 703 of its row"),
    ("nvfp4_te_ref", (0, 1055), "elements 1040 to 1055 of its row"),
    ("nvfp4_te_2d_ref", (17, 40), "elements 32 to 47 of its row"),
    ("e4m3_row_torchao", (1, 700), "elements 444 to 954 of its row, and element 3, which holds its maximum"),
    ("e4m3_row_torchao", (0, 1055), "elements 545 to 1055 of its row"),
    ("e4m3_row_torchao_bf16", (1, 0), "elements 0 to 510 of its row"),
    ("e4m3_tensor_torchao", (1, 300), "elements 44 to 554 of its row, and element 3, which holds its maximum"),
]


def long_row(name: str, at: tuple[int, int]):
    """A part of rows that are too long for the page, and the code of the answer by the reference model."""
    x = np.random.Generator(np.random.Philox(12)).standard_normal((20, 1056)).astype(np.float32)
    x[1, 3], x[0, 1000] = 9, -9
    contract, codes = parse(f"quantize/{name}"), x.view(np.uint32)
    operands = {"x": codes} | ({"tensor_amax": np.uint32([0x41200000])} if contract.reads_amax else {})
    first, tall = at[0] - at[0] % contract.rows, contract.rows
    wanted = quantize(
        contract.recipe, codes[first : first + tall].tolist(), contract.source, tensor_amax=0x41200000 if contract.reads_amax else None
    )
    return of_operands(contract, operands, at), wanted.codes[at[0] - first][at[1]]


@pytest.mark.parametrize(("name", "at", "what"), LONG)
def test_a_part_of_a_long_row_has_the_code_of_the_answer(name, at, what):
    made, wanted = long_row(name, at)
    said = fields(made.link)
    given, tall, cell = [int(code, 16) for code in said["x"].split()], int(said["rows"]), int(said["cell"])
    rows = [given[i : i + len(given) // tall] for i in range(0, len(given), len(given) // tall)]
    found = quantize(get("recipe", name), rows, get("format", "fp32"), tensor_amax=int(said["amax"], 16) if said["amax"] else None)
    assert [code for row in found.codes for code in row][cell] == wanted and made.what == what and len(given) <= MOST


def test_a_code_that_fills_a_tile_up_opens_the_last_values_that_are_given():
    x = np.arange(0x3F800000, 0x3F800000 + 1050, dtype=np.uint32)
    made = of_operands(
        parse("quantize/nvufp4"), {"x": x[None], "tensor_amax": np.uint32([0x40000000])}, (0, 1055)
    )  # filled up to 1,056 codes, which stay
    said = fields(made.link)
    assert [int(code, 16) for code in said["x"].split()] == x[1040:].tolist() and said["cell"] == "9"
    tiles, rows = parse("quantize/nvfp4_te_2d_ref"), np.arange(40 * 32, dtype=np.uint32).reshape(40, 32)
    made = fields(of_operands(tiles, {"x": rows, "tensor_amax": np.uint32([0x40000000])}, (47, 0)).link)
    assert [int(code, 16) for code in made["x"].split()] == rows[32:].reshape(-1).tolist()


def test_a_long_row_of_which_no_part_has_the_scale_says_so():
    made, _ = long_row("nvfp4_te_row_scaled", (0, 700))
    assert made == (None, "emu explore shows 512 values at most, and no part of so many has its scale")
    assert long_row("ufp4", (0, 700))[0] == (None, "")  # it rotates


def test_machines_stand_side_by_side_where_they_take_the_same():
    one, two = resolve("hopper_fp8", "e4m3", "e4m3"), resolve("ada_fp8", "e4m3", "e4m3")
    other = resolve("hopper_fp8", "e5m2", "e4m3")
    row = row_of(one, "38" * 32, "38" * 32, None, None, None)
    assert [fields(of_dot(row, one, *more))["m2"] for more in ((), (two,), (other,))] == ["none", two.name, "none"]
    assert of_dot(row._replace(a=row.a * 17, b=row.b * 17), one) is None  # longer than the page shows


SEE = "see it: emu explore --open '"


def test_explain_dot_says_how_to_see_it(capsys):
    assert run(["explain", "dot", "hopper_fp8/e4m3xe4m3", "--a", "38" * 32, "--b", "38" * 32]) == 0
    out, err = capsys.readouterr()
    assert "see it" not in out and err.startswith(f"{SEE}dot?m1=hopper_fp8%2Fe4m3xe4m3&m2=none")
    assert run(["explain", "dot", "int12_cut", "--a", "2" * 16, "--b", "2" * 16, "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("pair", [("hopper_fp8/e4m3xe4m3", "ada_fp8/e4m3xe4m3"), ("int12_cut", "int12_wrap")])
def test_a_comparison_says_how_to_see_its_example(pair, capsys):
    assert run(["compare-datapaths", *pair, "--rows", "2"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if "see it" in line)
    told = fields(line.strip().removeprefix(SEE).rstrip("'"))
    assert (told["m1"], told["m2"]) == pair


@pytest.mark.exhaustive
def test_a_mismatch_says_how_to_see_it(capsys):
    line = "MISMATCH suite=convert__fp32_to_e2m1__nvidia_rne__directed tc=28 out=y in=3e800001 want=1 got=0 mask=f"
    assert run(["explain", "mismatch", line]) == 0
    assert f"{SEE}number?from=fp32&code=0x3E800001&to=e2m1&round=rne&policy=nvidia&r=0&spec=" in capsys.readouterr().err


def test_a_mismatch_that_no_room_shows_says_so(capsys):
    lines = {
        "operate__binary4p2se_to_truth__compare_less__all tc=1 out=y in=0,0 want=0 got=1 mask=1": (
            "no link: operate/compare_less/binary4p2se: emu explore shows numbers that are rounded, and compare_less rounds none\n"
        ),
        "operate__binary8p3se_to_binary8p3se__recip_p3109_sat_none_rne__all tc=4 out=y in=03 want=7d got=00 mask=ff": (
            "see it (beside its exact result, the fp64 that rounds as it does): emu explore --open 'number?from=fp64&code=0x40E55"
        ),
    }
    for line, said in lines.items():
        assert run(["explain", "mismatch", f"MISMATCH suite={line}"]) == 0
        assert said in capsys.readouterr().err


def test_an_exact_result_that_fp64_lacks_opens_the_number_beside_it_that_rounds_alike():
    draw, seen = np.random.Generator(np.random.Philox(44)), 0
    for rounding in ("rne", "rna", "rz", "ru", "rd", "odd"):
        for name in ("recip/fp32/fp32", "recip/e5m2/e4m3", "add/fp32xfp32/bf16", "multiply/fp32xfp64/fp32"):
            operation = parse(f"operate/{name}/{rounding}/{'ieee' if 'e4m3' not in name else 'ocp_saturate'}")
            for _ in range(6):
                values = [int(draw.integers(0, 1 << derive.codes(fmt).bits, dtype=np.uint64)) for fmt in operation.sources]
                made, what = of_values(operation, values)
                if what.startswith("beside") and "sign" not in what:
                    seen += 1
                    assert fields(made)["from"] == "fp64" and answer_of(made) == list(operation.exact(values)[0])
    assert seen > 40
    third = of_values(parse("operate/recip/fp64/fp64/rne/ieee"), (0x4008000000000000,))
    assert third.link is None and third.what == "its exact result is no number of fp64"


LANES = {  # a row of an instruction -> what is said of it
    "insn__fp32x2_to_e2m1x2__v_cvt_scalef32_pk_fp4_f32__smoke tc=3 out=d in=3ff00000,40000000,40000000 want=22 got=32 mask=ff": (
        f"{SEE}number?from=fp32&code=0x3F800000&to=e2m1&round=rne&policy=amd&r=0&spec=".replace("it:", "it (lane 1, moved by the scale):")
    ),
    "insn__fp32x4_to_e4m3x4__vcvtps2hf8s_xmm__smoke tc=24 out=d in=7f8000007fc000007f8000007fc00000 want=0 got=10000 mask=ffffffff": (
        "no link: insn/vcvtps2hf8s_xmm: nobody states what becomes of the NaN in lane 2"
    ),
    "insn__fp32x1_to_fp16x1__fcvt_h_s_rne__smoke tc=1 out=fl in=00000001 want=03 got=00 mask=1f": (
        f"{SEE}number?from=fp32&code=0x1&to=fp16&round=rne&policy=ieee&r=0&spec=".replace("it:", "it (without its flags):")
    ),
}


@pytest.mark.parametrize("row", LANES)
def test_a_row_of_an_instruction_names_its_lane(row):
    (seen,) = parse_log([f"MISMATCH suite={row}"]).mismatches()
    operation = find(seen.suite).operation
    (line,) = lines_of_values(operation, [int(text, 16) for text in seen.given], seen.lane(operation.layout))
    assert line.startswith(LANES[row])


PACKED = "MISMATCH suite=insn__fp32x2_to_e2m1x2__v_cvt_scalef32_pk_fp4_f32__smoke tc=3 out=d in="


def test_the_lane_of_a_row_is_the_first_whose_known_bits_differ():
    layout, found = parse("insn/v_cvt_scalef32_pk_fp4_f32").layout, []
    for got, mask in (("23", "ff"), ("32", "ff"), ("33", "f0"), ("x2", "ff")):
        found.append(parse_log([f"{PACKED}0,0,0 want=22 got={got} mask={mask}"]).mismatches()[0].lane(layout))
    assert found == [0, 1, 1, 0]


@pytest.mark.exhaustive
def test_explain_mismatch_links_the_lane_that_differs(capsys):
    assert run(["explain", "mismatch", f"{PACKED}3e7fffff,3e800001,3f800000 want=10 got=20 mask=ff"]) == 0
    made = SEE.replace("it:", "it (lane 1):")
    assert capsys.readouterr().err.startswith(f"{made}number?from=fp32&code=0x3E800001&to=e2m1&round=rne&policy=amd&r=0&spec=")
