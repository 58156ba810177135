"""identify of datapaths: documented plans are found from a kernel's results, a changed fact is named."""

import numpy as np
import pytest

from emu.base.errors import OperandError, TargetError
from emu.contracts.dot.rows import DotRow, answer
from emu.identify.dot import _made
from emu.identify.run import identify
from emu.spec.contract import parse, plan_of


class Dot:
    op, source, result = "dot", None, None

    def __init__(self, plan, name="machine"):
        self.plan, self.name, self.datapath = plan, name, plan.name

    def __call__(self, operands):
        if ("scale_a" in operands) != (self.plan.scale is not None):
            raise TargetError("raises", "other operands")
        rows = len(operands["a"])
        empty = np.zeros((rows, 0), np.uint8)
        parts = [operands["a"], operands["b"], operands.get("scale_a", empty), operands.get("scale_b", empty)]
        made = [DotRow(*(tuple(int(code) for code in part[row]) for part in parts), int(operands["c"][row])) for row in range(rows)]
        return {"d": np.array([answer(row, self.plan) or 0 for row in made], np.uint32)}


def plan_named(name):
    return plan_of(parse(f"dot/{name}"))


PLAN = "blackwell_mxf4nvf4_b16_ue4m3"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [PLAN, "hopper_fp8/e4m3xe4m3", "cdna3_fp8/e4m3fnuzxe4m3fnuz"])
def test_a_datapath_is_itself(name):
    found = identify(Dot(plan_named(name)))
    assert found.kind == "documented" and any(name.split("/")[0] in text for text in found.found), found.text()
    assert all(pair.operands for pair in found.pairs if pair.verdict == "separated")


@pytest.mark.exhaustive
def test_a_changed_fact_is_named():
    probe = _made(PLAN, "e2m1", "e2m1", "ue4m3", 16)
    changed = next(item for item in probe.hypotheses if dict(item.changes) == {"align.fraction_bits": 25})
    found = identify(Dot(changed.plan), among=[PLAN])
    assert found.kind == "variant" and "align.fraction_bits" in [axis.axis for axis in found.axes], found.text()


def test_a_datapath_is_confirmed_by_rows_that_were_not_used_to_find_it():
    """Right on every row of the probe, wrong on others."""
    known = {built.row for built in _made(PLAN, "e2m1", "e2m1", "ue4m3", 16).rows}

    class Learnt(Dot):
        def __call__(self, operands):
            found = super().__call__(operands)["d"]
            parts = [operands[name] for name in ("a", "b", "scale_a", "scale_b")]
            rows = [
                DotRow(*(tuple(int(code) for code in part[row]) for part in parts), int(operands["c"][row])) for row in range(len(found))
            ]
            late = np.array([row not in known and code & 7 == 3 for row, code in zip(rows, found, strict=True)])
            return {"d": np.where(late, found ^ 1, found)}

    found = identify(Learnt(plan_named(PLAN)))
    assert found.kind == "nearest" and found.title.startswith("nothing documented; nearest") and found.departures, found.text()
    assert identify(Dot(plan_named(PLAN))).kind == "documented"


def test_a_dot_product_needs_candidates():
    class Nameless(Dot):
        def __init__(self):
            self.name = "machine"

    with pytest.raises(OperandError, match="--among"):
        identify(Nameless())


def test_no_such_datapath():
    with pytest.raises(OperandError, match="no datapath"):
        identify(Dot(plan_named(PLAN)), among=["other"])
