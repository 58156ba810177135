"""A tenth operation: one object and a grammar are registered, and rows, files, verify, explain mismatch and check follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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
from emu.contracts.rows import Input
from emu.spec import derive, get
from emu.spec.contract import GRAMMARS
from emu.spec.models import Format
from emu.vectors import build, load, verify
from emu.vectors.suites import plan as plans


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
    report = check(wrong, "negate/e2m1")
    assert report.verdict == "differs" and report.differing == 1
    assert int(report.failures[0].example.operands["x"], 16) == 5 and "negate" in report.failures[0].example.steps[0]


def test_a_mismatch_is_explained():
    from emu.rtl.mismatch.explain import explain_mismatch, lines_of
    from emu.rtl.mismatch.lines import parse_log

    stem = "negate__e2m1_to_e2m1__exact__all"
    log = [f"MISMATCH suite={stem} tc={code + 1} out=y in={code:x} want={code ^ 8:x} got={code:x} mask=f" for code in range(16)]
    found = explain_mismatch(parse_log(log))
    assert found["trace"]["negate"] and any("the sign is kept" in (item["text"], *item["also"]) for item in found["hypotheses"])
    assert any("negate" in line for line in lines_of(found))
