"""Plans: one suite of one contract from one source, before it is computed. Every plan follows from the spec alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.spec import derive
from emu.spec.contract import CHOOSING, Contract, contracts, vector_instructions
from emu.spec.models import KINDS, Format, Recipe
from emu.spec.models.common import digest_json
from emu.spec.models.format import FloatFacts
from emu.spec.registry import digest, get, names
from emu.vectors.accumulate_rows import AccumulateRows
from emu.vectors.convert_rows import ConvertRows, split_rounding
from emu.vectors.decode_rows import DecodeRows
from emu.vectors.dequantize_rows import DequantizeRows
from emu.vectors.dot_rows import DotRows
from emu.vectors.files.names import Stem
from emu.vectors.files.rows import Input
from emu.vectors.insn_rows import InsnRows
from emu.vectors.layout_rows import LayoutRows
from emu.vectors.layout_rows import cases as layout_cases
from emu.vectors.operation import Operation, stored_bits
from emu.vectors.quantize_rows import QuantizeRows
from emu.vectors.suites import convert as cases_convert
from emu.vectors.suites import decision
from emu.vectors.suites import dequantize as cases_dequantize
from emu.vectors.suites import instruction as cases_insn
from emu.vectors.suites import quantize as cases_quantize
from emu.vectors.suites import transform as cases_transform
from emu.vectors.suites.dot import suite as cases_dot_suite
from emu.vectors.suites.draws import SEED
from emu.vectors.suites.kill import rows_of_stems
from emu.vectors.suites.pick import smoke
from emu.vectors.transform_rows import TransformRows

SOURCES = ("fp32", "bf16", "fp16")
RESULTS = ("fp32", "bf16", "fp16")
FIRST_POLICIES = ("nvidia", "ocp_saturate", "amd", "ml_dtypes")
FIRST_BLOCKS = ("nvfp4", "mxfp4")
SMOKE_CONVERT, SMOKE_BLOCKS, SMOKE_DOT, SMOKE_LAYOUT, SMOKE_INSN = 48, 10, 18, 64, 24
WIDEST_DESTINATION = 16
Cases = Callable[[int, int], list[Input]]


@dataclass(frozen=True)
class SuitePlan:
    """One suite.

    aliases: other contracts with the same rows.   about: what the inputs are, for the JSON file.
    chosen: makes the whole list of cases; or rows and draw: how many there are and how to make a part of them.
    """

    operation: Operation
    suite: str
    aliases: tuple[str, ...]
    about: dict[str, Any]
    chosen: Callable[[], list[Input]] | None = None
    rows: int = 0
    draw: Cases | None = None

    @property
    def stem(self) -> str:
        """The file name without ending."""
        op = self.operation
        return str(Stem(op.contract.op, op.src, op.dst, op.part, self.suite))

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rows if self.chosen is None else len(self.chosen())

    @property
    def space(self) -> dict[str, Any]:
        """The `space` object of the JSON file."""
        about = self.about
        return {
            "exhaustive": about["exhaustive"],
            "inputs": about["inputs"],
            "size": self.size,
            "seed": about["seed"],
            "recipe": about["recipe"],
        }

    def cases(self, start: int, stop: int) -> list[Input]:
        """Return the cases of rows start .. stop - 1."""
        if self.chosen is not None:
            return self.chosen()[start:stop]
        assert self.draw is not None
        return self.draw(start, stop)

    def named(self) -> tuple[str, ...]:
        """Return every contract that these rows belong to."""
        return (str(self.operation.contract), *self.aliases)


def families() -> dict[Contract, tuple[str, ...]]:
    """Return contract -> aliases: contracts whose rows are identical by their resolved facts share the first one's files."""
    return _families(tuple((kind, name, digest(get(kind, name))) for kind in KINDS for name in names(kind)))


@bounded(4, names=True)
def _families(known: tuple[tuple[str, str, str], ...]) -> dict[Contract, tuple[str, ...]]:
    groups: dict[Any, list[Contract]] = {}
    for contract in (*contracts(), *vector_instructions()):
        groups.setdefault(_sameness(contract), []).append(contract)
    out = {}
    for members in groups.values():
        first, *rest = sorted(members, key=_precedence)
        out[first] = tuple(sorted(str(contract) for contract in rest))
    return out


def _precedence(contract: Contract) -> tuple[Any, ...]:
    """Well-known policies first, random integers per element before words; published datapaths first; then by name."""
    if contract.op in CHOOSING:
        model = get("datapath", contract.parts[0])
        return (model.status in ("proposed", "inferred"), len(str(contract)), str(contract))
    if contract.op == "layout":
        block = contract.parts[0]
        return (FIRST_BLOCKS.index(block) if block in FIRST_BLOCKS else len(FIRST_BLOCKS), str(contract))
    if contract.op != "convert":
        return (len(str(contract)), str(contract))
    policy, rounding = contract.parts[2], get("rounding", contract.parts[1])
    place = FIRST_POLICIES.index(policy) if policy in FIRST_POLICIES else len(FIRST_POLICIES)
    return (place, split_rounding(rounding) is not rounding, str(contract))


def _sameness(contract: Contract) -> Any:
    """Return what decides a contract's rows, so that equal keys mean equal rows."""
    if contract.op == "convert":
        op = ConvertRows(contract, "fp32")
        seen = op.described()
        entry = op.entry
        signed = bool(derive.codes(op.fmt).sign_bit) or derive.is_twos_complement(op.fmt)
        facts = digest_json(
            [op.rounding.facts_digest, seen["nan"], seen["inf"], entry.overflow, entry.overflow_nan, entry.zero, entry.negative]
        )
        return (contract.op, digest(op.fmt), signed, facts)
    if contract.op == "quantize":
        recipe: Recipe = get("recipe", contract.parts[0])
        facts_json = recipe.facts_json()
        return (contract.op, digest(recipe), digest_json([facts_json["block"], facts_json["steps"]]))
    if contract.op == "dequantize":
        recipe = get("recipe", contract.parts[0])
        facts_json = recipe.facts_json()
        block = get("block", recipe.facts.block)
        return (contract.op, digest(block), digest_json([facts_json["arithmetic"], facts_json["dequantize"][contract.parts[1]]]))
    if contract.op in (*CHOOSING, "layout"):
        return (contract.op, contract.spec_sha256)
    if contract.op == "insn":
        return (contract.op, contract.parts)
    return (contract.op, digest(contract.objects[0]))


def plans(op: str | None = None) -> Iterator[SuitePlan]:
    """Yield every plan of the registry, or those of one operation, contract by contract."""
    for contract, aliases in families().items():
        if op in (None, contract.op):
            yield from plans_of(contract, aliases)


def plans_of(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    """Yield the plans of one family of contracts."""
    yield from _MAKERS[contract.op](contract, aliases)


def find(stem: str) -> SuitePlan:
    """Return the plan of a stem. Raises: FileError when the spec plans no such suite."""
    op = stem.partition("__")[0]
    for contract, aliases in families().items():
        if contract.op == op and any(part in stem for part in contract.parts):
            for plan in plans_of(contract, aliases):
                if plan.stem == stem:
                    return plan
    raise FileError(f"{stem}: the loaded spec plans no suite of this name: is a --spec folder missing?")


def _about(exhaustive: bool, inputs: str, call: str, seed: int | None = None) -> dict[str, Any]:
    generator = {"generator": "philox4x32_10"} if seed is not None else {}
    return {"exhaustive": exhaustive, "inputs": inputs, "seed": seed, "recipe": {"call": call} | generator}


def _pair(op: Any, directed: Callable[[], list[Input]], aliases: tuple[str, ...], most: int) -> Iterator[SuitePlan]:
    """Yield the smoke and the directed plan over one list of directed cases, made at first use."""
    made = lru_cache(maxsize=1)(directed)
    few = lru_cache(maxsize=1)(lambda: smoke([case for case in made() if case.group != cases_convert.LATER], most))
    about = "chosen rows; the flags say why"
    yield SuitePlan(op, "smoke", aliases, _about(False, f"at most {most} of the directed rows", f"{op.contract.op}.smoke"), few)
    yield SuitePlan(op, "directed", aliases, _about(False, about, f"{op.contract.op}.directed"), made)
    numbers = rows_of_stems().get(_directed_stem(op))
    if numbers:
        about = "the directed rows that together kill every recorded mutant"
        yield SuitePlan(
            op, "kill", aliases, _about(False, about, f"{op.contract.op}.kill"), lambda: [made()[number - 1] for number in numbers]
        )


def _random(op: Any, draw: Callable[[Any, str, int, int], list[Input]], rows: int, aliases: tuple[str, ...]) -> SuitePlan:
    stem = str(Stem(op.contract.op, op.src, op.dst, op.part, "random"))
    about = _about(False, "random rows", f"{op.contract.op}.random", SEED)
    return SuitePlan(op, "random", aliases, about, rows=rows, draw=lambda start, stop: draw(op, stem, start, stop))


def _directed_stem(op: Any) -> str:
    return str(Stem(op.contract.op, op.src, op.dst, op.part, "directed"))


def _decode(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    fmt: Format = get("format", contract.parts[0])
    bits = stored_bits(fmt)
    wide = isinstance(fmt.facts, FloatFacts) and (fmt.facts.frac_bits > 23 or fmt.facts.exp_bits > 8)
    if bits <= WIDEST_DESTINATION and not wide:
        about = _about(True, f"every {bits}-bit code", "codes")
        op = DecodeRows(contract)
        yield SuitePlan(op, "all", aliases, about, rows=1 << bits, draw=lambda start, stop: [op.case(code) for code in range(start, stop)])


def _codes(flag: str) -> Cases:
    return lambda start, stop: [Input("all", (flag,), (code,)) for code in range(start, stop)]


def _convert(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    if derive.codes(get("format", contract.parts[0])).bits > WIDEST_DESTINATION:
        return
    for op in (ConvertRows(contract, source) for source in SOURCES if source != contract.parts[0]):
        yield from _pair(op, partial(cases_convert.directed, op), aliases, SMOKE_CONVERT)
        bits = stored_bits(op.source)
        if bits <= 16 and not op.rounding.random_bits:
            yield SuitePlan(op, "all", aliases, _about(True, f"every {op.src} code", "codes"), rows=1 << bits, draw=_codes("exhaustive"))
        yield _random(op, cases_convert.random, cases_convert.RANDOM_ROWS, aliases)


def _quantize(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    for op in (QuantizeRows(contract, source) for source in SOURCES):
        yield from _pair(op, partial(cases_quantize.directed, op, _directed_stem(op)), aliases, SMOKE_BLOCKS)
        if decision.applies(op):
            inputs = "bf16 significands of block and tensor maximum and their exponent gap 0 .. 20, block <= tensor; other lanes drawn"
            about = _about(True, inputs, "quantize.decision", SEED)
            yield SuitePlan(op, "all", aliases, about, rows=decision.SIZE, draw=partial(decision.cases, op))
        yield _random(op, cases_quantize.random, cases_quantize.RANDOM_ROWS, aliases)


def _dequantize(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    for op in (DequantizeRows(contract, result) for result in RESULTS):
        yield from _pair(op, partial(cases_dequantize.directed, op, _directed_stem(op)), aliases, SMOKE_BLOCKS)
        yield _random(op, cases_dequantize.random, cases_dequantize.RANDOM_ROWS, aliases)


def _transform(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    for op in (TransformRows(contract, source) for source in SOURCES):
        yield from _pair(op, partial(cases_transform.directed, op, _directed_stem(op)), aliases, SMOKE_BLOCKS)
        yield _random(op, cases_transform.random, cases_transform.RANDOM_ROWS, aliases)


def _dot(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    op = DotRows(contract)
    yield from _pair(op, partial(cases_dot_suite.directed, op), aliases, SMOKE_DOT)
    yield _random(op, cases_dot_suite.random, cases_dot_suite.RANDOM_ROWS, aliases)


def _accumulate(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    op = AccumulateRows(contract)
    about = "chains of 8 instructions; the flags say why"
    for suite, chains in (("smoke", cases_dot_suite.SMOKE_CHAINS), ("directed", cases_dot_suite.CHAINS)):
        made = lru_cache(maxsize=1)(partial(cases_dot_suite.chains, op, chains))
        yield SuitePlan(op, suite, aliases, _about(False, about, f"accumulate.{suite}", SEED), made)


def _layout(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    op = LayoutRows(contract)
    made = lru_cache(maxsize=1)(partial(layout_cases, op))
    few = lru_cache(maxsize=1)(lambda: smoke(made(), SMOKE_LAYOUT))
    yield SuitePlan(op, "smoke", aliases, _about(False, f"at most {SMOKE_LAYOUT} of all codes of the tensor", "layout.smoke"), few)
    yield SuitePlan(op, "all", aliases, _about(True, "every code of one tensor", "layout.all"), made)


def _insn(contract: Contract, aliases: tuple[str, ...]) -> Iterator[SuitePlan]:
    op = InsnRows(contract)
    yield from _pair(op, partial(cases_insn.directed, op, _directed_stem(op)), aliases, SMOKE_INSN)
    yield _random(op, cases_insn.random, cases_insn.RANDOM_ROWS, aliases)


_MAKERS = {
    "decode": _decode, "convert": _convert, "quantize": _quantize, "dequantize": _dequantize, "transform": _transform,
    "dot": _dot, "accumulate": _accumulate, "layout": _layout, "insn": _insn,
}  # fmt: skip
