"""The check of a product: order-free operands first, then epilogue, then random data. Not here: how operands are proven (sets.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from time import perf_counter
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.check.again import LEAST, Again
from emu.check.matmul import bound as bounds
from emu.check.matmul import envelope
from emu.check.matmul.default_sets import default_shapes, every_set, is_long, step_of, thin_shapes
from emu.check.matmul.ends import LISTED, LONG, legal_scales
from emu.check.matmul.epilogue import Program, programs, sees_stored, stored_values, to_result
from emu.check.matmul.groups import (
    checked_grouped,
    grouped,
    groups_of,
    of_groups,
    picked,
    plain_shape,
)
from emu.check.matmul.locate import Case, is_dense, locate, unequal, where, wrapped_blocks
from emu.check.matmul.numbers import Bits, Draws
from emu.check.matmul.pair import Pair, pair_of
from emu.check.matmul.question import Needs, Question, Seen, comparable, raw, sample, taken
from emu.check.matmul.report import GemmReport, Stage
from emu.check.matmul.sets import Limits, Operands, limits_of, one_hot, summed
from emu.contracts.form import FLAGS
from emu.spec import derive

NO_FLAGS: Final = "flags were not compared: this contract names no datapath that says them; check dot/DATAPATH compares them row by row"
# exponents of the tensor scales, alpha and beta of the first stage: powers of two keep every sum exact, and no two products are alike
POWERS: Final = (
    {"ta": 1, "tb": -3, "alpha": 5, "beta": 2}, {"ta": -2, "tb": 6, "alpha": -1, "beta": -3}, {"ta": 0, "tb": 0, "alpha": 0, "beta": 0},
)  # fmt: skip
SHAPES_OF_WIDTHS: Final = 3  # shapes with which the width of an accumulator is searched
KEPT: Final = 12  # wrong answers that are kept to be explained
BATCHES: Final = (1, 4)  # rows of smaller batches
TRIED: Final = 4  # of them, the smallest first
DENSE: Final = 2  # wrong answers by which a wrong term is told from a wrong output
SHOWN: Final = 8  # scale codes of a list


def check_gemm(
    target: Any,
    contract: str,
    *,
    accumulate: str | int = "fp32",
    operands: str = "exact",
    reduce: str = "fp32",
    epilogue: str = "any",
    shapes: Iterable[tuple[int, ...]] | None = None,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
    batched: bool = False,
    align: int = 1,
    batch_invariant: bool | None = None,
    bound: str | None = None,
    repeat: int = LEAST,
) -> GemmReport:
    """Ask a target for products and return the report; see emu.testing.check_matmul. target: of emu.check.matmul.target, or of files.

    Raises: SpecError (contract), OperandError (a word, a shape).
    """
    pair = pair_of(contract)
    chosen = shapes_of(target, pair, None if shapes is None else tuple(shapes), batched, align)
    limits = limits_of(accumulate, operands, reduce)
    if count is not None and count < 1:
        raise OperandError(f"count {count}: ask at least one shape")
    if bound is not None:
        bounds.check_pair(bound, pair, (*getattr(target, "wants", ()), *(["offsets"] if batched else [])))
    asked = (pair, limits, epilogue, chosen[:count], key, shapes is not None, batched, align, batch_invariant, bound, repeat)
    if seconds is not None:
        from emu.check.targets.isolate import forked

        with forked(target, seconds) as isolated:
            return Check(isolated, *asked).run()
    return Check(target, *asked).run()


def takes_groups(wants: Iterable[str]) -> bool:
    """Tell whether a kernel takes rows in groups: it asks where they begin, or how many they are."""
    return bool({"offsets", "sizes"} & set(wants))


def shapes_of(target: Any, pair: Pair, shapes: tuple[tuple[int, ...], ...] | None, batched: bool, align: int) -> list[tuple[int, ...]]:
    """Return the shapes that a target is asked: M, N, K, of grouped and batched products E, M, N, K. Raises: OperandError."""
    groups = takes_groups(getattr(target, "wants", ()))
    if groups and batched:
        raise OperandError(f"{target.name}: it takes rows in groups, which is no batch: leave offsets and sizes, or batched, out")
    if align < 1 or (align > 1 and not (groups and "sizes" in target.wants)):
        raise OperandError(f"align {align}: at least 1, and more only where a kernel takes sizes, so that it knows which rows are padding")
    return checked_grouped(shapes, pair, batched) if groups or batched else list(checked_shapes(shapes, pair))


def checked_shapes(shapes: Iterable[tuple[int, ...]] | None, pair: Pair) -> list[tuple[int, int, int]]:
    """Return the shapes to ask, M, N, K each. Raises: OperandError (no such product; K that cuts a block)."""
    if shapes is None:
        return default_shapes(step_of(pair))
    found = [tuple(int(length) for length in shape) for shape in shapes]
    if not found:
        raise OperandError("shapes: give at least one M, N, K, or leave them out")
    for shape in found:
        if len(shape) != 3 or min(shape) < 1 or shape[2] % pair.step:
            raise OperandError(f"shape {'x'.join(map(str, shape))}: write M, N, K, each at least 1, K a multiple of {pair.step}")
    return found  # type: ignore[return-value]


def limits_of_width(bits: int) -> Limits:
    """Return the limits of an accumulator of some bits: the range of binary16 where it could be one."""
    return Limits(bits, -14, 15) if bits <= 11 else Limits(bits)


class Check:
    """One check on its way."""

    def __init__(
        self, target: Any, pair: Pair, limits: Limits, epilogue: str, shapes: list[tuple[int, ...]], key: int, given: bool,
        batched: bool = False, align: int = 1, batch_invariant: bool | None = None, bound: str | None = None,
        repeat: int = LEAST,
    ) -> None:  # fmt: skip
        self.bound, self.again = bound, Again(repeat)
        self.batched, self.align, self.invariance = batched, align, batch_invariant
        self.given = given  # a kernel that is asked for some shapes may take no others
        self.target, self.pair, self.limits, self.wanted, self.shapes, self.key = target, pair, limits, epilogue, shapes, key
        self.wants: tuple[str, ...] = tuple(getattr(target, "wants", ("a", "b")))
        self.several = batched or takes_groups(self.wants)
        self.stored = bool(getattr(target, "stored", False))
        self.report = GemmReport(target.name, pair.text)
        self.failed: list[Case] = []
        self.asked = self.zeros = 0
        self.left: list[str] = []
        self.needs = Needs()

    def run(self) -> GemmReport:
        """Run the stages one after the other."""
        begin = perf_counter()
        try:
            if self.bound is None:
                self.order_free()
            else:
                self.within()
            if self.bound is None and not self.report.differing:
                self.epilogue()
                self.envelope()
            if not self.stored:
                self.ask_again()
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

    def ask_again(self) -> None:
        """Ask the cheapest questions again in another order. Raises: TargetError (unstable: all was right, and now is not)."""
        found, loose = [], 0
        for kept, text in self.again.differing(lambda kept: {"d": self.call(dict(kept.operands), False, kept=False)}):
            if kept.exact or self.invariance:
                found.append(text)
            loose += not kept.exact
        self.report.calls, self.report.again = self.again.calls, self.again.wanted
        if loose:
            self.report.notes.append(
                f"random data: {loose} questions got other bits when they were asked again: sums are added in an order that changes "
                "from call to call" + (", which is no fault" if not self.invariance else "")
            )
        if found and not self.report.differing:
            raise TargetError("unstable", f"{found[0]}: a call leaves something behind, or chance has a part")
        if found:
            self.report.notes.append(f"{len(found)} of {self.report.again} questions got another answer when asked again; {found[0]}")

    def call(self, operands: dict[str, Bits], exact: bool = True, kept: bool = True) -> Bits:
        """Call the target; on the first call, twice. exact: every bit of the answer is judged.   Raises: TargetError."""
        begin = perf_counter()
        try:
            answer = self.target(operands)
            found = answer["d"]
            if FLAGS in answer and NO_FLAGS not in self.report.notes:
                self.report.notes.append(NO_FLAGS)
            if self.asked == 0 and not self.stored and not np.array_equal(found, self.target(operands)["d"]):
                raise TargetError("unstable", f"{self.target.name} gave another result when it was asked again: it is not deterministic")
        finally:
            self.report.target_seconds += perf_counter() - begin
        self.asked += 1
        if kept:
            shape = "x".join(map(str, (*operands["a_codes"].shape[:-1], operands["b_codes"].shape[-2], operands["a_codes"].shape[-1])))
            self.again.keep(operands, {"d": np.asarray(found)}, f"call {self.asked}, M x N x K = {shape}", exact=exact)
        return np.asarray(found)

    def questions(self, limits: Limits, shapes: list[tuple[int, ...]], left: list[str]) -> Iterator[Question]:
        """Yield the questions of the first stage."""
        draws = Draws(self.key, "addends")
        for turn, asked in enumerate(self.sets(shapes, limits, left)):
            yield Question(self.pair, asked, self.wants, POWERS[turn % len(POWERS)], draws)

    def sets(self, shapes: list[tuple[int, ...]], limits: Limits, left: list[str]) -> Iterator[Operands]:
        """Yield the sets; of several products for each shape twice, in groups of different sizes."""
        if not self.several:
            yield from every_set(self.pair, shapes, limits, self.key, left, self.given)  # type: ignore[arg-type]
            return
        draws, turn = Draws(self.key, f"groups {self.pair.text}"), 0
        for at, shape in enumerate(shapes):
            for again in range(1 if self.batched or shape[0] == 1 else 2):
                plain = plain_shape(shape, groups_of(shape, self.batched, self.align, 0, draws))
                missing: list[str] = []
                for asked in every_set(self.pair, [plain], limits, self.key + 2 * at + again, missing, True, at + again):
                    yield grouped(asked, groups_of(shape, self.batched, self.align, turn, draws), limits.bits)
                    turn += 1
                left += [line for line in missing if not again]

    def one_of(self, shape: tuple[int, ...], draws: Draws, make: Any, turn: int = 0) -> Operands:
        """Return operands of a shape, make(plain shape) -> Operands, in groups where there are several products."""
        if not self.several:
            return make(shape)  # type: ignore[no-any-return]
        groups = groups_of(shape, self.batched, self.align, turn, draws)
        return grouped(make(plain_shape(shape, groups)), groups, self.limits.bits)  # type: ignore[no-any-return]

    def order_free(self) -> None:
        """Ask the sets; every output must equal the exact one."""
        stages: dict[str, list[Any]] = {}
        visits: dict[tuple[int, ...], list[Bits]] = {}
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
            self.needs.add(question, wrong)
            self.judge(question, got, wrong)
        for name, (compared, differing, seen) in stages.items():
            self.report.stages.append(Stage(f"order-free, {name}", compared, differing, seen.words()))
            self.report.suites[name], self.report.engines[name] = compared, "integers"
        self.never(visits, [seen for _, _, seen in stages.values()])
        for shape, met in visits.items():
            missed = int((~np.any(met, axis=0)).sum())
            if missed:
                self.left.append(f"{'E, ' * (len(shape) > 3)}M, N, K = {shape}: {missed} positions along K meet no live element")
        if stages and not self.report.differing:
            reached = any(seen.full for _, _, seen in stages.values())
            self.report.accumulator_bits = self.limits.bits if reached else 0
            if not reached:
                self.left.append(f"no sum needs all {self.limits.bits} bits: nothing is said of the accumulator's width")

    def never(self, shapes: Iterable[tuple[int, ...]], seen: list[Seen]) -> None:
        """Say which scale codes were asked nowhere, and that no row was so long that an index of its blocks wraps."""
        for name, side in (("a", self.pair.a), ("b", self.pair.b)):
            if side.scale is None or derive.codes(side.scale).bits > LISTED or not seen:
                continue
            digits = -(-derive.codes(side.scale).bits // 4)
            codes = sorted(set(legal_scales(side.scale).tolist()) - set().union(*(one.scales[name] for one in seen)))
            if codes:
                shown = " ".join(f"{code:0{digits}X}" for code in codes[:SHOWN]) + (" ..." if len(codes) > SHOWN else "")
                self.left.append(f"{len(codes)} scale codes of {name} were never asked: {shown}")
        if not any(is_long(self.pair, shape) for shape in shapes):
            self.left.append(f"no row has more than {LONG} blocks: an index of the block that wraps there is not seen")

    def within(self) -> None:
        """Ask random data alone; every error must be inside of the bound that a standard states."""
        assert self.bound is not None
        step = self.pair.step
        draws, worst = Draws(self.key, f"bound {self.pair.text}"), Fraction(0)
        rows, columns, blocks = bounds.OUTPUTS
        shapes = self.shapes if self.given else [(rows, columns, blocks * step), (9, 17, step), (5, 3, 8 * step)]
        powers = dict.fromkeys(("ta", "tb", "alpha", "beta"), 0)
        for shape in shapes:
            asked = envelope.drawn(self.pair, shape, self.limits, draws)  # type: ignore[arg-type]
            got = self.call(Question(self.pair, asked, self.wants, powers, None).operands, False)
            values = envelope.values_of(got, self.pair.out)
            found = bounds.judged(self.bound, self.pair, asked, values)
            many = found.squares > 1
            self.report.compared += values.size
            self.report.differing += found.outside or int(many)
            worst = max(worst, found.ratio)
            i, j = found.place
            reached = {
                "largest error": f"{float(found.ratio):.3g} of the bound, row {i}, column {j}",
                "squared errors": f"{float(found.squares):.3g} of their bound over the tensor",
            } | (
                {"open": f"{found.open} are inside only if magnitudes are raised first, which the text does not settle"}
                if found.open
                else {}
            )
            self.report.stages.append(Stage(f"bound {self.bound}, M, N, K = {shape}", values.size, found.outside, reached))
            if (found.outside or many) and not self.report.located:
                exact = Fraction(int(asked.sums[i, j])) * Fraction(2) ** int(asked.unit[i, j])
                where = {"row": i, "column": j, "gave": repr(float(values[i, j])), "exact": str(exact)}
                beyond = f"an error is outside of the bound {self.bound}"
                self.report.message = beyond if found.outside else f"squared errors add up to more than the bound {self.bound} allows"
                self.report.located = {"hypothesis": self.report.message, "M, N, K": shape, **(where if found.outside else {})}
        self.report.bound_ratio = float(worst)
        self.report.suites[f"bound {self.bound}"], self.report.engines[f"bound {self.bound}"] = self.report.compared, "rationals"
        self.report.notes.append("inside of a bound says nothing of bits: leave the bound out to judge them")

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
        usual = self.shapes if self.given else [shape for shape in self.shapes if shape not in thin_shapes(step_of(self.pair))]
        spread = usual[:: max(1, len(usual) // SHAPES_OF_WIDTHS)][:SHAPES_OF_WIDTHS]
        asked = dict.fromkeys(item.asked.shape for item in self.failed)
        shapes = [shape for shape in asked if shape in usual][-SHAPES_OF_WIDTHS:]  # a mistake of some shapes is no narrow sum
        shapes += [shape for shape in spread if shape not in shapes]
        while high - low > 1:
            middle = (low + high) // 2
            if self.holds(limits_of_width(middle), shapes):
                low = middle
            else:
                high = middle
        if low > 3 and self.needs.fits(low, limits_of_width(low)):
            self.report.accumulator_bits = low
            short = "" if self.holds(Limits(low), shapes) else " and the range of binary16"
            self.report.located = {"hypothesis": f"sums are held in {low} significand bits{short}, {self.limits.bits} were declared"}

    def holds(self, limits: Limits, shapes: list[tuple[int, ...]]) -> bool:
        """Tell whether every output of the sets of an accumulator is right, and every shape has a set."""
        compared: set[tuple[int, ...]] = set()
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
        ranked = sorted(ranked, key=lambda item: first_of[item.asked.shape] is not item)
        thin = () if self.several else thin_shapes(step_of(self.pair))
        small = [item for item in ranked if item.asked.shape not in thin]
        cases = (small or ranked)[:TRIED]
        found = wrapped_blocks(cases)
        if small and not found:
            found = locate(cases, list(islice(filter(is_dense, small), DENSE)))
        if small and not found.get("explains", "").startswith(f"{len(cases)} of") and not self.stored:
            self.width()
        self.report.located = self.report.located or found
        if found and self.report.located is found:
            return
        first = cases[0]
        sizes = f"{'E, ' * self.several}M, N, K = {first.asked.shape}"
        self.report.notes.append(f"first wrong question: {first.asked.name}, {sizes}, {where(first)}")

    def epilogue(self) -> None:
        """Find the programs of the list that give every output when scales, alpha, beta and C are no powers of two."""
        scalars = tuple(taken(self.pair, self.wants))
        if not scalars and "c" not in self.wants:
            return
        step = step_of(self.pair)
        draws = Draws(self.key, f"epilogue {self.pair.text}")
        try:
            own = self.given or self.several
            first, last = (self.shapes[0], self.shapes[-1]) if own else ((3 * step, 37, 3 * step), (33, 17, 5 * step))
            sets = [
                self.one_of(first, draws, lambda shape: one_hot(self.pair, shape, self.limits, "a", draws), 1),
                self.one_of(last, draws, lambda shape: summed(self.pair, shape, self.limits, "a", 0, draws), 3),
            ]
        except OperandError as error:
            self.left.append(f"epilogue: {error}")
            return
        scales = tuple(name for name in scalars if name != "beta")
        alive = programs(scales, "beta" in scalars, "c" in self.wants, sees_stored(self.pair, self.wants))
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
            live = np.ones((len(got), 1), bool) if asked.groups is None else asked.groups.live[:, None]
            named = {item.name: item.run({**values, "C": np.zeros_like(values["C"])} if zero else values) for item in alive}
            if number != 1:
                made = {kind: self.products(asked, operands, kind) for kind in kinds}
                named |= {name: item.run({**values, "S": made[kind]}) for name, (kind, item) in before.items() if not zero}
            kept = [name for name, found in named.items() if not self.other(got, found, live)]
            compared += int(live.sum()) * got.shape[1]
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

    def other(self, got: Bits, found: Any, live: Bits) -> bool:
        """Tell whether an answer is not what a program gives. live: rows that belong to a group, [M, 1]."""
        known = comparable(np.asarray(found, np.float64), self.pair.out) & live
        return bool((unequal(got, to_result(found, self.pair.out), self.pair) & known).any())

    def scaled(self, asked: Operands, draws: Draws, zero: bool) -> tuple[dict[str, Any], dict[str, Bits]]:
        """Return the values of an epilogue's names, and the operands of the call. zero: beta is 0, and C is NaN."""
        drawn = ((draws.below(1 << 23, 4) + (1 << 23)) / (1 << 23)).astype(np.float32) * np.float32(1.5)
        groups = asked.groups
        many = 1 if groups is None or groups.stacked else len(groups.sizes)
        of_experts = np.ones((2, 1), np.float32)
        if many > 1:
            of_experts = ((draws.below(1 << 23, 2, many) + (1 << 23)) / (1 << 23)).astype(np.float32)
        owner = np.zeros(len(asked.a), np.int64) if many == 1 or groups is None else groups.owner
        question = raw(self.pair, asked, {}, np.zeros((len(asked.a), 1)), ())
        stored: dict[str, Any] = {}
        values: dict[str, Any] = {"S": np.ldexp(asked.sums.astype(np.float64), asked.unit.astype(np.int32)).astype(np.float32)}
        for at, (name, side) in enumerate((("a", self.pair.a), ("b", self.pair.b))):
            if f"t{name}" in taken(self.pair, self.wants):
                factor = float(derive.parse_exact(side.block.facts.factor))
                wanted = drawn[at] * of_experts[0] if name == "b" else drawn[at : at + 1]
                levels = [int(np.float32(float(one) / factor).view(np.uint32)) for one in wanted]
                bits = np.array([side.multiplier(code) for code in levels], np.uint32)
                each = name == "b" and groups is not None and not groups.stacked
                question[f"{name}_level"] = np.array(levels if each else levels[0], np.uint32)
                question[f"{name}_tensor"] = np.array(bits if each else bits[0])
                values[f"t{name}"] = bits.view(np.float32)[owner][:, None] if len(bits) > 1 else bits.view(np.float32)[0]
                stored[name] = np.array(levels, np.uint32)[owner][:, None] if len(levels) > 1 else np.uint32(levels[0])
        if sees_stored(self.pair, self.wants):
            values |= stored_values(self.pair, stored)
        alpha = drawn[2] * of_experts[1]
        values["alpha"] = alpha[owner][:, None] if many > 1 else alpha[0]
        values["beta"] = np.float32(0) if zero else -drawn[3]
        question["alpha"] = np.array((alpha if groups is not None and not groups.stacked else alpha[0]).view(np.uint32))
        question["beta"] = np.array(values["beta"].view(np.uint32))
        size = np.median(np.abs(values["S"][values["S"] != 0])) if values["S"].any() else np.float32(1)
        noise = ((draws.below(1 << 24, *asked.sums.shape) - (1 << 23)) / (1 << 22)).astype(np.float32) * size
        codes = to_result(noise.astype(np.float32), self.pair.out)
        values["C"] = envelope.values_of(codes, self.pair.out).astype(np.float32)
        if "c" in self.wants:
            nan = derive.codes(self.pair.out).nan[0]
            given = np.full_like(codes, nan) if zero else codes
            question["c"] = given if groups is None or not groups.stacked else given.reshape(len(groups.sizes), -1, given.shape[1])
        return values, question

    def products(self, asked: Operands, operands: dict[str, Bits], kind: str) -> Any:
        """Return the products of one-hot rows whose operands are dequantized by their recipes first."""
        found = []
        for name, side, codes, scales in (("a", self.pair.a, asked.a, asked.sa), ("b", self.pair.b, asked.b, asked.sb)):
            dtype = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}[kind]
            levels = np.ravel(operands[f"{name}_level"]).tolist()
            cut = [(codes, scales)] if len(levels) == 1 else _apart(codes, scales, len(levels))
            parts = [side.quantized(*each, level).dequantize(dtype).astype(np.float64) for each, level in zip(cut, levels, strict=True)]
            found.append(np.concatenate(parts))
        with np.errstate(over="ignore", invalid="ignore"):
            whole = of_groups(asked, found[0] @ found[1].T)  # one product each: exact, then rounded once by the accumulator
            fraction, exponent = np.frexp(whole)
            return np.ldexp(np.rint(np.ldexp(fraction, self.limits.bits)), exponent - self.limits.bits).astype(np.float32)

    def envelope(self) -> None:
        """Ask random data: the bound for any order, and which datapath and order gives the bits."""
        step = step_of(self.pair)
        draws = Draws(self.key, f"random {self.pair.text}")
        ratio, compared, outside = Fraction(0), 0, 0
        equal: set[str] | None = None
        invariant: list[bool] = []
        for turn, shape in enumerate(self.shapes[:3] if self.given else self.few(step)):
            try:
                asked = self.one_of(shape, draws, lambda plain: envelope.drawn(self.pair, plain, self.limits, draws), 3 * turn)
            except OperandError as error:
                self.left.append(f"random data: {error}")
                return
            powers = dict.fromkeys(("ta", "tb", "alpha", "beta"), 0)
            question = Question(self.pair, asked, self.wants, powers, None)
            got = self.call(question.operands, False)
            live = np.ones((len(got), 1), bool) if asked.groups is None else asked.groups.live[:, None]
            exact = np.ldexp(asked.sums.astype(np.float64), asked.unit.astype(np.int32))
            worst, beyond = envelope.ratios(self.pair, asked, np.where(live, envelope.values_of(got, self.pair.out), exact), self.limits)
            ratio, compared, outside = max(ratio, worst), compared + int(live.sum()) * got.shape[1], outside + beyond
            for other, now, old in () if self.invariance is False else self.batches(asked):
                again = self.call(Question(self.pair, other, self.wants, powers, None).operands, False)
                invariant.append(not bool(unequal(again[now], got[old], self.pair).any()))
            here = {
                name for name, found in envelope.candidates(self.pair, asked)
                if not (unequal(got, to_result(of_groups(asked, found), self.pair.out), self.pair) & live).any()
            }  # fmt: skip
            equal = here if equal is None else equal & here
        self.report.envelope_ratio = float(ratio)
        self.report.equals = " = ".join(sorted(equal or ())) or None
        reached = {"rule": "a diagnostic: outside of the bound is a failure, inside is no pass by itself"}
        if invariant:
            words = "the bits of a row do not depend on how many rows there are, nor on its place"
            self.report.batch_invariant = all(invariant)
            depends = words.replace("do not depend", "depend").replace("nor", "or") + ("" if self.invariance else ", which is no fault")
            reached["batches"] = words if all(invariant) else depends
            if self.invariance and not all(invariant):
                self.report.differing += invariant.count(False)
                self.report.message = "batch invariance: the bits of a row depend on how many rows there are, or on its place"
                self.report.located = {"hypothesis": "sums are added in an order that depends on the number of rows or their places"}
        self.report.stages.append(Stage("random data", compared, outside, reached))
        if outside:
            self.report.differing += outside
            self.report.message = "random data: an error is beyond what any order of summation can give"

    def few(self, step: int) -> list[tuple[int, ...]]:
        """Return shapes for random data, one of them with a sum so long that another order shows."""
        if not self.several:
            return [(9, 17, step), *((17, 9, k) for k in (128, 256) if k % step == 0)]
        rows = max(self.pair.a.rows, self.pair.b.rows)
        small, other, *_ = sorted(self.shapes, key=lambda shape: (min(shape[:2]) == 1, np.prod(shape)))
        return [small, (3, -(-23 // rows) * rows, -(-9 // rows) * rows, -(-256 // step) * step), other]

    def batches(self, asked: Operands) -> Iterator[tuple[Operands, Any, Any]]:
        """Yield the same rows otherwise: fewer, more, in other places, next to others; where they are now, and where they were.

        A kernel that is asked for given shapes is given no others: its rows change places only.
        """
        groups, rows = asked.groups, np.arange(len(asked.a))
        if groups is None:
            fewer, moved = [rows[:count] for count in BATCHES], [rows[::-1]]
            if self.pair.a.rows > 1:  # rows share scales: none can go its own way
                moved = []
            orders = moved if self.given else [*fewer, *moved, *([np.tile(rows, 2)] if moved else [])]
            yield from ((envelope.rows_of(asked, order), np.arange(len(order)), order) for order in orders)
            return
        of_each = [first + np.arange(size) for first, size in zip(groups.starts, groups.sizes, strict=True)]
        every = list(range(len(of_each)))
        yield picked(asked, of_each[::-1], every[::-1], self.align)
        if self.pair.a.rows == 1:
            yield picked(asked, [found[::-1] for found in of_each], every, self.align)
        if self.given:
            return
        if groups.stacked:
            yield picked(asked, of_each[-1:], every[-1:], 1)
        else:
            yield picked(asked, [found[-1:] for found in of_each], every, self.align)
            if len(of_each[-1]):
                yield picked(asked, [found if at == len(every) - 1 else found[:0] for at, found in enumerate(of_each)], every, self.align)
            yield picked(asked, [np.tile(found, 2) for found in of_each], every, self.align)


def _apart(codes: Bits, scales: Bits | None, count: int) -> list[tuple[Bits, Bits | None]]:
    """Return the codes and scales of each of so many matrices that lie one below the other."""
    parts = np.split(codes, count), [None] * count if scales is None else np.split(scales, count)
    return list(zip(*parts, strict=True))
