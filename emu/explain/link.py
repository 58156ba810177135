"""Links into the page of the explorer: the room, what is chosen in it, and which facts it was made with.

A link is what stands behind the # of the page's address: room, ?, and the fields of its form. Its last field, spec, holds eight digits of
the digest of each object that the fields name, in their order: the page says so where one of them has other facts now. A member of a series
of formats, which the page has not, comes with the link: the field own is its descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import numpy as np

from emu.base.errors import EngineError, OperandError, SpecError
from emu.base.text import in_shell
from emu.contracts.contract import array_of
from emu.contracts.dot.rows import join
from emu.contracts.form import row_form
from emu.contracts.insn import registers
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.operate import exact_result
from emu.engines.exact.value import Value
from emu.engines.numpy.convert import element_random
from emu.spec import Policy, Recipe, derive, get, names
from emu.spec.contract import level_plans, plans
from emu.spec.ieee import binary_format
from emu.spec.models import Format
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program
from emu.spec.programs.types import extent_of
from emu.spec.registry import added_folders, digest

if TYPE_CHECKING:
    from emu.contracts.contract import Contract
    from emu.contracts.dot.rows import DotRow
    from emu.contracts.levels.rows import LevelsRow
    from emu.spec.datapath import DatapathPlan
    from emu.spec.levels import LevelsPlan

DIGITS: Final = 8  # of the digest of an object
OBJECTS: Final[dict[str, dict[str, str]]] = {
    "number": {"from": "format", "to": "format", "round": "rounding", "policy": "policy"},
    "block": {"a": "recipe", "b": "recipe", "from": "format", "rotate": "transform"},
    "dot": {"m1": "datapath", "m2": "datapath", "m3": "datapath"},
    "layout": {"layout": "layout"},
    "dequantize": {"recipe": "recipe", "to": "format"},
    "tensor": {"recipe": "recipe"},
}  # fields of a room that name objects of the spec; of a datapath the id stands before the first slash
SOURCES: Final = ("binary32", "bfloat16", "binary16")  # what values of a block may come from
UNWRITTEN: Final = "emu explore does not have its formats"
CLASSES: Final = {"nan": "NaN", "inf": "infinity"}
NO_ROOM: Final = "no link: emu explore has no room for this row: docs/explorer.md says which rows have none"
BY_ROWS: Final = ("accumulate", "insn", "operate")  # operations whose answers are those of the rows of a suite
MOST: Final = 512  # values of a block, products of a row
TOO_LARGE: Final = f"emu explore shows {MOST} values at most, and a tile has {{}} x {{}}"


class Part(NamedTuple):
    """What the page shows of a row. what: which part of the row it is; without a link, why there is none."""

    link: str | None
    what: str = ""


def link(room: str, **state: object) -> str:
    """Return the link of a state. room: a key of OBJECTS.   state: fields of its form; what is left out is as the room begins.

    A member of a series has no digits: the page knows it by the descriptor in the field own alone.
    Raises: SpecError (a field names no object of the spec).   Tests: tests/explain/test_explain_link.py.
    """
    given = {name: str(value) for name, value in state.items()}
    found = []
    for name, kind in OBJECTS[room].items():
        if given.get(name, "none") != "none":
            thing = get(kind, given[name].partition("/")[0])
            found.append(digest(thing)[:DIGITS] if _is_there(kind, thing.id) else "-" * DIGITS)
    return f"{room}?{urlencode({**given, 'spec': ''.join(found)})}"


def see(made: str | None) -> list[str]:
    """Return the line that a report prints of a link, or that says why there is none."""
    if made is None:
        return [NO_ROOM]
    added = "".join(f"--spec {in_shell(folder)} " for folder in added_folders())
    return [f"see it: emu explore {added}--open {in_shell(made)}"]


def of_dot(row: DotRow | LevelsRow, *plans: DatapathPlan | LevelsPlan, **more: str) -> str | None:
    """Return the link of a dot product through one to three machines; None where the row is too long for the page. more: other fields."""
    if len(row.a) > MOST:
        return None
    told: dict[str, str] = row.texts(plans[0])  # type: ignore[arg-type]
    names = [*(plan.name for plan in plans if _takes(plan) == _takes(plans[0])), "none", "none"]
    fields = {"m1": names[0], "m2": names[1], "m3": names[2]}
    fields |= {name: told.get(name, "") for name in ("a", "b", "sa", "sb", "c")} | {"words": told.get("random", "").replace(",", " ")}
    return link("dot", **fields, **more)


def _takes(plan: DatapathPlan | LevelsPlan) -> tuple[str | int | None, ...]:
    """What machines that the page shows side by side have in common."""
    formats = (plan.a, plan.b, plan.scale, plan.c)
    return *(None if fmt is None else fmt.id for fmt in formats), plan.block


def of_sum(a: Format, b: Format, codes_a: Sequence[int], codes_b: Sequence[int]) -> Part:
    """Return what the page shows of an exact product, or a sum of them: Dot says the exact sum of what any machine takes.

    codes_a, codes_b: of the elements; zeros fill the instruction up.   The machine is one of these formats: where it can be, one that loses
    nothing, then one without scales.
    """
    every: list[DatapathPlan | LevelsPlan] = [*plans(), *level_plans()]
    made = [plan for plan in every if (plan.a, plan.b) == (a, b)]
    if not made:
        return Part(None, "no machine of emu explore multiplies them")
    plan = min(made, key=lambda plan: (not _is_exact(plan), plan.scale is not None))
    count = -(-len(codes_a) // lcm(plan.facts.k, plan.block or 1)) * lcm(plan.facts.k, plan.block or 1)
    sides = {"a": join([*codes_a, *[0] * (count - len(codes_a))], a), "b": join([*codes_b, *[0] * (count - len(codes_b))], b)}
    return Part(link("dot", m1=plan.name, m2="none", m3="none", **sides), "the exact sum")


def _is_exact(plan: DatapathPlan | LevelsPlan) -> bool:
    return getattr(plan, "accumulator", None) is not None


def of_operands(operation: Contract, operands: Mapping[str, Any], index: Sequence[int] = ()) -> Part:
    """Return what the page shows of the place of an answer, out of the operands of a contract.

    operands: name -> array of codes, as the contract's form names them.   index: of the answer that is looked at.
    """
    op, at = operation.name.op, tuple(index)
    if op == "convert":
        codes = operands["codes"]
        at = _at(codes, at)
        if not codes.size:
            return Part(None)
        try:
            return Part(_of_number(operation, int(codes[at]), **_drawn_at(operation, operands, at)))
        except OperandError as error:
            return Part(None, f"what was drawn is not there: {error}")
    if op == "decode":
        codes = operands["codes"]
        return Part(_of_code(operation, int(codes[_at(codes, at)])) if codes.size else None)
    if op == "dequantize":
        return _of_tile_in(operation, operands, at)
    if op == "transform":
        x, size, signs = operands["x"], operation.facts.size, operands.get("signs")  # type: ignore[attr-defined]
        row, first = (at[0], at[1] - at[1] % size) if len(at) > 1 else (0, 0)
        return Part(_of_group(operation, [int(code) for code in x[row, first : first + size]], None if signs is None else int(signs)))
    if op == "quantize":
        x, amax, random = operands["x"], operands.get("tensor_amax"), operands.get("random")
        more = {} if operands.get("signs") is None else {"signs": f"0x{int(operands['signs']):X}"}
        rows = x.reshape(-1, x.shape[-1])
        words = None if random is None else random.reshape(len(rows), -1)
        return _of_block(operation, rows, None if amax is None else int(amax.reshape(-1)[0]), words, at, **more)
    if op in BY_ROWS:
        row, lane, *_ = *at, 0, 0
        return of_values(operation, row_form(operation).row(operands, row), lane)
    return Part(_of_row(operation, operands, at) if op == "dot" else None)


def _drawn_at(operation: Any, operands: Mapping[str, Any], at: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields that say what a number drew: its random integer and, where numbers share words, the word and its place in it.

    Raises: OperandError (the operands do not have what the rounding draws).
    """
    rounding, shape = get("rounding", operation.name.parts[1]), operands["codes"].shape
    integers = element_random(operands.get("random"), rounding, shape)
    if integers is None:
        return {}
    place, shared = int(np.ravel_multi_index(at, shape)), rounding.facts.random
    if not isinstance(shared, Word):
        return {"r": int(integers[place])}
    number, lane = divmod(place, shared.lanes)
    return {"r": int(integers[place]), "word": f"0x{int(operands['random'].reshape(-1)[number]):0{shared.word // 4}X}", "lane": lane}


def _at(codes: Any, index: tuple[int, ...]) -> tuple[int, ...]:
    """Return the place of an answer among codes; the first where it names none of them."""
    return index if len(index) == codes.ndim else (0,) * codes.ndim


def of_values(operation: Contract, values: Sequence[int], lane: int = 0) -> Part:
    """Return what the page shows of a row of a suite.

    values: of its input columns.   lane: of an instruction, the first that differs.
    """
    made: Any = operation
    if made.name.op == "insn":
        return of_lane(made, values, lane)
    if made.name.op == "operate":
        return of_operation(made, values)
    if made.name.op == "convert":
        return Part(_of_number(made, values[0], values[1] if made.rounding.random_bits else 0))
    if made.name.op == "decode":
        return Part(_of_code(made, values[0]))
    if made.name.op == "quantize":
        rows, amax, drawn = made.taken(values)
        return _of_block(made, rows, amax, drawn, ())
    if made.name.op == "dequantize":
        rows, levels = made.taken(values)
        return Part(_of_tile(made, rows, levels, 0))
    if made.name.op == "transform":
        return Part(_of_group(made, made.lanes(values), made.signs(values)))
    if made.name.op == "layout":
        return Part(_of_place(made, *values))
    if made.name.op not in ("dot", "accumulate"):
        return Part(None)
    held = _register(made)
    found = of_dot(made.taken(values), made.plan, **({} if held is None else {"acc": f"{values[held]:X}"}))
    return Part(found, "" if found is None or is_read_out(made, values) else "its register: nothing is read out in this row")


def _register(operation: Any) -> int | None:
    """Return which value of a row is the register of its chain before it; None: it has none."""
    return next((place for place, column in enumerate(operation.layout.inputs) if column.name == "acc_in"), None)


def is_read_out(operation: Any, values: Sequence[int]) -> bool:
    """Whether a row has a result: all but those of a chain whose register goes on to the next row."""
    return operation.name.op != "accumulate" or _register(operation) is None or bool(values[1])


def lines_of_part(operation: Contract, part: Part) -> list[str]:
    """Return the line that a report prints of a part, as see() does."""
    return lines_of(part, str(operation.name))


def lines_of(part: Part, contract: str) -> list[str]:
    """Return the line that a report prints of a part, as see() does. contract: of the row."""
    if not part.what:
        return see(part.link)
    if part.link is None:
        return [f"no link: {contract}: {part.what}"]
    return [line.replace(":", f" ({part.what}):", 1) for line in see(part.link)]


def lines_of_sum(a: Format, b: Format, codes_a: Sequence[int], codes_b: Sequence[int]) -> list[str]:
    """Return the line that a report prints of an exact product, or a sum of them. codes_a, codes_b: of the elements."""
    return lines_of(of_sum(a, b, codes_a, codes_b), f"{a.id} x {b.id}")


def lines_of_values(operation: Contract, values: Sequence[int], lane: int = 0) -> list[str]:
    """Return the line that a report prints of a row of a suite. lane: of an instruction, the first that differs."""
    return lines_of_part(operation, of_values(operation, values, lane))


def of_lane(operation: Any, values: Sequence[int], lane: int) -> Part:
    """Return the conversion of one lane of an instruction, or the block of a fused quantizer."""
    facts, named = operation.facts, operation.inputs_of(values)
    codes = registers.sources(facts, named)
    if facts.performs == "quantize":
        return _of_fused(operation, codes, named)
    what = [f"lane {lane}"] if operation.lanes > 1 else []
    code, source, value = codes[lane], operation.source, decode_code(codes[lane], operation.source)
    if registers.is_refused(value, facts):
        return Part(None, f"nobody states what becomes of the {CLASSES[value.kind]} in lane {lane}")
    if facts.scale is not None:
        moved = registers.moved(value, registers.scale_exp(facts.scale, named[facts.scale.name]))
        if registers.is_refused(moved, facts):
            return Part(None, f"nobody states what becomes of a scale of {CLASSES[moved.kind]}")
        if moved != value:
            fits = [(fmt, kept) for fmt in (source, get("format", "fp32")) if (kept := _exactly(moved, fmt)) is not None]
            if not fits:
                return Part(None, f"lane {lane} is no number of {source.id} or fp32 where the scale has moved it")
            (source, code), what = fits[0], [*what, "moved by the scale"]
    what += ["without its flags"] if operation.has_flags else []
    drawn = 0 if facts.random is None else registers.drawn(facts.random, named["rbits"], lane, operation.lanes)
    rounding = facts.rounding if facts.random is None else facts.random.profiles[facts.random.use].rounding
    made = _of_conversion(source, code, operation.to, str(rounding), str(facts.policy), drawn)
    return Part(made, ", ".join(what) if made is not None else UNWRITTEN)


def of_operation(operation: Any, values: Sequence[int]) -> Part:
    """Return the last step of an operation on numbers: its exact result, rounded; the page has no operations."""
    if operation.gives != "number":
        return Part(None, f"emu explore shows numbers that are rounded, and {operation.operation} rounds none")
    value, wide = exact_result(operation.operation, values, operation.sources), get("format", "fp64")
    fits = [(fmt, kept) for fmt in (get("format", "fp32"), wide) if (kept := _exactly(value, fmt)) is not None]
    entry = derive.policy_entry(operation.policy, operation.to)
    rounded, what = convert_value(value, operation.to, operation.rounding, entry), "its exact result, rounded"
    if not fits:
        near = convert_value(value, wide, get("rounding", "odd"), derive.arithmetic_entry(wide))  # on the same side of every middle
        beside = decode_code(near, wide)
        alike = derive.codes(operation.to).bits <= 32 and convert_value(beside, operation.to, operation.rounding, entry) == rounded
        if beside.kind != "finite" or not alike:
            return Part(None, "its exact result is no number of fp64")
        fits, what = [(wide, near)], "beside its exact result, the fp64 that rounds as it does"
    made = _of_conversion(*fits[0], operation.to, operation.rounding.id, operation.policy.id, 0)
    what += "; a zero of the operation has no sign" if (rounded,) != operation.exact(values)[0] else ""
    return Part(made, UNWRITTEN if made is None else what)


def _exactly(value: Value, fmt: Format) -> int | None:
    """Return the code of a value in a format; None where it has no such value. NaN has a sign."""
    if value.kind == "nan":
        return next((code for code in derive.codes(fmt).nan if decode_code(code, fmt) == value), None)
    try:
        return encode_value(value, fmt)
    except OperandError:
        return None


def _of_fused(operation: Any, codes: Sequence[int], named: Mapping[str, int]) -> Part:
    """Return the block of a fused quantizer: Block rotates before the recipe where the instruction does."""
    facts = operation.facts
    row = codes[::-1] if facts.result.first == "high" else codes  # the first element of the block is the first lane of the manual
    more = {} if facts.transform is None else {"rotate": facts.transform}
    if facts.signs_operand is not None:
        more["signs"] = f"0x{named[facts.signs_operand]:X}"
    amax = None if facts.amax_operand is None else named[facts.amax_operand]
    return _of_block(operation.quantizer, [row], amax, None, (), **more)


def _of_number(operation: Any, code: int, r: int = 0, **drawn: object) -> str | None:
    to, rounding, policy = operation.name.parts
    return _of_conversion(operation.source, code, get("format", to), rounding, policy, r, **drawn)


def _of_conversion(source: Format, code: int, to: Format, rounding: str, policy: str, random: int, **drawn: object) -> str | None:
    fields, how = {"from": source.id, "code": f"0x{code:X}", "to": to.id}, get("policy", policy)
    own = _descriptor([fmt for fmt in (source, to) if not _is_there("format", fmt.id)], how)
    return None if own is None else link("number", **fields, round=get("rounding", rounding).id, policy=how.id, r=random, **drawn, **own)


def _is_there(kind: str, *ids: str) -> bool:
    """Whether the page has objects: it has what the lists of the spec name, and no member of a series."""
    return set(ids) <= set(names(kind))


def _descriptor(members: Sequence[Format], policy: Policy) -> dict[str, str] | None:
    """Return the field that brings members of a series, and what a policy says of them; None where no C reference writes it."""
    if not members:
        return {}
    try:
        from emu.engines.c_ref.descriptor_file import descriptor_text

        says = [policy] if any(_entry(policy, fmt) is not None for fmt in members) else []
        return {"own": descriptor_text([*members, *says]).rpartition("end ")[0]}
    except (ImportError, EngineError):
        return None


def _of_code(operation: Any, code: int) -> str | None:
    """Return the link of a code: it as a number of binary32, by a policy that keeps infinity and NaN."""
    to = operation.fp32
    policy = next(name for name in names("policy") if _entry(get("policy", name), to) == derive.arithmetic_entry(to))
    return _of_conversion(operation.fmt, code, to, "rne", policy, 0)


def _entry(policy: Policy, fmt: Format) -> Any:
    try:
        return derive.policy_entry(policy, fmt)
    except SpecError:
        return None


def _of_group(operation: Any, codes: Sequence[int], signs: int | None) -> str | None:
    """Return the link of a group that a transform rotates. Recipes that need nothing else take it then."""
    turned, source = operation.transform, operation.source
    if binary_format(source) not in SOURCES or len(codes) != turned.facts.size:
        return None
    fitting = [name for name in names("recipe") if _takes_group(get("recipe", name), turned.facts.size)]
    if not fitting:
        return None
    fields = {"a": fitting[0], "b": fitting[:2][-1], "from": source.id, "rotate": turned.id}
    return link("block", **fields, x=_hex(source, codes), signs="" if signs is None else f"0x{signs:X}")


def _hex(fmt: Format, codes: Sequence[int]) -> str:
    digits = -(-derive.codes(fmt).bits // 4)
    return " ".join(f"0x{int(code):0{digits}X}" for code in codes)


def _takes_group(recipe: Recipe, size: int) -> bool:
    program = quantize_program(recipe)
    height, width = program.block.facts.shape
    return height == 1 < width and size % width == 0 and not (recipe.transforms or program.reads("random") or program.reads("tensor_amax"))


def _of_tile(operation: Any, rows: Sequence[Sequence[int]], levels: Mapping[str, Sequence[Sequence[int]]], element: int) -> str | None:
    """Return the link of codes and levels; None where they are too many. element: that is looked at, row after row."""
    block = operation.block
    if len(rows) * len(rows[0]) > MOST:
        return None

    def text(codes: Sequence[Sequence[int]], name: str) -> str:
        fmt = get("format", name)
        digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
        return "".join(f"{int(code):0{digits}X}" for row in codes for code in row)

    fields = {"recipe": operation.recipe.id, "profile": operation.profile, "codes": text(rows, block.element_formats[0])}
    fields |= {f"level{number}": text(levels[level.name], level.format) for number, level in enumerate(block.facts.levels)}
    return link("dequantize", **fields, to=operation.result.id, rows=len(rows), element=element)


def _of_tile_in(operation: Any, operands: Mapping[str, Any], at: tuple[int, ...]) -> Part:
    """Return what the page shows of the tile that an element of whole operands lies in: the tile, of a large one the element's row."""
    codes, block = operands["codes"], operation.block
    height, width = block.facts.shape
    row, column = at if len(at) == 2 else (0, 0)
    top, left = row - row % height, column - column % width
    extents = {level.name: extent_of(level.granularity, block) for level in block.facts.levels}
    large = height * width > MOST
    if large and (operation.recipe.facts.tail != "zero_pad_drop" or any(extent.rows not in (0, height) for extent in extents.values())):
        return Part(None, TOO_LARGE.format(height, width))
    first, last = (row, row + 1) if large else (top, top + height)
    tile = codes[first:last, left : left + width].tolist()
    whole = len(tile) == last - first and len(tile[0]) == width
    if not tile or (not whole and operation.recipe.facts.tail != "zero_pad_drop"):
        return Part(None)
    levels = {}
    for name, extent in extents.items():
        side = operands[name]
        side = side.reshape(1, 1) if not side.shape else side
        down, across = extent.rows or codes.shape[0], extent.columns or codes.shape[1]  # elements that share a code
        levels[name] = side[top // down : -(-(top + height) // down), left // across : -(-(left + width) // across)].tolist()
    made = _of_tile(operation, tile, levels, (row - first) * len(tile[0]) + column - left)
    return Part(made, f"row {row - top} of its tile" if large and made is not None else "")


def _of_place(operation: Any, row: int, index: int) -> str | None:
    from emu.contracts.layout import ROWS

    order, tile = operation.order, operation.block.facts.shape
    fields = {"rows": ROWS, "codes": operation.codes, "row": row, "index": index}
    return link("layout", layout=order.id, **fields, **({"tile": f"{tile[0]}x{tile[1]}"} if order.facts.holds == "scales" else {}))


def _of_block(
    operation: Any,
    rows: Sequence[Sequence[int]],
    amax: int | None,
    drawn: Sequence[Sequence[int]] | None,
    index: tuple[int, ...],
    **more: str,
) -> Part:
    """Return what the page shows of the row of blocks, or of tiles, in which an answer lies.

    rows, drawn: all codes, and random words, row by row.   more: fields that rotate the values first, or signs of its own rotation.
    """
    recipe: Recipe = operation.recipe
    program, source = quantize_program(recipe), operation.source
    height, width = program.block.facts.shape
    at = min(index[0], len(rows) - 1) if len(index) > 1 else 0  # of codes that fill a tile up: the last row that is given
    first = at - at % height
    tile = rows[first : first + height]
    columns = len(tile[0])
    whole = recipe.facts.tail != "error" or (len(tile) == height and columns % width == 0)
    known = not program.reads("tensor_amax") or amax is not None or len(rows) == len(tile)
    if not whole or binary_format(source) not in SOURCES or not columns or not known or program.reads("random") != (drawn is not None):
        return Part(None)
    if max(height * width, len(tile) * columns) > MOST:
        alone = not recipe.transforms and not more and drawn is None and (amax is not None or not program.reads("tensor_amax"))
        return _of_part(operation, tile, amax, at - first, index[1] if len(index) > 1 else 0) if alone else Part(None)
    fields = more if binary_format(source) == "binary32" else {"from": source.id, **more}
    fields["x"] = _hex(source, [code for row in tile for code in row])
    fields["amax"] = "" if amax is None else f"0x{amax:08X}"
    if height > 1:
        fields["rows"] = str(len(tile))
    if drawn is not None and program.drawing is not None:
        lanes, bits = program.drawing.random_operand
        if columns % lanes and height > 1:
            return Part(None)  # the page draws on from row to row
        fields["random"] = " ".join(f"{int(word):0{-(-bits // 4)}X}" for row in drawn[first : first + height] for word in row)
    return Part(link("block", a=recipe.id, b=recipe.id, **fields))


def _of_part(operation: Any, rows: Sequence[Sequence[int]], amax: int | None, at: int, column: int) -> Part:
    """Return the part of a row of blocks, or of tiles, that the page shows of it where it is too large: what has the scale of an answer.

    at, column: of the answer.   It is the answer's block; of a large tile the row of the answer, and below it that of the tile's maximum,
    since the page fills up with zeros; of a row that shares a scale what is near the answer, and the maximum. Whether the part has the
    codes and scales that it has in the whole, the NumPy engine is asked here.
    """
    recipe: Recipe = operation.recipe
    program, source = quantize_program(recipe), operation.source
    height, width = program.block.facts.shape
    whole = array_of([list(line) for line in rows], source)
    sizes = whole & whole.dtype.type(derive.codes(source).sign_bit - 1)  # codes of magnitudes
    left = column - column % width if width > 1 else max(0, min(column - MOST // 2, whole.shape[1] - MOST + 1))
    right = min(left + (width if width > 1 else MOST - 1), whole.shape[1])
    down, across, what = [*range(len(whole))], [*range(left, right)], f"elements {left} to {right - 1} of its row"
    if height * width > MOST:
        largest = sizes[:, left:right].max(axis=1)
        down, what = [at], f"row {at} of its tile"
        if largest[at] != largest.max():
            down.append(int(largest.argmax()))
            what += f", and row {down[1]}, which holds its maximum"
    elif width == 1 and sizes[at, left:right].max() != sizes[at].max():
        across.append(int(sizes[at].argmax()))
        what += f", and element {across[-1]}, which holds its maximum"
    part = whole[down][:, across]
    if part.size > MOST or (recipe.facts.tail == "error" and len(down) < height):
        return Part(None, TOO_LARGE.format(height, width))
    (codes, levels), (some, theirs) = (operation.numpy(x, amax, None) for x in (whole, part))
    wide = {level.name: extent_of(level.granularity, program.block).columns or whole.shape[1] for level in program.block.facts.levels}
    cut = {name: [line[left // wide[name] : -(-right // wide[name])] for line in side] for name, side in levels.items()}
    if some[down.index(at)][: right - left] != codes[at][left:right] or theirs != cut:
        return Part(None, f"emu explore shows {MOST} values at most, and no part of so many has its scale")
    fields = {} if binary_format(source) == "binary32" else {"from": source.id}
    fields |= {"x": _hex(source, part.reshape(-1).tolist()), "amax": "" if amax is None else f"0x{amax:08X}"}
    cell = down.index(at) * len(across) + min(column, right - 1) - left
    return Part(link("block", a=recipe.id, b=recipe.id, **fields, rows=len(down), cell=cell), what)


def _of_row(operation: Any, operands: Mapping[str, Any], index: tuple[int, ...]) -> str | None:
    from emu.contracts.dot.rows import DotRow
    from emu.contracts.levels.rows import LevelsRow
    from emu.spec.levels import LevelsPlan

    at, plan = index[0] if index else 0, operation.plan

    def codes(name: str) -> tuple[int, ...]:
        return () if operands.get(name) is None else tuple(int(code) for code in operands[name][at].reshape(-1))

    c = codes("c")[0] if codes("c") else None
    if isinstance(plan, LevelsPlan):
        return of_dot(LevelsRow(codes("a"), codes("b"), codes("scale_a"), codes("scale_b"), c, codes("words")), plan)
    return of_dot(DotRow(codes("a"), codes("b"), codes("scale_a"), codes("scale_b"), c or 0), plan)
