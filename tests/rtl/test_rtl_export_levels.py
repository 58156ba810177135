"""Golden functions of datapaths of levels against the reference model: shipped ones, and drawn files of every word that they hold."""

import sys
from collections.abc import Iterator
from random import Random

import pytest
from support.circuit import Evaluator
from support.level_samples import drawn_datapath, drawn_row

from emu.base.errors import OpenError, ShapeError, SpecError
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.rows import LevelsRow
from emu.engines.exact.levels import dot
from emu.rtl.export.circuit import Circuit
from emu.rtl.export.functions import golden
from emu.rtl.export.levels import levels_circuit
from emu.spec.contract import ContractName, parse
from emu.spec.levels import LevelsPlan, level_plans_of, products_of_row
from emu.spec.models.levels import DatapathLevels

SHIPPED = ["int12_saturate", "int12_wrap", "bf16_register", "bf16_register_random", "fp16_register", "fp16_tree_fp32", "fp32_fma_chain"]


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """Chains of wires are followed by recursion."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(before)


def contract_of(plan: LevelsPlan) -> LevelsContract:
    return LevelsContract(ContractName("dot", (plan.datapath.id,)), "", plan.d.id, plan.datapath.id, plan, products_of_row(plan, False))


def circuit_of(plan: LevelsPlan) -> Circuit:
    circuit = Circuit("golden")
    levels_circuit(circuit, contract_of(plan))
    return circuit


def wrong_rows(plan: LevelsPlan, circuit: Circuit, rows: int, seed: int) -> list[str]:
    """Rows where a circuit is not the reference model. Each is one instruction, with every kind of code."""
    contract, rng, meaning, found, done = contract_of(plan), Random(seed), Evaluator(circuit), [], 0
    while done < rows:
        row = drawn_row(plan, rng)
        assert row is not None
        if len(row.a) != contract.k:
            continue
        done += 1
        given = LevelsRow(tuple(row.a), tuple(row.b), (), (), row.c, tuple(row.random))
        inputs = dict(zip((column.name for column in contract.layout.inputs), contract.packed_values(given), strict=True))
        outputs = meaning.outputs(**inputs)
        try:
            want = dot(row.a, row.b, [], [], row.c, row.random, plan).code
        except OpenError:
            want = -1
        if outputs["open"] != (want < 0) or (want >= 0 and outputs["d"] != want):
            found.append(f"{plan.datapath.id} {row}: {outputs}, not {want:x}")
    return found


def drawn_plans(seeds: range) -> Iterator[tuple[LevelsPlan, Circuit]]:
    """The datapaths of some seeds that golden functions hold, each with its circuit."""
    for seed in seeds:
        plan = next(iter(level_plans_of(drawn_datapath(seed))))
        try:
            yield plan, circuit_of(plan)
        except (SpecError, ShapeError):
            continue


def wrong_directed(contract: LevelsContract, circuit: Circuit, rows: int) -> list[str]:
    """Some directed rows where a circuit is not the reference model."""
    meaning, found, compared = Evaluator(circuit), [], 0
    directed = list(contract.directed("golden functions"))
    for case in directed[:: max(1, len(directed) // rows)]:
        want = contract.exact(case.values)[0][0]
        outputs = meaning.outputs(**contract.inputs_of(case.values))
        compared += want >= 0
        if outputs["open"] != (want < 0) or (want >= 0 and outputs["d"] != want):
            found.append(f"{case}: {outputs}, not {want:x}")
    assert compared >= rows // 2
    return found


@pytest.mark.cases(1, 4)
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_datapath_is_its_golden_function(name: str) -> None:
    item = golden(f"dot/{name}")
    contract = LevelsContract.of(parse(f"dot/{name}"))
    assert wrong_directed(contract, item.circuit, 20) == []
    assert wrong_rows(contract.plan, item.circuit, 8, 1) == []


def test_drawn_datapaths_are_their_golden_functions() -> None:
    drawn = list(drawn_plans(range(90)))
    assert len(drawn) >= 5
    assert [line for plan, circuit in drawn for line in wrong_rows(plan, circuit, 8, 1)] == []


@pytest.mark.cases(0, 0)
def test_a_hundred_drawn_datapaths_are_their_golden_functions() -> None:
    """Of 1,600 drawn files some 110 use no word that golden functions lack."""
    drawn = list(drawn_plans(range(1000, 2600)))
    assert len(drawn) >= 100
    assert [line for plan, circuit in drawn for line in wrong_rows(plan, circuit, 8, 1)] == []


FAULTS = ["rne", "rz", "saturate", "wrap", "sign"]


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_fact_is_seen(fault: str) -> None:
    """The circuit of another datapath, asked about this one: rounding, end of the register, sign of zero."""
    pairs = {
        "rne": ("bf16_register", {"hold": {"rounding": "rz"}}),
        "rz": ("fp16_register", {"hold": {"rounding": "rne"}}),
        "saturate": ("int12_saturate", {"hold": {"overflow": "wrap"}}),
        "wrap": ("int12_wrap", {"hold": {"overflow": "saturate_symmetric"}}),
        "sign": ("fp16_register", {"hold": {"rounding": "rd"}}),
    }
    name, changed = pairs[fault]
    contract = LevelsContract.of(parse(f"dot/{name}"))
    plan = contract.plan
    facts = plan.facts.model_dump()
    for key, value in changed.items():
        level = facts["levels"][0]
        level[key] = level[key] | value if isinstance(value, dict) else value
    other = next(iter(level_plans_of(plan.datapath.model_copy(update={"facts": DatapathLevels.model_validate(facts)}))))
    assert wrong_directed(contract, circuit_of(other), 60) != []


@pytest.mark.parametrize(
    ("contract", "what"),
    [
        ("dot/nv_like/e2m1xe2m1/ue4m3/16", "a chain of aligned steps"),
        ("dot/rvbna4", "no level bulk: align"),
        ("dot/mx_lane24", "no block scales"),
        ("dot/products_12bit", "no hold of significant_bits"),
    ],
)
def test_what_is_not_exported_is_refused_by_name(contract: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        golden(contract)
