"""Contracts: one object per operation, which knows everything that vectors, check, identify and rtl ask of it.

A contract string fixes every bit of an operation: "convert/e2m1/rne/nvidia". `parse` returns its object. To add an operation, write one
folder here (a file where it is small) and one function per engine. The folder holds a subclass of Contract with

    of          the object of a parsed name, its facts as fields
    layout      the columns of a row of golden vectors
    exact       the answer to a row by the exact engine: this is what every other answer is compared with
    engines     the other engines: many rows at once
    suites      the inputs of each suite: chosen, random, or the whole space; or `chooser`, a module that chooses and draws rows
    trace       the derivation of a row, stage by stage
and, where there is something to say,
    deviations  what a machine may do otherwise, one thing at a time: `emu explain mismatch` tries them
    form        the operation on whole arrays, for kernels that take tensors (otherwise operands are the columns of a row), with the inputs
                of each suite of a check: directed, exhaustive, stratified, decisions, in_shapes
    cover       what the axes of its coverage model mean
    directed, described, sameness, precedence, openings, lines, signals, and replay of the worked examples of spec objects

and `register` adds it under a Grammar, which says how its strings read. tests/contracts/test_contracts_toy.py does all of this in one page.
"""

from __future__ import annotations

from typing import Any, Final

from emu.contracts.accumulate import AccumulateContract
from emu.contracts.contract import Contract
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.decode import DecodeContract
from emu.contracts.dequantize.contract import DequantizeContract
from emu.contracts.dot.contract import DotContract
from emu.contracts.form import Form
from emu.contracts.insn.contract import InstructionContract
from emu.contracts.layout import LayoutContract
from emu.contracts.operate.contract import OperateContract
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.transform.contract import TransformContract
from emu.spec.contract import GRAMMARS, ContractName, Grammar
from emu.spec.contract import parse as parse_name
from emu.spec.models import SpecObject
from emu.spec.registry import get

OPERATIONS: Final[dict[str, type[Contract]]] = {
    "decode": DecodeContract,
    "convert": ConvertContract,
    "quantize": QuantizeContract,
    "dequantize": DequantizeContract,
    "transform": TransformContract,
    "dot": DotContract,
    "accumulate": AccumulateContract,
    "layout": LayoutContract,
    "insn": InstructionContract,
    "operate": OperateContract,
}


def register(grammar: Grammar, operation: type[Contract]) -> None:
    """Add an operation: how its strings read, and its object."""
    GRAMMARS[grammar.op] = grammar
    OPERATIONS[grammar.op] = operation


def contract_of(name: ContractName, given: str = "") -> Contract:
    """Return the contract of a parsed name. given: id of the format that the string leaves open."""
    return OPERATIONS[name.op].of(name, given)


def parse(text: str, given: str = "") -> Contract:
    """Return the contract of a string, such as "convert/e2m1/rne/nvidia".

    given: id of the format that the string leaves open (the source of convert, quantize and transform, the result of dequantize);
    fp32 unless told.   Raises: SpecError (no such contract, an unknown format).   Tests: tests/contracts.
    """
    return contract_of(parse_name(text), given)


def form_of(contract: str | ContractName, source: str | None = None, result: str | None = None) -> Form:
    """Return the form of a contract: it on whole arrays.

    source: id of the format of x, or of the codes to convert; None: fp32.   result: of values; None: fp32.
    Raises: SpecError (unknown names; an operation whose kernels cannot be judged).
    """
    name = parse_name(contract) if isinstance(contract, str) else contract
    given = {"source": source, "result": result, "": None}[OPERATIONS[name.op].opens]
    return contract_of(name, given or "").form(get("format", result or "fp32"))


def replay(thing: SpecObject, example: Any) -> str | None:
    """Return None where a worked example of a spec object holds, else what came out instead.

    Raises: StopIteration (a kind of which no operation has examples), EmuError (the engine refuses it).
    """
    return next(operation for operation in OPERATIONS.values() if thing.kind in operation.examples).replay(thing, example)


__all__ = ["OPERATIONS", "Contract", "ContractName", "Grammar", "contract_of", "form_of", "parse", "register", "replay"]
