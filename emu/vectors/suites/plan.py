"""Plans: one suite of one contract from one source, before it is computed. Every plan follows from the spec alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.contracts import OPERATIONS, Contract
from emu.contracts.rows import Input
from emu.contracts.suites import Inputs, about
from emu.spec.contract import ContractName, contracts, vector_instructions
from emu.spec.models import KINDS
from emu.spec.registry import digest, get, names
from emu.vectors.suites.kill import rows_of_stems


@dataclass(frozen=True)
class SuitePlan:
    """One suite.   operation: its contract.   inputs: what its rows try.   aliases: other contracts with the same rows."""

    operation: Contract
    inputs: Inputs
    aliases: tuple[str, ...]

    @property
    def suite(self) -> str:
        """Which suite of the contract it is."""
        return self.inputs.suite

    @property
    def stem(self) -> str:
        """The file name without ending."""
        return self.operation.stem(self.suite)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.inputs.size

    @property
    def space(self) -> dict[str, Any]:
        """The `space` object of the JSON file."""
        told = self.inputs.about
        return {
            "exhaustive": told["exhaustive"],
            "inputs": told["inputs"],
            "size": self.size,
            "seed": told["seed"],
            "recipe": told["recipe"],
        }

    def cases(self, start: int, stop: int) -> list[Input]:
        """Return the cases of rows start .. stop - 1."""
        return self.inputs.cases(start, stop)

    def named(self) -> tuple[str, ...]:
        """Return every contract that these rows belong to."""
        return (str(self.operation.name), *self.aliases)


def families() -> dict[ContractName, tuple[str, ...]]:
    """Return contract -> aliases: contracts whose rows are identical by their resolved facts share the first one's files."""
    return _families(tuple((kind, name, digest(get(kind, name))) for kind in KINDS for name in names(kind)), tuple(OPERATIONS))


@bounded(4, names=True)
def _families(known: tuple[tuple[str, str, str], ...], operations: tuple[str, ...]) -> dict[ContractName, tuple[str, ...]]:
    groups: dict[Any, list[ContractName]] = {}
    for contract in (*contracts(), *vector_instructions()):
        groups.setdefault(OPERATIONS[contract.op].sameness(contract), []).append(contract)
    out = {}
    for members in groups.values():
        first, *rest = sorted(members, key=OPERATIONS[members[0].op].precedence)
        out[first] = tuple(sorted(str(contract) for contract in rest))
    return out


def plans(op: str | None = None) -> Iterator[SuitePlan]:
    """Yield every plan of the registry, or those of one operation, contract by contract."""
    for contract, aliases in families().items():
        if op in (None, contract.op):
            yield from plans_of(contract, aliases)


def plans_of(contract: ContractName, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    """Yield the plans of one family of contracts; after the directed suite the rows of it that kill every recorded mutant."""
    for operation in OPERATIONS[contract.op].openings(contract):
        for inputs in operation.suites():
            yield SuitePlan(operation, inputs, aliases)
            numbers = rows_of_stems().get(operation.stem("directed")) if inputs.suite == "directed" else None
            if numbers:
                yield SuitePlan(operation, _kill(inputs, contract.op, numbers), aliases)


def _kill(directed: Inputs, op: str, numbers: tuple[int, ...]) -> Inputs:
    """Return some of the directed rows. numbers: from 1."""

    def chosen() -> list[Input]:
        assert directed.chosen is not None
        made = directed.chosen()
        return [made[number - 1] for number in numbers]

    told = about(False, "the directed rows that together kill every recorded mutant", f"{op}.kill")
    return replace(directed, suite="kill", about=told, chosen=chosen)


def find(stem: str) -> SuitePlan:
    """Return the plan of a stem. Raises: FileError when the spec plans no such suite."""
    op = stem.partition("__")[0]
    for contract, aliases in families().items():
        if contract.op == op and any(part in stem for part in contract.parts):
            for plan in plans_of(contract, aliases):
                if plan.stem == stem:
                    return plan
    raise FileError(f"{stem}: the loaded spec plans no suite of this name: is a --spec folder missing?")
