"""The check of a product: order-free operands first, then epilogue, then random data. Not here: how operands are proven (sets.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from time import perf_counter
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.check.matmul import envelope
from emu.check.matmul.epilogue import Program, programs, to_result
from emu.check.matmul.locate import Case, locate, unequal, where
from emu.check.matmul.numbers import Bits, Draws, bit_length, trailing_zeros
from emu.check.matmul.pair import Pair, Side, pair_of
from emu.check.matmul.report import GemmReport, Stage
from emu.check.matmul.sets import Limits, Operands, default_shapes, every_set, limits_of, one_hot, palette, summed
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.ieee import is_binary32
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

# exponents of the tensor scales, alpha and beta of the first stage: powers of two keep every sum exact, and no two products are alike
POWERS: Final = (
    {"ta": 1, "tb": -3, "alpha": 5, "beta": 2}, {"ta": -2, "tb": 6, "alpha": -1, "beta": -3}, {"ta": 0, "tb": 0, "alpha": 0, "beta": 0},
)  # fmt: skip
SHAPES_OF_WIDTHS: Final = 3  # shapes with which the width of an accumulator is searched
KEPT: Final = 12  # wrong answers that are kept to be explained
BATCHES: Final = (1, 4)  # rows of smaller batches
TRIED: Final = 4  # of them, the smallest first
ONE: Final = int(np.float32(1).view(np.uint32))


def check_gemm(
    target: Any,
    contract: str,
    *,
    accumulate: str | int = "fp32",
    operands: str = "exact",
    reduce: str = "fp32",
    epilogue: str = "any",
    shapes: Iterable[tuple[int, int, int]] | None = None,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
) -> GemmReport:
    """Ask a target for products and return the report; see emu.testing.check_matmul. target: of emu.check.matmul.target, or of files.

    Raises: SpecError (contract), OperandError (a word, a shape).
    """
    pair = pair_of(contract)
    chosen = checked_shapes(shapes, pair)
    limits = limits_of(accumulate, operands, reduce)
    if count is not None and count < 1:
        raise OperandError(f"count {count}: ask at least one shape")
    if seconds is not None:
        from emu.check.targets.isolate import forked

        with forked(target, seconds) as isolated:
            return Check(isolated, pair, limits, epilogue, chosen[:count], key, shapes is not None).run()
    return Check(target, pair, limits, epilogue, chosen[:count], key, shapes is not None).run()


def checked_shapes(shapes: Iterable[tuple[int, int, int]] | None, pair: Pair) -> list[tuple[int, int, int]]:
    """Return the shapes to ask, M, N, K each. Raises: OperandError (no such product; K that cuts a block)."""
    if shapes is None:
        return default_shapes(pair.step if pair.step > 8 else 16)
    found = [tuple(int(length) for length in shape) for shape in shapes]
    if not found:
        raise OperandError("shapes: give at least one M, N, K, or leave them out")
    for shape in found:
        if len(shape) != 3 or min(shape) < 1 or shape[2] % pair.step:
            raise OperandError(f"shape {'x'.join(map(str, shape))}: write M, N, K, each at least 1, K a multiple of {pair.step}")
    return found  # type: ignore[return-value]


class Question:
    """One call: operands for the target, and what must come out."""

    def __init__(self, pair: Pair, asked: Operands, wants: tuple[str, ...], powers: dict[str, int], draws: Draws | None) -> None:
        self.pair, self.asked = pair, asked
        self.powers = {name: powers[name] for name in taken(pair, wants)}
        m, n, _ = asked.shape
        self.c: Any = None
        shift = sum(power for name, power in self.powers.items() if name != "beta")
        values = np.ldexp(asked.sums.astype(np.float64), (asked.unit + shift).astype(np.int32))
        if "c" in wants:
            self.c = self._addend(draws, asked.unit + shift)
            values = values + np.ldexp(self.c, self.powers.get("beta", 0))
        self.values = values
        out = np.zeros((m, n), np.float32) if self.c is None else self.c.astype(np.float32)
        self.operands = raw(pair, asked, self.powers, to_result(out, pair.out), wants)
        with np.errstate(over="ignore"):
            self.want = to_result(values.astype(np.float32), pair.out)
        self.known = comparable(values, pair.out)

    def _addend(self, draws: Draws | None, unit: Any) -> Any:
        """Return C as integers of few bits in the unit of the sum, where it has room and the format of the result holds it."""
        whole = (draws.below(127, *unit.shape) - 63) if draws is not None else np.zeros(unit.shape, np.int64)
        whole = np.clip(whole, -np.minimum(self.asked.room, 63), np.minimum(self.asked.room, 63))
        found = np.ldexp(whole.astype(np.float64), (unit - self.powers.get("beta", 0)).astype(np.int32))
        return np.where(comparable(found, self.pair.out), found, 0.0)

    def encode(self, sums: Any) -> Bits:
        """Return sums before the scales as codes of the result."""
        shift = sum(power for name, power in self.powers.items() if name != "beta")
        found = np.ldexp(sums, shift)
        with np.errstate(over="ignore"):
            addend = 0 if self.c is None else np.ldexp(self.c, self.powers.get("beta", 0))
            return to_result((found + addend).astype(np.float32), self.pair.out)


def taken(pair: Pair, wants: tuple[str, ...]) -> list[str]:
    """Return which scalars a kernel is given: ta, tb where it takes the operand or its tensor scale, alpha, beta."""
    sides = [f"t{name}" for name, side in (("a", pair.a), ("b", pair.b)) if side.tensor and {name, f"{name}_tensor"} & set(wants)]
    return [*sides, *(name for name in ("alpha", "beta") if name in wants)]


def raw(pair: Pair, asked: Operands, powers: dict[str, int], c: Bits, wants: tuple[str, ...]) -> dict[str, Bits]:
    """Return the operands of a call as arrays of bits, scalars powers of two."""
    out: dict[str, Bits] = {"a_codes": asked.a, "b_codes": asked.b}
    for name, side, scales in (("a", pair.a, asked.sa), ("b", pair.b, asked.sb)):
        if scales is not None:
            out[f"{name}_scales"] = scales
        power = 2.0 ** powers.get(f"t{name}", 0)
        out[f"{name}_level"] = np.array(side.tensor_code(power) if side.tensor else ONE, np.uint32)
        out[f"{name}_tensor"] = np.array(np.float32(power).view(np.uint32))
    for name in ("alpha", "beta"):
        out[name] = np.array(np.float32(2.0 ** powers.get(name, 0)).view(np.uint32))
    return out | ({"c": c} if "c" in wants else {})


def comparable(values: Any, out: Format) -> Bits:
    """Return where values are zero, or normal numbers of the result and not beyond its largest."""
    facts = out.facts
    assert isinstance(facts, FloatFacts)
    size = np.abs(values)
    top = float(decode_code(derive.codes(out).max_code, out).signed)
    return np.asarray((size == 0) | ((size >= 2.0 ** (1 - facts.bias)) & (size <= top)))


def limits_of_width(bits: int) -> Limits:
    """Return the limits of an accumulator of some bits: the range of binary16 where it could be one."""
    return Limits(bits, -14, 15) if bits <= 11 else Limits(bits)


class Single:
    """Outputs of one product each, where no order, window or addition has a part: what they say of an accumulator's width.

    right: the most significant bits of one that came out right.   wrong: (bits, exponent of the lowest) of those that did not.
    """

    def __init__(self) -> None:
        self.right = 0
        self.wrong: set[tuple[int, int]] = set()

    def add(self, question: Question, wrong: Bits) -> None:
        """Add the outputs of a question whose rows of one operand have one live element at most."""
        asked, pair = question.asked, question.pair
        if not any(((codes != side.zero).sum(axis=1) <= 1).all() for codes, side in ((asked.a, pair.a), (asked.b, pair.b))):
            return
        size = np.abs(asked.sums)
        shift = trailing_zeros(size)
        bits, least = bit_length(size) - shift, np.broadcast_to(asked.unit, size.shape) + shift
        plain = question.known if question.c is None else question.known & (question.c == 0)
        right, other = plain & ~wrong, plain & wrong
        if is_binary32(pair.out) and right.any():
            self.right = max(self.right, int(bits[right].max()))
        self.wrong |= set(zip(bits[other].tolist(), least[other].tolist(), strict=True))

    def fits(self, bits: int, limits: Limits) -> bool:
        """Tell whether an accumulator of some bits can have given what came out."""
        held = any(need <= bits and least >= limits.least and least + need <= limits.most for need, least in self.wrong)
        return self.right <= bits and not held


class Check:
    """One check on its way."""

    def __init__(
        self, target: Any, pair: Pair, limits: Limits, epilogue: str, shapes: list[tuple[int, int, int]], key: int, given: bool
    ) -> None:
        self.given = given  # a kernel that is asked for some shapes may take no others
        self.target, self.pair, self.limits, self.wanted, self.shapes, self.key = target, pair, limits, epilogue, shapes, key
        self.wants: tuple[str, ...] = tuple(getattr(target, "wants", ("a", "b")))
        self.stored = bool(getattr(target, "stored", False))
        self.report = GemmReport(target.name, pair.text)
        self.failed: list[Case] = []
        self.asked = self.zeros = 0
        self.left: list[str] = []
        self.single = Single()

    def run(self) -> GemmReport:
        """Run the stages one after the other."""
        begin = perf_counter()
        try:
            self.order_free()
            if not self.report.differing:
                self.epilogue()
                self.envelope()
            self.explain()
        except TargetError as error:
            self.report.verdict, self.report.message = error.verdict, str(error)  # type: ignore[assignment]
        else:
            self.report.verdict = "differs" if self.report.differing else "pass" if self.report.compared else "nothing"
        if self.zeros:
            self.report.notes.append(f"{self.zeros} zeros have the other sign, which depends on the order and is no fault")
        self.report.notes += [f"left out: {line}" for line in dict.fromkeys(self.left)]
        self.report.seconds = perf_counter() - begin
        return self.report

    def call(self, operands: dict[str, Bits]) -> Bits:
        """Call the target; on the first call, twice. Raises: TargetError."""
        begin = perf_counter()
        try:
            found = self.target(operands)["d"]
            if self.asked == 0 and not self.stored and not np.array_equal(found, self.target(operands)["d"]):
                raise TargetError("unstable", f"{self.target.name} gave another result when it was asked again: it is not deterministic")
        finally:
            self.report.target_seconds += perf_counter() - begin
        self.asked += 1
        return np.asarray(found)

    def questions(self, limits: Limits, shapes: list[tuple[int, int, int]], left: list[str]) -> Iterator[Question]:
        """Yield the questions of the first stage."""
        draws = Draws(self.key, "addends")
        for turn, asked in enumerate(every_set(self.pair, shapes, limits, self.key, left, self.given)):
            yield Question(self.pair, asked, self.wants, POWERS[turn % len(POWERS)], draws)

    def order_free(self) -> None:
        """Ask the sets; every output must equal the exact one."""
        stages: dict[str, list[Any]] = {}
        visits: dict[tuple[int, int, int], list[Bits]] = {}
        for question in self.questions(self.limits, self.shapes, self.left):
            sample(self.pair, question.asked)
            got = self.call(question.operands)
            wrong = unequal(got, question.want, self.pair) & question.known
            self.zeros += int(((got != question.want) & ~wrong & question.known).sum())
            seen = stages.setdefault(question.asked.name, [0, 0, Seen(self.pair)])
            seen[0] += int(question.known.sum())
            seen[1] += int(wrong.sum())
            seen[2].add(question)
            visits.setdefault(question.asked.shape, []).append(seen[2].met)
            self.single.add(question, wrong)
            self.judge(question, got, wrong)
        for name, (compared, differing, seen) in stages.items():
            self.report.stages.append(Stage(f"order-free, {name}", compared, differing, seen.words()))
            self.report.suites[name], self.report.engines[name] = compared, "integers"
        for shape, met in visits.items():
            missed = int((~np.any(met, axis=0)).sum())
            if missed:
                self.left.append(f"M, N, K = {shape}: {missed} positions along K meet no live element")
        if stages and not self.report.differing:
            reached = any(seen.full for _, _, seen in stages.values())
            self.report.accumulator_bits = self.limits.bits if reached else 0
            if not reached:
                self.left.append(f"no sum needs all {self.limits.bits} bits: nothing is said of the accumulator's width")

    def judge(self, question: Question, got: Bits, wrong: Bits) -> None:
        """Count, and keep a wrong answer."""
        self.report.compared += int(question.known.sum())
        self.report.differing += int(wrong.sum())
        hidden = int((~question.known).sum())
        if hidden:
            line = f"outputs beyond the normal range of {self.pair.out.id} were not compared"
            self.report.notes += [line] if line not in self.report.notes else []
        if wrong.any() and len(self.failed) < KEPT:
            self.failed.append(self.case(question, got))

    def case(self, question: Question, got: Bits) -> Case:
        """Return a wrong answer as something to explain."""
        return Case(
            self.pair, question.asked, got, question.want, question.known, question.powers, question.c, question.encode,
            lambda bits: envelope.values_of(bits, self.pair.out),
        )  # fmt: skip

    def width(self) -> None:
        """Find the widest accumulator with which a wrong kernel gives every sum of some shapes; nothing where none does, or where a single
        product speaks against it: one that is right and needs more bits, or one that is wrong and needs no more."""
        low, high = 3, self.limits.bits
        spread = self.shapes[:: max(1, len(self.shapes) // SHAPES_OF_WIDTHS)][:SHAPES_OF_WIDTHS]
        asked = dict.fromkeys(item.asked.shape for item in self.failed)
        shapes = [shape for shape in asked if shape in self.shapes][-SHAPES_OF_WIDTHS:]  # a mistake of some shapes is no narrow sum
        shapes += [shape for shape in spread if shape not in shapes]
        while high - low > 1:
            middle = (low + high) // 2
            if self.holds(limits_of_width(middle), shapes):
                low = middle
            else:
                high = middle
        if low > 3 and self.single.fits(low, limits_of_width(low)):
            self.report.accumulator_bits = low
            short = "" if self.holds(Limits(low), shapes) else " and the range of binary16"
            self.report.located = {"hypothesis": f"sums are held in {low} significand bits{short}, {self.limits.bits} were declared"}

    def holds(self, limits: Limits, shapes: list[tuple[int, int, int]]) -> bool:
        """Tell whether every output of the sets of an accumulator is right, and every shape has a set."""
        compared: set[tuple[int, int, int]] = set()
        for question in self.questions(limits, shapes, []):
            compared |= {question.asked.shape} if question.known.any() else set()
            if bool((unequal(self.call(question.operands), question.want, self.pair) & question.known).any()):
                return False
        return compared >= set(shapes)

    def explain(self) -> None:
        """Locate a failure: a mistake that explains all questions tried, else the width of the accumulator, else what explains some."""
        if not self.failed or self.report.located:
            return
        ranked = sorted(self.failed, key=lambda item: (min(item.got.shape) < 3, item.asked.a.shape[1] * item.got.size))
        first_of = {item.asked.shape: item for item in ranked[::-1]}  # other shapes tell more mistakes apart than more of one shape
        cases = sorted(ranked, key=lambda item: first_of[item.asked.shape] is not item)[:TRIED]
        found = locate(cases)
        if not found.get("explains", "").startswith(f"{len(cases)} of") and not self.stored:
            self.width()
        self.report.located = self.report.located or found
        if found and self.report.located is found:
            return
        first = cases[0]
        self.report.notes.append(f"first wrong question: {first.asked.name}, M, N, K = {first.asked.shape}, {where(first)}")

    def epilogue(self) -> None:
        """Find the programs of the list that give every output when scales, alpha, beta and C are no powers of two."""
        scalars = tuple(taken(self.pair, self.wants))
        if not scalars and "c" not in self.wants:
            return
        step = self.pair.step if self.pair.step > 8 else 16
        draws = Draws(self.key, f"epilogue {self.pair.text}")
        try:
            sets = [
                one_hot(self.pair, self.shapes[0] if self.given else (3 * step, 37, 3 * step), self.limits, "a", draws),
                summed(self.pair, self.shapes[-1] if self.given else (33, 17, 5 * step), self.limits, "a", 0, draws),
            ]
        except OperandError as error:
            self.left.append(f"epilogue: {error}")
            return
        alive = programs(tuple(name for name in scalars if name != "beta"), "beta" in scalars, "c" in self.wants)
        scaled: list[Program] = programs(("alpha",) if "alpha" in scalars else (), "beta" in scalars, "c" in self.wants)
        kinds = ("fp32", "bf16", "fp16") if {"ta", "tb"} & set(scalars) else ()
        before = {f"{kind}: {item.name}": (kind, item) for kind in kinds for item in scaled}
        total, compared, skipped = len(alive) + len(before), 0, False
        for number, asked in enumerate((*sets, sets[0])):
            zero = number == 2
            if (zero and not {"beta", "c"} <= set(self.wants)) or (number == 1 and not alive):
                skipped |= number == 1
                continue
            values, operands = self.scaled(asked, draws, zero)
            got = self.call(operands)
            named = {item.name: item.run({**values, "C": np.zeros_like(values["C"])} if zero else values) for item in alive}
            if number != 1:
                made = {kind: self.products(asked, operands, kind) for kind in kinds}
                named |= {name: item.run({**values, "S": made[kind]}) for name, (kind, item) in before.items() if not zero}
            kept = [name for name, found in named.items() if not self.other(got, found)]
            compared += got.size
            alive = [item for item in alive if item.name in kept]
            if number == 0:
                before = {name: item for name, item in before.items() if name in kept}
        names = [item.name for item in alive] or [f"operands are dequantized to {name}, before the sum" for name in before]
        wanted = names if self.wanted == "any" else [name for name in names if self.wanted in name]
        self.report.epilogue = " = ".join(wanted) or None
        reached = {"programs": f"{total} tried, {len(names)} give every output"}
        if skipped:
            reached["not asked"] = "sums of many terms: scales enter before the sum, so their bits depend on the order"
        self.report.stages.append(Stage("epilogue", compared, 0 if wanted else compared, reached))
        self.report.compared += compared
        if not wanted:
            self.report.differing += compared
            none = f"epilogue: none of the {total} programs gives these outputs"
            self.report.message = f"epilogue: it is {names[0]}, declared was {self.wanted}" if names else none
            self.report.located = {"hypothesis": "the epilogue: the sums are right, scales, alpha, beta or C are not"}

    def other(self, got: Bits, found: Any) -> bool:
        """Tell whether an answer is not what a program gives."""
        known = comparable(np.asarray(found, np.float64), self.pair.out)
        return bool((unequal(got, to_result(found, self.pair.out), self.pair) & known).any())

    def scaled(self, asked: Operands, draws: Draws, zero: bool) -> tuple[dict[str, Any], dict[str, Bits]]:
        """Return the values of an epilogue's names, and the operands of the call. zero: beta is 0, and C is NaN."""
        drawn = ((draws.below(1 << 23, 4) + (1 << 23)) / (1 << 23)).astype(np.float32) * np.float32(1.5)
        question = raw(self.pair, asked, {}, np.zeros(0), ())
        values: dict[str, Any] = {"S": np.ldexp(asked.sums.astype(np.float64), asked.unit.astype(np.int32)).astype(np.float32)}
        for at, (name, side) in enumerate((("a", self.pair.a), ("b", self.pair.b))):
            if f"t{name}" in taken(self.pair, self.wants):
                code = int(np.float32(float(drawn[at]) / float(derive.parse_exact(side.block.facts.factor))).view(np.uint32))
                question[f"{name}_level"], bits = np.array(code, np.uint32), side.multiplier(code)
                question[f"{name}_tensor"] = np.array(bits, np.uint32)
                values[f"t{name}"] = np.uint32(bits).view(np.float32)
        values["alpha"], values["beta"] = (drawn[2], np.float32(0) if zero else -drawn[3])
        for name in ("alpha", "beta"):
            question[name] = np.array(values[name].view(np.uint32))
        size = np.median(np.abs(values["S"][values["S"] != 0])) if values["S"].any() else np.float32(1)
        noise = ((draws.below(1 << 24, *asked.sums.shape) - (1 << 23)) / (1 << 22)).astype(np.float32) * size
        codes = to_result(noise.astype(np.float32), self.pair.out)
        values["C"] = envelope.values_of(codes, self.pair.out).astype(np.float32)
        if "c" in self.wants:
            nan = derive.codes(self.pair.out).nan[0]
            question["c"] = np.full_like(codes, nan) if zero else codes
        return values, question

    def products(self, asked: Operands, operands: dict[str, Bits], kind: str) -> Any:
        """Return the products of one-hot rows whose operands are dequantized by their recipes first."""
        found = []
        for name, side, codes, scales in (("a", self.pair.a, asked.a, asked.sa), ("b", self.pair.b, asked.b, asked.sb)):
            dtype = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}[kind]
            found.append(side.quantized(codes, scales, int(operands[f"{name}_level"])).dequantize(dtype).astype(np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            fraction, exponent = np.frexp(found[0] @ found[1].T)  # one product each: exact, then rounded once by the accumulator
            return np.ldexp(np.rint(np.ldexp(fraction, self.limits.bits)), exponent - self.limits.bits).astype(np.float32)

    def envelope(self) -> None:
        """Ask random data: the bound for any order, and which datapath and order gives the bits."""
        step = self.pair.step if self.pair.step > 8 else 16
        draws = Draws(self.key, f"random {self.pair.text}")
        ratio, compared, outside = Fraction(0), 0, 0
        equal: set[str] | None = None
        own = [(9, 17, step), *((17, 9, k) for k in (128, 256) if k % step == 0)]
        invariant: list[bool] = []
        for shape in self.shapes[:3] if self.given else own:
            try:
                asked = envelope.drawn(self.pair, shape, self.limits, draws)
            except OperandError as error:
                self.left.append(f"random data: {error}")
                return
            powers = dict.fromkeys(("ta", "tb", "alpha", "beta"), 0)
            question = Question(self.pair, asked, self.wants, powers, None)
            got = self.call(question.operands)
            worst, beyond = envelope.ratios(self.pair, asked, envelope.values_of(got, self.pair.out), self.limits)
            ratio, compared, outside = max(ratio, worst), compared + got.size, outside + beyond
            for rows in () if self.given else BATCHES:
                fewer = Question(self.pair, envelope.rows_of(asked, rows), self.wants, powers, None)
                invariant.append(not bool(unequal(self.call(fewer.operands), got[:rows], self.pair).any()))
            here = {
                name for name, found in envelope.candidates(self.pair, asked)
                if not unequal(got, to_result(found, self.pair.out), self.pair).any()
            }  # fmt: skip
            equal = here if equal is None else equal & here
        self.report.envelope_ratio = float(ratio)
        self.report.equals = " = ".join(sorted(equal or ())) or None
        reached = {"rule": "a diagnostic: outside of the bound is a failure, inside is no pass by itself"}
        if invariant:
            words = "the bits of a row do not depend on how many rows there are"
            self.report.batch_invariant = all(invariant)
            reached["batches"] = words if all(invariant) else words.replace("do not depend", "depend") + ", which is no fault"
        self.report.stages.append(Stage("random data", compared, outside, reached))
        if outside:
            self.report.differing += outside
            self.report.message = "random data: an error is beyond what any order of summation can give"


class Seen:
    """What the questions of a stage could see."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.codes: dict[str, set[int]] = {"a": set(), "b": set()}
        self.scales: dict[str, set[int]] = {"a": set(), "b": set()}
        self.full, self.most, self.places, self.positions = 0, 0, 0, 0
        self.wide: list[str] = []
        self.met: Bits = np.zeros(0, bool)

    def add(self, question: Question) -> None:
        """Count what one question has beside a live element of the other operand."""
        asked, pair = question.asked, self.pair
        live = {"a": pair.a.values(asked.a, asked.sa).n != 0, "b": pair.b.values(asked.b, asked.sb).n != 0}
        both = live["a"].any(axis=0) & live["b"].any(axis=0)
        for name, side, codes, scales in (("a", pair.a, asked.a, asked.sa), ("b", pair.b, asked.b, asked.sb)):
            met = live[name] & both
            self.codes[name] |= set(np.unique(codes[met | (exact_zero(codes, side) & both)]).tolist())
            if scales is not None:
                wide = np.repeat(scales, side.size, axis=1)[:, : codes.shape[1]]
                self.scales[name] |= set(np.unique(wide[met]).tolist())
        self.full += asked.full
        self.most = max(self.most, int(np.abs(asked.sums).max()).bit_length())
        self.met = both
        self.places, self.positions = self.places + int(both.sum()), self.positions + len(both)
        self.wide = list(dict.fromkeys([*self.wide, asked.wide]))

    def words(self) -> dict[str, str]:
        """Return lines for the report."""
        out = {"sums": f"of up to {self.most} bits" + (f", {self.full} need all of them" if self.full else "")}
        out["positions along K"] = f"{self.places} of {self.positions} meet a live element of the other operand"
        for name, side in (("a", self.pair.a), ("b", self.pair.b)):
            every = 1 << derive.codes(side.element).bits
            text = f"{len(self.codes[name])} of {every} element codes"
            if side.scale is not None:
                narrow = derive.codes(side.scale).bits <= 16
                of = f" of {len(palette(side, Limits()).scales)}" if narrow else ""
                text += f", {len(self.scales[name])}{of} scale codes"
            out[name] = text
        return out | {"made of": "; ".join(self.wide[:4]) + (" ..." if len(self.wide) > 4 else "")}


def exact_zero(codes: Bits, side: Any) -> Bits:
    """Return where element codes are zero: they are seen where a kernel reads them as something else."""
    from emu.check.matmul.numbers import exact_of

    return np.asarray(exact_of(codes, side.element).n == 0)


def sample(pair: Pair, asked: Operands) -> None:
    """Add one output again with the exact engine's decoding, in fractions. Raises: AssertionError (the integers were wrong)."""
    i, j = len(asked.a) // 2, len(asked.b) // 3
    rows = [
        _decoded(side, codes[row], None if scales is None else scales[row])
        for side, codes, scales, row in ((pair.a, asked.a, asked.sa, i), (pair.b, asked.b, asked.sb, j))
    ]
    total = sum((x * y for x, y in zip(*rows, strict=True)), Fraction(0))
    assert total == int(asked.sums[i, j]) * power_of_two(int(asked.unit[i, j])), "a sum of the set is not what the exact engine says"


def _decoded(side: Side, codes: Bits, scales: Bits | None) -> list[Fraction]:
    """Return the values of a row, by the exact engine."""
    elements = _table(codes, side.element)
    if scales is None or side.scale is None:
        return [elements[code] for code in codes.tolist()]
    factors = _table(scales, side.scale)
    return [elements[code] * factors[scale] for code, scale in zip(codes.tolist(), np.repeat(scales, side.size).tolist(), strict=True)]


def _table(codes: Bits, fmt: Format) -> dict[int, Fraction]:
    """Return the value of each code that occurs."""
    values = {code: decode_code(code, fmt) for code in set(codes.tolist())}
    return {code: Fraction(0) if value.is_zero else Fraction(value.signed) for code, value in values.items()}
