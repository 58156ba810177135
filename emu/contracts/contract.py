"""The contract of one operation as an object: everything that emu knows of it, asked by vectors, check, identify and rtl alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError, SpecError
from emu.contracts import suites
from emu.contracts.columns import Layout
from emu.contracts.form import Form, integer_dtype, row_form
from emu.contracts.rows import Answer, Input, make_row, value_of
from emu.contracts.suites import Inputs
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.models import Format, SpecObject
from emu.spec.registry import added

if TYPE_CHECKING:
    from emu.contracts.cover import Subject

Values = tuple[int, ...]
Batch = Callable[[Sequence[Values]], list[Answer | None]]


@dataclass(frozen=True, eq=False)
class Contract(ABC):
    """One contract, with the format that its string leaves open.

    name: the parsed string.   src, dst, part: what goes in, what comes out and the rest, as file names say it.
    The further fields of a subclass are facts; `dataclasses.replace` changes one and gives the contract of a machine that deviates in it.
    opens: what the string leaves open.   formats: the formats for which suites are made.
    examples: kinds of spec objects whose worked examples it replays.
    chooser: the module that chooses rows: directed(contract, stream), random(contract, stem, start, stop), RANDOM_ROWS.
    smoke: how many of the directed rows the smoke suite has.
    neighbours: are contracts that differ in one name deviations too; False where `deviations` lists them.
    """

    name: ContractName
    src: str
    dst: str
    part: str
    opens: ClassVar[Literal["source", "result", ""]] = ""
    formats: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[str, ...]] = ()
    chooser: ClassVar[Any] = None
    smoke: ClassVar[int] = 0
    neighbours: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def of(cls, name: ContractName, given: str = "") -> Contract:
        """Return the contract of a name. given: id of the format that the string leaves open."""

    @classmethod
    def openings(cls, name: ContractName) -> Iterator[Contract]:
        """Yield the contracts that suites are made for, one for each format."""
        yield from (cls.of(name, given) for given in cls.formats or ("",))

    @classmethod
    def sameness(cls, name: ContractName) -> Any:
        """Return what decides the rows of a contract: equal keys mean equal rows, and one suite for both."""
        return (name.op, name.spec_sha256, any(map(_judges_set_bits, name.objects)))

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Return the sort key by which one of several contracts with equal rows gives the files their name: the least does."""
        return (len(str(name)), str(name))

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The columns of a row."""

    @abstractmethod
    def exact(self, values: Values) -> Answer:
        """Return the answer of the exact engine to one row: one tuple of lane codes per result column, negative where nobody knows."""

    def engines(self) -> dict[str, Batch]:
        """Return the other engines present: answers for the outputs (stages may be missing), None for a row one cannot do."""
        return {}

    def suites(self) -> Iterator[Inputs]:
        """Yield the inputs of every suite: smoke and directed rows, the whole space where there is one, random rows."""
        yield from suites.chosen(self.name.op, self.directed, self.smoke)
        yield from self.whole()
        yield suites.random(self.name.op, self.draw, self.chooser.RANDOM_ROWS)

    def whole(self) -> Iterator[Inputs]:
        """Yield the suite of a whole input space, where it is small."""
        yield from ()

    def directed(self, stream: str = "") -> list[Input]:
        """Return the directed rows, or another suite of an operation without. stream: seeds what they draw; "": as the suite does."""
        if self.chooser is None:
            named = {inputs.suite: inputs for inputs in self.suites()}
            inputs = next((named[suite] for suite in ("directed", "all", "smoke", "random") if suite in named), None)
            return [] if inputs is None else inputs.cases(0, inputs.size)
        found: list[Input] = self.chooser.directed(self, stream or self.stem("directed"))
        return found

    def draw(self, start: int, stop: int) -> list[Input]:
        """Return the random rows start .. stop - 1; any split gives the same rows."""
        found: list[Input] = self.chooser.random(self, self.stem("random"), start, stop)
        return found

    def form(self, result: Format) -> Form:
        """Return the contract on whole arrays. result: format of values. Raises: SpecError (a kernel of it cannot be judged)."""
        return row_form(self)

    @abstractmethod
    def trace(self, values: Values, lane: int = 0) -> Any:
        """Return the derivation of a row, stage by stage, by the exact engine, as plain data.

        A list of entries {out: what is made, op: how, where: of what, value: exact text}; convert and dot have forms of their own.
        lane: the element that is told where there are many.
        """

    def lines(self, trace: Any) -> list[str]:
        """Return a trace as lines to read."""
        wide = max((len(step["out"]) for step in trace), default=0)
        return [f"{step['out']:<{wide}}  {step['op']:<8} {step['where']:<8} {step['value']}" for step in trace]

    def signals(self, values: Values, got: Mapping[str, int | None]) -> list[tuple[str, int, int | None]]:
        """Return a row for a wave viewer: (name, bits, value): inputs, then each result beside what a design gave.

        got: result column -> value; None: unknown.
        """
        row = make_row(self.layout, Input("", (), values), self.exact(values))
        out: list[tuple[str, int, int | None]] = [(column.name, column.bits, value) for column, value in
                                                  zip(self.layout.inputs, values, strict=True)]  # fmt: skip
        for column in self.layout.results:
            out.append((column.name, column.bits, value_of(self.layout, row, column.name)))
            out += [(f"got_{column.name}", column.bits, got[column.name])] if column.name in got else []
        return out

    def deviations(self) -> Iterator[Deviation]:
        """Yield what a machine may do otherwise, one thing at a time."""
        yield from ()

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """Yield what one lane of a machine may do otherwise: many, and tried last."""
        yield from ()

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """Return None where a worked example of a spec object holds, else what the exact engine gives instead.

        thing: of a kind in `examples`.   example: one of its `expect`.   Raises: EmuError (the engine refuses it).
        """
        raise SpecError(f"{thing.kind} {thing.id}: no worked example of this kind belongs to {cls.__name__}")

    def cover(self) -> Subject | None:
        """Return what gives the axes of its coverage model their meaning; None where it has no model."""
        return None

    @property
    def covered_as(self) -> str:
        """The operation whose coverage model counts its rows."""
        return self.name.op

    def described(self) -> dict[str, Any]:
        """Return what the JSON `contract` object says of this operation beyond names and sources."""
        return {}

    def stem(self, suite: str) -> str:
        """Return the file name of a suite without its ending."""
        return f"{self.name.op}__{self.src}_to_{self.dst}__{self.part}__{suite}"

    def inputs_of(self, values: Values) -> dict[str, int]:
        """Return column name -> value of the inputs of a row."""
        return {column.name: value for column, value in zip(self.layout.inputs, values, strict=True)}


def entry(out: str, op: str, where: str, value: str) -> dict[str, str]:
    """Return one stage of a trace."""
    return {"out": out, "op": op, "where": where, "value": value}


def stored_bits(fmt: Format) -> int:
    """Return the width of a code as stored, unused high bits included."""
    return derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def array_of(codes: Sequence[Any], fmt: Format) -> NDArray[np.unsignedinteger]:
    """Return codes as an unsigned array of the format's dtype."""
    return np.array(codes, integer_dtype(fmt))


def present(table: Mapping[str, Batch]) -> dict[str, Batch]:
    """Return the engines of a table, each answering None for all rows when it says it cannot do the work."""

    def guarded(batch: Batch) -> Batch:
        def run(rows: Sequence[Values]) -> list[Answer | None]:
            try:
                return batch(rows)
            except EngineError:
                return [None] * len(rows)

        return run

    return {name: guarded(batch) for name, batch in table.items()}


def native() -> Any:
    """Return the binding of the C reference, or None where the extension is not built."""
    try:
        from emu.engines.c_ref import convert as module
    except ImportError:
        return None
    return module if hasattr(module, "convert_with_open") else None


def _judges_set_bits(thing: SpecObject) -> bool:
    """Tell whether rows judge set bits above a code: of a user's object, where it says that they are ignored and leaves that not open."""
    is_open = any("unused_bits" in point.facts for point in thing.open)
    return added(thing.kind, thing.id) and not is_open and '"unused_bits":"ignore"' in thing.model_dump_json()


# One thing that a machine may do otherwise than a contract says. The contract of each operation lists its own: `Contract.deviations`.


@dataclass(frozen=True)
class Deviation:
    """A single deviation.

    text: in words.   stage: the first stage that it makes wrong.   answer: values of a row -> what such a machine gives;
    None, or an EmuError: it cannot be said.   batch: the same for many rows at once, where that is much quicker.
    """

    text: str
    stage: str
    answer: Callable[[Values], Answer | None]
    batch: Callable[[Sequence[Values]], list[Answer | None]] | None = None

    @classmethod
    def of_rows(cls, text: str, stage: str, batch: Batch) -> Deviation:
        """Return one whose answers are made for many rows at once."""
        return cls(text, stage, lambda values: batch([values])[0], batch)


__all__ = ["Answer", "Batch", "Contract", "Deviation", "Input", "Inputs", "Values", "array_of", "native", "present", "stored_bits"]
