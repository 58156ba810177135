"""check: ask a target the questions of a contract, judge its answers, sort and shrink what differs. Not here: how targets are reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Final

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.check.again import LEAST, Again
from emu.check.inputs.finite import LeftOut, finite_only
from emu.check.inputs.suites import SUITES, completed, questions, widened
from emu.check.judge import Difference, judge
from emu.check.model import Calls, Target, Verdict
from emu.check.progress import tell
from emu.check.report.findings import Findings
from emu.check.report.model import Report
from emu.check.stochastic import judge_distribution
from emu.check.targets.files import FileTarget
from emu.contracts import form_of
from emu.contracts.form import FLAGS, Arrays, Expected, Form, Question, expect
from emu.contracts.reach import Reach

NO_FLAGS: Final = "flags were not compared: the target answers d alone; its answer may be (d, flags), or name flags"
JUDGES: Final = {"directed": "exact"}  # of the other suites: auto


def check(
    target: Target,
    contract: str,
    *,
    suites: Iterable[str] = SUITES,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
    profile: str | None = None,
    multiple: tuple[int, int] = (1, 1),
    finite: bool = False,
    shapes: Iterable[tuple[int, ...]] = (),
    repeat: int = LEAST,
) -> Report:
    """Compare a kernel with a contract, bit for bit. It runs the target's code with the rights of this process.

    contract: such as "quantize/nvfp4_te_ref".   suites: of SUITES.   count: stratified elements, at least the suite's minimum.
    key: of the generator that draws inputs.   seconds: limit for one call, in a forked process; None: in this process, no limit.
    profile: dequantize profile for fake-quantized values, None: the recipe's first.   multiple: rows and columns that the kernel needs.
    finite: leave inputs with NaN or Inf out of every suite; the report says how many.   shapes: rows and columns of tensors to ask too.
    repeat: how many questions are asked again at the end, cheap ones first.
    Returns: a report; its verdict is "nothing" when nothing was compared, "too_little" when a quantizer was right in all that was compared
    and too few of its decisions were: neither is a pass.
    Raises: SpecError (contract), OperandError (a suite or target that does not fit).   Tests: tests/check.
    """
    wanted = tuple(suites)
    for suite in wanted:
        if suite not in SUITES:
            raise OperandError(f"check: suite {suite!r} is unknown: one of {', '.join(SUITES)}")
    own = tuple(tuple(shape) for shape in shapes)
    if any(len(shape) != 2 or min(shape) < 1 for shape in own):
        raise OperandError(f"check: shapes {own} must be rows and columns of tensors, such as (4096, 5120)")
    form = form_of(contract, target.source, target.result)
    if form.op != target.op:
        raise OperandError(f"check: the target does {target.op}, the contract {contract} is about {form.op}")
    if profile is not None:
        form.check_profile(profile)
    if seconds is not None:
        from emu.check.targets.isolate import forked

        with forked(target, seconds) as isolated:
            return _Checker(isolated, form, profile, multiple, finite, own, repeat).run(wanted, count, key)
    return _Checker(target, form, profile, multiple, finite, own, repeat).run(wanted, count, key)


class _Checker:
    """One check on its way."""

    def __init__(self, target: Target, form: Form, profile: str | None, multiple: tuple[int, int], finite: bool = False,
                 shapes: tuple[tuple[int, ...], ...] = (), repeat: int = LEAST) -> None:  # fmt: skip
        self.again = Again(repeat)
        self.target, self.form, self.profile, self.multiple = target, form, profile, multiple
        self.report = Report(target.name, str(form.contract))
        self.findings = Findings(form)
        wants = getattr(target, "wants", form.extras)
        self.takes_amax = "tensor_amax" in wants
        self.takes_signs = "signs" not in form.extras or "signs" in wants
        self.takes_random = form.draws is None or "random" in wants
        self.stored = isinstance(target, FileTarget)  # its answers are there already: it cannot be asked again
        self.asked, self.shapes, self.reach = 0, shapes, Reach()
        self.answered: tuple[str, ...] = ()
        self.lacking = ""
        self.refused = 0  # numbers of codes in a row
        self.calls: Calls = "files" if self.stored else getattr(target, "calls", "pointers")
        self.left_out = LeftOut() if finite else None

    def run(self, suites: tuple[str, ...], count: int | None, key: int) -> Report:
        """Ask all, then shrink and explain one counterexample of each class."""
        begin = perf_counter()
        try:
            for suite in completed(self.form, suites):
                self.ask_all(suite, count, key)
            if self.asked:
                self.missing()
                self.ask_again()
            if self.refused > 1:
                self.report.notes.append(f"{self.refused} numbers of codes in a row were refused so: where that is meant, state multiple")
            self.report.failures = self.findings.failures(self)
            if not self.takes_signs and self.form.transform is not None:
                self.report.own_signs = self.form.transform.facts.signs
                self.report.notes.append(
                    f"the target takes no operand signs: asked under those of {self.form.transform.id} alone, {self.report.own_signs}; "
                    "where it has others, let it take signs"
                )
            if not self.takes_random:
                self.report.notes.append(
                    "the target draws by itself: codes must be one of the two that can be, and their distribution is judged"
                )
                self.report.failures += judge_distribution(self)
        except TargetError as error:
            self.report.verdict, self.report.message = error.verdict, str(error)  # type: ignore[assignment]
        else:
            self.report.verdict = self.verdict()
        if self.form.decides:
            self.report.reach = self.reach.data()
        if self.left_out is not None:
            self.report.notes.append(self.left_out.note())
        self.report.unjudged = sorted(getattr(getattr(self.target, "reading", None), "unjudged", ()))
        if self.report.unjudged:
            self.report.notes.append(f"padding not judged, as nothing states what it holds: {'; '.join(self.report.unjudged)}")
        self.report.seconds = perf_counter() - begin
        return self.report

    def ask_all(self, suite: str, count: int | None, key: int) -> None:
        """Ask the questions of a suite; say where there are none, and where nothing of them is known."""
        found, before = self.questions(suite, count, key), self.asked
        if self.left_out is not None:
            found = finite_only(self.form, suite, found, self.multiple, self.left_out)
        for question in found:
            self.ask(suite, question)
        if suite == "exhaustive" and self.asked == before and self.left_out is None:
            self.report.notes.append(self.form.only_drawn())
        if self.report.suites.get(suite) == 0:
            self.report.notes.append(f"{suite}: nothing was compared: the contract's sources leave every answer open")

    def ask_again(self) -> None:
        """Ask the cheapest questions again in another order. Raises: TargetError (unstable: all was right, and now is not)."""
        if self.stored or not self.takes_random:
            self.report.notes.append(f"no question was asked again: the target {'is a file' if self.stored else 'draws by itself'}")
            return
        found = [text for _, text in self.again.differing(lambda kept: self.call(kept.operands, kept.layout))]
        self.report.calls, self.report.again = self.again.calls, self.again.wanted
        if found and not self.report.differing:
            raise TargetError("unstable", f"{found[0]}: a call leaves something behind, or chance has a part")
        if found:
            self.report.notes.append(f"{len(found)} of {self.report.again} questions got another answer when asked again; {found[0]}")

    def missing(self) -> None:
        """Say which answers of the contract were never given; one beside codes, unless the target declares what it gives, makes no pass."""
        if FLAGS in self.form.answers and FLAGS not in self.answered:
            self.report.notes.append(NO_FLAGS)
        names = [name for name in self.form.answers if name not in (*self.answered, FLAGS)]
        if not names or "values" in self.answered:
            return
        text = f"not compared, as the target answers {' and '.join(self.answered)} alone: {', '.join(names)}"
        self.report.notes.append(text)
        if not getattr(self.target, "declared", True) and any(self.inner(name) for name in names):
            self.lacking = f"{text}; where that is meant, declare the answers with gives"

    def inner(self, name: str) -> bool:
        """Tell whether an answer has a code for each block or element; a tensor scale is one for all."""
        return (
            name == "codes"
            or self.form.block is None
            or any(level.name == name and level.granularity != "tensor" for level in self.form.block.facts.levels)
        )

    def verdict(self) -> Verdict:
        """Return the verdict of a target that answered all; a quantizer passes only where its decisions were reached."""
        if self.report.differing:
            return "differs"
        if not self.report.compared:
            return "nothing"
        self.report.message = self.lacking or (self.reach.lacks() if self.form.decides else "")
        return "too_little" if self.report.message else "pass"

    def questions(self, suite: str, count: int | None, key: int) -> Iterator[Question]:
        """Return the questions of a suite."""
        options = {"count": count, "key": key, "multiple": self.multiple, "shapes": self.shapes, "calls": self.calls}
        return questions(self.form, suite, self.takes_amax, options, self.takes_signs)

    def call(self, operands: Arrays, layout: str = "") -> Arrays:
        """Call the target, its time taken. Raises: TargetError."""
        begin = perf_counter()
        try:
            return self.target(operands, layout) if layout else self.target(operands)  # type: ignore[call-arg]
        finally:
            self.report.target_seconds += perf_counter() - begin

    def expect(self, operands: Arrays, engine: str, got: Arrays) -> Expected:
        """Return what the contract says of the answers that were given; of two codes that can be, the one that came."""
        values = "values" in got
        if self.takes_random or self.form.draws is None:
            return self.form.within(operands, expect(self.form, operands, engine, self.target.result, self.profile, values), got)
        low, high = self.ends(operands, engine, values)
        for name in ("codes", "values"):
            if name in got:
                low.arrays[name] = np.where(got[name] == high.arrays[name], high.arrays[name], low.arrays[name])
        return low

    def expected(self, question: Question, engine: str, got: Arrays) -> Expected:
        """Return what the contract says of a question; where its rows repeat those of a part, what it says of the part, repeated."""
        if question.part is None or not self.takes_random:
            return self.expect(question.operands, engine, got)
        part = self.expect(question.part, engine, got)
        shapes = {name: array.shape for name, array in got.items()}
        arrays, known = (
            {name: np.resize(array, shapes.get(name, array.shape)) for name, array in each.items()} for each in (part.arrays, part.known)
        )
        return part._replace(arrays=arrays, known=known)

    def once(self, part: Arrays, differences: Iterable[Difference], got: Arrays) -> Iterator[Difference]:
        """Yield the differences of repeated rows: one that the part has with the same answer is counted there alone."""
        shapes = self.form.shapes(part)
        for difference in differences:
            name, wrong = difference.name, difference.wrong
            if wrong.ndim:
                rows = shapes[name][0]
                again = np.resize(wrong[:rows], wrong.shape) & (got[name] == np.resize(got[name][:rows], wrong.shape))
                again[:rows] = False
                wrong = wrong & ~again
            yield Difference(name, wrong, int(np.count_nonzero(wrong)))

    def ends(self, operands: Arrays, engine: str, values: bool) -> tuple[Expected, Expected]:
        """Return the answers under the least and under the largest random integers, of the codes of the padding too."""
        form, draws = self.form, self.form.draws
        assert draws is not None
        shape = operands[form.main].shape
        height, width = (0, 0) if form.by_row else form.shapes(operands)["codes"]
        whole = operands if form.by_row else widened(form, operands, (height, width))
        found = []
        for integer in (0, (1 << draws.random_operand[1]) - 1):
            given = {**whole, "random": np.full_like(whole["random"], integer)}
            answer = expect(form, given, engine, self.target.result, self.profile, values)
            if values and not form.by_row:
                parts = tuple(slice(size) for size in shape)
                for arrays in (answer.arrays, answer.known):
                    arrays.update({name: array[parts] for name, array in arrays.items() if name == "values"})
            found.append(answer)
        return found[0], found[1]

    def by_reference(self, operands: Arrays, values: bool) -> tuple[Expected, ...]:
        """Return what the reference model allows: one answer, or of a target that draws by itself the two ends."""
        if self.takes_random or self.form.draws is None:
            return (expect(self.form, operands, "exact", self.target.result, self.profile, values),)
        return self.ends(operands, "exact", values)

    def ask(self, suite: str, question: Question) -> None:
        """Ask one question and keep what differs."""
        try:
            got = self.call(question.operands, question.layout)
        except TargetError as error:
            if self.may_refuse(suite, question, error):
                return
            raise TargetError(error.verdict, f"{error} ({question.why[0]})") if suite == "shapes" else error from None
        if not question.operands[self.form.main].size:
            return
        if (self.asked == 0 or suite == "stratified") and not self.stored and self.takes_random:
            self.check_stable(question.operands, got)
        answered = self.form.answers_of(got)
        if self.asked and self.answered != answered:
            name = next(name for name in (*self.form.answers, "values") if (name in answered) != (name in self.answered))
            raise TargetError("shape", f"{self.target.name} answered {name} to some questions alone: answer them each time, or never")
        self.asked, self.answered = self.asked + 1, answered
        why = question.why[0] if len(set(question.why)) == 1 else "rows of several kinds"
        self.again.keep(question.operands, got, f"{suite}, {why}", question.layout)
        engine = JUDGES.get(suite, "auto")
        expected = self.expected(question, engine, got)
        self.report.engines.setdefault(suite, engine if engine == "exact" else self.form.engine(question.operands))
        judged = judge(self.form, expected, got)
        self.report.compared += judged.compared
        self.report.hidden += judged.hidden
        if self.form.open_order:
            self.report.parted += sum(int(np.count_nonzero(~known)) for known in expected.known.values())
        self.report.suites[suite] = self.report.suites.get(suite, 0) + judged.compared
        if question.reach is not None:
            self.reach.add(question.reach)
        for difference in judged.differences if question.part is None else self.once(question.part, judged.differences, got):
            self.report.differing += difference.count
            self.findings.add(question, expected, got, difference)
        tell(f"{suite}, {self.report.compared} codes compared, {self.report.differing} differ")

    def may_refuse(self, suite: str, question: Question, error: TargetError) -> bool:
        """Tell whether a kernel may refuse a question aloud: no rows, another layout in memory, three axes, and a number of codes in a row,
        of which some kernels take even ones alone. The report says that it did, of numbers of codes once."""
        refused = error.verdict == "raises" or (question.layout == "three" and error.verdict == "shape")
        is_plain = bool(question.operands[self.form.main].size) and not question.layout
        if not refused or (is_plain and not (self.form.by_row and suite == "shapes")):
            return False
        self.refused += is_plain
        if self.refused < 2 or not is_plain:
            self.report.notes.append(f"{question.why[0]}: the target refuses it: {error}")
        return True

    def check_stable(self, operands: Arrays, got: Arrays) -> None:
        """Call again on a sample and refuse another answer. Raises: TargetError (unstable)."""
        if sum(array.size for array in operands.values()) > 1 << 18 and self.asked:
            return
        again = self.call(operands)
        self.again.calls += 1
        for name, array in got.items():
            if name not in again or not np.array_equal(again[name], array):
                raise TargetError("unstable", f"{self.target.name} gave other {name} when it was asked again: it is not deterministic")
