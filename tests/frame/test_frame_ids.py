"""Facts decide, never ids: what computes, derives rows or measures does not compare the id of a spec object with anything."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("arrays", "engines", "ops", "torch", "contracts", "vectors", "explain", "analysis", "bench", "nn")
SPEC = ("derive", "training", "ieee", "reach", "programs/steps", "programs/program", "programs/types", "datapath", "checks/datapath")
MODULES = tuple(f"spec/{name}.py" for name in SPEC)
NAMES = {"fp64", "fp32", "bf16", "fp16", "e8m0", "e4m3", "e5m2", "e2m1", "rne", "rz"}
ALLOWED = {
    ("spec/datapath.py", "want.id == name"): "of two offered formats with the same facts the one of that name",
    ("spec/derive.py", "policy.facts.get(fmt.id)"): "a policy is written by destination; a name comes before equal facts",
    ("ops/instruction/convert.py", "scale.reads == 'e8m0'"): "a word of the schema: how the scale operand is read",
    ("engines/exact/datapath_round.py", "mode == 'rne'"): "a direction that the facts of a rounding gave",
    ("engines/numpy/datapath_steps.py", "grid.mode == 'rz'"): "a direction that the facts of a rounding gave",
    ("engines/torch/datapath_sum.py", "mode == 'rne'"): "a direction that the facts of a rounding gave",
    ("engines/native/datapath.py", "plan.align_direction == 'rz'"): "a direction that the facts of a rounding gave",
    ("engines/native/datapath.py", "plan.round_direction in ('rz', 'rne')"): "a direction that the facts of a rounding gave",
    ("engines/native/datapath.py", "plan.round_direction == 'rne'"): "a direction that the facts of a rounding gave",
    ("engines/torch/can.py", "plan.align_direction not in ('rz', 'rd', 'rne')"): "a direction that the facts of a rounding gave",
    ("spec/checks/datapath.py", "direction(get('rounding', facts.align.rounding)) not in ('rz', 'rd', 'rne')"): "the direction itself",
    ("contracts/insn/cases.py", "scale.reads == 'e8m0'"): "a word of the schema: how the scale operand is read",
    ("contracts/insn/registers.py", "scale.reads == 'e8m0'"): "a word of the schema: how the scale operand is read",
    ("contracts/decode.py", "other != self.fmt.id"): "what else a code may be read as: other objects than this one",
    ("contracts/layout.py", "other.id != self.order.id"): "what else the order may be: other objects than this one",
    ("contracts/dot/deviations.py", "item.plan.datapath.id != op.plan.datapath.id"): "what else the machine may be: another object",
    ("contracts/dot/variants.py", "other.datapath.id not in (known.plan.datapath.id, *known.also)"): "names of one behaviour, each once",
    ("contracts/dot/variants.py", "other.datapath.id not in known.also"): "names of one behaviour, each once",
    ("contracts/dot/variants.py", "get('datapath', name).based_on == model.id"): "a reading names what it is based on",
    ("contracts/quantize/axes.py", "rule.id == name"): "the rule of a name, of emu's own table of axes",
    ("vectors/sweep/space.py", "policy.facts.get(fmt.id)"): "a policy is written by destination; what it says of one is swept",
    ("vectors/sweep/space.py", "step.to == fmt.id"): "casts of recipes to the format that is swept, by the name in the file",
    ("contracts/dot/cover_operand.py", "self.plan.align_direction != 'rz'"): "a direction that the facts of a rounding gave",
    ("spec/datapath.py", "direction(get('rounding', facts.align.rounding)) != 'rz'"): "a direction that the facts of a rounding gave",
    ("spec/ieee.py", "direction(rounding) == 'rne'"): "the direction itself",
}


def is_id(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "id"


def names_one(node: ast.AST) -> bool:
    """Whether an expression is the id of a shipped format or rounding, or a list that holds one."""
    return any(isinstance(item, ast.Constant) and item.value in NAMES for item in ast.walk(node))


def decisions(tree: ast.AST) -> Iterator[str]:
    """Comparisons with an id, look-ups by an id, and comparisons with the name of a shipped format or rounding."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(is_id(side) for side in sides) or any(names_one(side) for side in node.comparators):
                yield ast.unparse(node)
        elif isinstance(node, ast.Subscript) and is_id(node.slice):
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and any(map(is_id, node.args)):
            yield ast.unparse(node)


def files() -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((ROOT / "emu" / folder).rglob("*.py"))]
    return found + [ROOT / "emu" / name for name in MODULES]


def test_no_engine_decides_by_an_id() -> None:
    found = {(str(path.relative_to(ROOT / "emu")), text) for path in files() for text in decisions(ast.parse(path.read_text("utf-8")))}
    assert sorted(found - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - found) == [], "exceptions that nothing needs"


@pytest.mark.parametrize(
    "source",
    [
        "fmt.id == 'fp32'",
        "'fp32' == fmt.id",
        "fmt.id in SOURCES",
        "fmt.id not in ('fp32', 'bf16')",
        "plan.c.id != plan.d.id",
        "SOURCES[source.id]",
        "SOURCES.get(source.id)",
        "facts.sum_format == 'fp32'",
        "name in ('fp32', 'bf16')",
    ],
)
def test_the_rule_sees_a_decision(source: str) -> None:
    assert list(decisions(ast.parse(source)))
