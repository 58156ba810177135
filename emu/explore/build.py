"""The page of the explorer: C reference and bridge as WebAssembly, the spec as a descriptor, scripts and style, in one HTML file."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from emu.base.atomic import temporary_folder
from emu.base.errors import EmuError, SpecError, ToolError
from emu.base.text import UNSEEN, in_script
from emu.contracts.layout import BLOCKS, ROWS
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.quantize.tiles import ACROSS
from emu.engines.c_ref import c_reference
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.explain.link import DIGITS, OBJECTS
from emu.pages.formulas import expression, place_text
from emu.spec import Policy, Recipe, SpecObject, Transform, get, names
from emu.spec.contract import ContractName, level_plans, plans
from emu.spec.datapath import DatapathPlan
from emu.spec.derive import policy_entry
from emu.spec.levels import LevelsPlan
from emu.spec.models.block import MOST
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.registry import digest

KINDS: Final = ("format", "rounding", "policy", "transform", "layout", "recipe", "datapath")
SCRIPTS: Final = (
    "core.js", "show.js", "own_recipe.js", "own_machine.js", "formula.js", "drag.js", "number.js", "block.js", "random.js", "block_keys.js",
    "flip.js", "rotate.js", "row.js", "tv.js", "dot.js", "lanes.js", "dot_search.js", "dot_draw.js", "layout.js", "dequantize.js",
    "copy.js", "tensor_file.js", "tensor_work.js", "tensor.js", "own.js", "app.js",
)  # fmt: skip
ROWS_OF: Final = (
    "columns", "derive", "derive_block", "derive_dot", "derive_transform", "layout", "level_row", "level_stages", "levels", "lines",
    "make_block", "make_dot", "operate", "operation", "philox",
)  # of the files of emu_ref those that make rows  # fmt: skip
FLAGS: Final = (
    "--target=wasm32-unknown-unknown", "-std=c99", "-O2", "-fno-builtin", "-nostdlib", "-mbulk-memory",
    "-Wl,--no-entry", "-Wl,--stack-first", "-Wl,-z,stack-size=1048576",
)  # fmt: skip


def page(objects: list[SpecObject] | None = None) -> str:
    """Return the page as one HTML text. It needs no other file and asks for nothing over a network.

    objects: what it offers; None: known_objects().
    Raises: ToolError (clang or wasm-ld absent, or they failed).   Tests: tests/explore/test_explore_page.py.
    """
    objects = known_objects() if objects is None else objects
    text = descriptor_text(objects)
    constants = {"WASM": base64.b64encode(compiled()).decode("ascii"), "DESCRIPTOR": text, "META": words(objects, text), "UNSEEN": UNSEEN}
    constants["SAMPLES"] = json.loads(_part("samples.json"))  # blocks of a real model, with its licence
    script = [f"const {name} = {in_script(value)};" for name, value in constants.items()]
    script += [_part(name) for name in SCRIPTS]
    return _part("index.html").replace("@STYLE@", _part("style.css")).replace("@SCRIPT@", "\n".join(script))


def known_objects() -> list[SpecObject]:
    """Return the objects of the spec, a user's among them, that a descriptor can say."""
    found = []
    for kind in KINDS:
        for name in names(kind):
            try:
                thing = get(kind, name)
                descriptor_text([thing])
            except EmuError:  # open facts, or a limit of the C reference: what it cannot compute is not offered
                continue
            found.append(thing)
    return found


def words(objects: list[SpecObject], text: str) -> dict[str, Any]:
    """Return what the page calls things: ids, what policies cover, steps in words. digest: of the descriptor, its last line."""
    ids = {kind: [thing.id for thing in objects if thing.kind == kind] for kind in KINDS}
    recipes = []
    for thing in objects:
        if isinstance(thing, Recipe):
            program = quantize_program(thing)
            pairs = zip(program.instructions, thing.facts.steps, strict=False)
            steps = [(item.out, expression(item, step, program), place_text(item.type.extent, program)) for item, step in pairs]
            told = {"id": thing.id, "title": thing.title, "steps": steps}
            kept = {"back": next(iter(thing.facts.dequantize)), "alone": _is_alone(thing, program), "rotates": bool(thing.transforms)}
            kept["signs"] = _sign_bits(thing)
            recipes.append({**told, **kept, **_columns(thing), **_back(thing)})
    policies = [(thing.id, [name for name in ids["format"] if _covers(thing, name)]) for thing in objects if isinstance(thing, Policy)]
    return {
        "digest": text.rstrip("\n").rpartition(" ")[2][:16],
        "formats": ids["format"],
        "roundings": ids["rounding"],
        "policies": policies,
        "layouts": ids["layout"],
        "transforms": [(thing.id, thing.facts.signs_operand != "no") for thing in objects if isinstance(thing, Transform)],
        "objects": OBJECTS,
        "laid": (ROWS, BLOCKS),
        "across": ACROSS,
        "most": MOST,
        "digests": {kind: {thing.id: digest(thing)[:DIGITS] for thing in objects if thing.kind == kind} for kind in KINDS},
        "machines": _machines(set(ids["datapath"])),
        "recipes": recipes,
    }


def _back(recipe: Recipe) -> dict[str, Any]:
    """What goes back to values: the first element format, whether it is the only one, what levels are, the steps of each profile."""
    profiles = {}
    for name, written in recipe.facts.dequantize.items():
        program = dequantize_program(recipe, name)
        pairs = zip(program.instructions, written, strict=False)
        profiles[name] = [(item.out, expression(item, step, program), place_text(item.type.extent, program)) for item, step in pairs]
    block = dequantize_program(recipe, None).block
    shared = [(level.granularity, level.meaning) for level in block.facts.levels]
    kept = [(part if isinstance(part, str) else f"sub{part.sub}", meaning) for part, meaning in shared]
    return {"element": block.element_formats[0], "single": len(block.element_formats) == 1, "kept": kept, "profiles": profiles}


def _columns(recipe: Recipe) -> dict[str, Any]:
    """What a row of a suite of quantize holds: [name, role, lanes, bits of a lane, whether any NaN is right]; the step that is its amax."""
    found = QuantizeContract.of(ContractName("quantize", (recipe.id,)))
    columns = [(item.name, item.role, item.lanes, item.lane_bits, item.any_nan) for item in found.layout.columns]
    names = [level.name for level in found.block.facts.levels]
    return {"columns": columns, "levels": names, "amax": found.amax_program.instructions[-1].out if found.amax_program else None}


def _sign_bits(recipe: Recipe) -> int:
    """How many signs a recipe's own rotation takes; 0 where it has none, or fixes them."""
    turned = [get("transform", name).facts for name in recipe.transforms]
    return min((facts.size for facts in turned), default=0) if all(facts.signs_operand != "no" for facts in turned) else 0


def _is_alone(recipe: Recipe, program: Program) -> bool:
    """Whether a block needs nothing of another: no step gathers or rotates more than a block."""
    whole = [item for item in program.instructions if not item.type.extent.columns]
    gathered = [name for item in whole for name in item.args if isinstance(name, str) and program.types[name].extent.columns]
    return not gathered and all(program.block.facts.shape[1] % get("transform", name).facts.size == 0 for name in recipe.transforms)


def compiled() -> bytes:
    """Return the C reference and the bridge as a WebAssembly module that imports nothing. Raises: ToolError."""
    for program, package in (("clang", "clang"), ("wasm-ld", "lld")):
        if shutil.which(program) is None:
            raise ToolError(
                f"{program}: not found, and the page of the explorer is compiled with it: install it (Debian: apt-get install {package})"
            )
    source, here = c_reference(), Path(str(files("emu.explore") / "page"))
    with temporary_folder("explore") as folder:
        module = folder / "explorer.wasm"
        rows = [source / "tool" / f"{name}.c" for name in ROWS_OF]
        sources = map(str, [*sorted(source.glob("src/*/*.c")), *rows, *sorted(here.glob("*.c"))])
        command = ["clang", *FLAGS, f"-I{source}", f"-I{here}", "-o", str(module), *sources]
        environment = os.environ | {"TMPDIR": str(folder)}  # what a killed compiler leaves goes with the folder
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason given"]
            raise ToolError(f"clang: {said[0].strip()}: the page needs clang 14 or later with the target wasm32")
        return module.read_bytes()


def _machines(known: set[str]) -> list[tuple[str, list[str]]]:
    """Return the names of datapaths with their operands chosen, those together that take the same codes, with what they take."""
    found: dict[str, list[str]] = {}
    every: list[DatapathPlan | LevelsPlan] = [*plans(), *level_plans()]
    for plan in every:
        if plan.datapath.id in known:
            c = "no C" if plan.c is None else f"C {plan.c.id}"
            scale = f", {plan.scale.id} scales per {plan.block}" if plan.scale is not None else ""
            found.setdefault(f"{plan.a.id} x {plan.b.id}{scale}, {c}", []).append(plan.name)
    return sorted(found.items())


def _covers(policy: Policy, name: str) -> bool:
    try:
        policy_entry(policy, get("format", name))
    except SpecError:
        return False
    return True


def _part(name: str) -> str:
    return (files("emu.explore") / "page" / name).read_text(encoding="utf-8")
