"""A tenth operation: one object and a grammar are registered, and rows, files, verify, explain mismatch and check follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest

from emu import contracts
from emu.base.errors import SpecError
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import Contract, ContractName, Grammar, suites
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Deviation, entry, present, stored_bits
from emu.contracts.form import Form, Question, integer_dtype
from emu.contracts.reach import Reach
from emu.contracts.rows import Input
from emu.spec import derive, get
from emu.spec.contract import GRAMMARS
from emu.spec.models import Format
from emu.vectors import build, load, verify
from emu.vectors.coverage.count import subject_of
from emu.vectors.coverage.model import count
from emu.vectors.suites import plan as plans

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, eq=False)
class NegateContract(Contract):
    """negate/<format>: the code of the negative number."""

    fmt: Format

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        fmt = get("format", name.parts[0])
        return cls(name, fmt.id, fmt.id, "exact", fmt)

    @cached_property
    def layout(self) -> Layout:
        bits = stored_bits(self.fmt)
        return layout_of([Column("x", "in", bits, self.fmt.id), Column("y", "out", bits, self.fmt.id)])

    def exact(self, values):
        return ((values[0] ^ derive.codes(self.fmt).sign_bit,),)

    def engines(self):
        def numpy(rows):
            found = np.array([row[0] for row in rows]) ^ derive.codes(self.fmt).sign_bit
            return [((int(code),),) for code in found]

        return present({"numpy": numpy})

    def suites(self) -> Iterator[suites.Inputs]:
        yield suites.every("every code", 1 << stored_bits(self.fmt), lambda start, stop: [
            Input("all", ("code",), (code,)) for code in range(start, stop)
        ])  # fmt: skip

    def trace(self, values, lane: int = 0) -> Any:
        return [entry("y", "negate", "code", f"{self.exact(values)[0][0]:x}")]

    def deviations(self) -> Iterator[Deviation]:
        yield Deviation("the sign is kept", "negate", lambda values: (values,))


@pytest.fixture(autouse=True)
def registered():
    contracts.register(Grammar("negate", ("format",)), NegateContract)
    yield
    del GRAMMARS["negate"], contracts.OPERATIONS["negate"]


def test_the_string_is_parsed():
    assert str(contracts.parse("negate/e2m1").name) == "negate/e2m1"
    with pytest.raises(SpecError, match="write negate/<format>"):
        contracts.parse("negate/e2m1/rne")
    assert "negate/e2m1" in {str(name) for name in plans.families()}


def test_files_are_written_and_verified(tmp_path):
    built = build(tmp_path / "v", contracts=["negate/e2m1"])
    assert built.written == ("negate__e2m1_to_e2m1__exact__all",)
    report = verify(tmp_path / "v")
    assert (report.faults, report.differing, report.rows, report.by_engine) == ([], 0, 16, {"exact": 16, "numpy": 16})
    suite = load(tmp_path / "v/negate", built.written[0])
    assert [row.values[:3] for row in suite.rows[3:5]] == [(0, 3, 0xB), (0, 4, 0xC)]  # pad, x, y


def test_a_kernel_is_judged():
    right = python_target(lambda x: x ^ np.uint8(8), "negate/e2m1")
    wrong = python_target(lambda x: np.where(x == 5, x, x ^ 8).astype(np.uint8), "negate/e2m1")
    assert check(right, "negate/e2m1").verdict == "pass"
    report = check(wrong, "negate/e2m1", suites=("directed", "exhaustive"))
    assert report.verdict == "differs" and report.differing == 2  # once in the directed rows, once in all
    assert int(report.failures[0].example.operands["x"], 16) == 5 and "negate" in report.failures[0].example.steps[0]


class NegateForm(Form):
    """Suites of its own: what a check asks, and that it passes only where decisions were reached."""

    decides = True

    def asked(self, codes, why, reach=None):
        return Question({"x": np.array(codes, integer_dtype(self.operation.fmt))}, (why,), reach)

    def exhaustive(self, asked):
        yield self.asked(range(1 << stored_bits(self.operation.fmt)), "exhaustive")

    def stratified(self, asked):
        yield self.asked([asked.key, asked.count], "stratified")

    def decisions(self, asked):
        yield self.asked([0, 8], "decision", Reach(blocks=1, scale_changes=0 if asked.few else 8))

    def in_shapes(self, asked):
        yield from (self.asked([1] * size, f"{size} codes") for (size, _) in asked.shapes)


class Checked(NegateContract):
    """The operation with those suites, and what its coverage model asks."""

    def form(self, result):
        return NegateForm(self, {"x": self.fmt}, {"y": self.fmt})

    def cover(self):
        return SignCover()


class SignCover:
    """An axis: the sign of a code."""

    def bins_of(self, name, axis):
        return {"sign": ("plus", "minus")}[name]

    def points(self, values):
        return [{"sign": ("plus", "minus")[values[0] >> 3]}]

    def settle(self, axes, bins):
        return {}


def test_each_suite_of_a_check_is_what_the_contract_says(monkeypatch):
    monkeypatch.setitem(contracts.OPERATIONS, "negate", Checked)
    seen = []

    def kernel(x):
        seen.append(x.tolist())
        return x ^ np.uint8(8)

    right = python_target(kernel, "negate/e2m1")
    report = check(right, "negate/e2m1", key=3, count=7, shapes=((5, 1),))
    assert report.verdict == "pass" and report.suites == {"directed": 16, "exhaustive": 16, "stratified": 2, "decisions": 2, "shapes": 5}
    assert [3, 7] in seen and [0, 8] in seen and [1] * 5 in seen and report.reach["scale_changes"] == 8
    assert check(right, "negate/e2m1", suites=("exhaustive",)).verdict == "too_little"  # the few decisions reach no change
    for code, names in ((9, ("exhaustive",)), (3, ("stratified",)), (8, ("decisions",)), (1, ("shapes",))):
        wrong = python_target(lambda x, code=code: np.where(x == code, x, x ^ 8).astype(np.uint8), "negate/e2m1")
        found = check(wrong, "negate/e2m1", key=3, count=7, shapes=((5, 1),), suites=names)
        assert found.verdict == "differs" and int(found.failures[0].example.operands["x"], 16) == code


def test_coverage_is_what_the_contract_says(monkeypatch):
    with pytest.raises(SpecError, match="negate: no coverage model"):
        subject_of(contracts.parse("negate/e2m1"))
    monkeypatch.setitem(contracts.OPERATIONS, "negate", Checked)
    facts = SimpleNamespace(op="negate", axes={"sign": None}, crosses={"signs": SimpleNamespace(axes=("sign",))})
    (cross,) = count(subject_of(contracts.parse("negate/e2m1")), SimpleNamespace(id="negate", facts=facts), [(1, (3,)), (2, (4,))])
    assert cross.hits[("plus",)].rows == 2 and cross.holes() == [("minus",)]


WITHOUT = (ROOT / "emu/check", ROOT / "emu/vectors/coverage")
ELSEWHERE = ("targets", "matmul", "libraries")  # adapters of kernels, and products, which have a contract of their own


def test_no_check_and_no_coverage_names_an_operation():
    """What differs between operations is asked of their contracts: no comparison with the name of one, no table by such names.

    A class of failures is called layout too, so that word alone says nothing.
    """
    files = [path for folder in WITHOUT for path in sorted(folder.rglob("*.py")) if not set(ELSEWHERE) & set(path.parts)]
    assert len(files) > 12
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [*node.comparators, node.left] if isinstance(node, ast.Compare) else node.keys if isinstance(node, ast.Dict) else []
            words = {item.value for part in named if part is not None for item in ast.walk(part) if isinstance(item, ast.Constant)}
            assert not words & (set(contracts.OPERATIONS) - {"layout"}), f"{path.relative_to(ROOT)}:{node.lineno}"


def test_a_mismatch_is_explained():
    from emu.rtl.mismatch.explain import explain_mismatch, lines_of
    from emu.rtl.mismatch.lines import parse_log

    stem = "negate__e2m1_to_e2m1__exact__all"
    log = [f"MISMATCH suite={stem} tc={code + 1} out=y in={code:x} want={code ^ 8:x} got={code:x} mask=f" for code in range(16)]
    found = explain_mismatch(parse_log(log))
    assert found["trace"]["negate"] and any("the sign is kept" in (item["text"], *item["also"]) for item in found["hypotheses"])
    assert any("negate" in line for line in lines_of(found))
