"""Kernels of datapaths of levels under check: right ones pass, registers that are wrong by one thing fail, and why is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path

import numpy as np
import pytest
from support.level_samples import drawn_datapath, write_datapath

import emu
from emu.check.run import check
from emu.check.targets.exec import exec_target
from emu.check.targets.python import python_target
from emu.cli.main import run
from emu.contracts import parse
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.deviations import changed, words_for
from emu.contracts.levels.rows import LevelsRow, answers, engines_of, evaluate
from emu.spec.levels import level_plans_of
from emu.spec.registry import isolated, shipped_root

INT12, BF16, RANDOM = "accumulate/int12_saturate", "dot/bf16_register", "dot/bf16_register_random"
TREE, FIXED = "dot/bf16_pairwise", "dot/e1m2_int24_register"
K = ("levels", 0)
REG = ("levels", 1)
OUT_C = [(("out", "plus"), "c"), (("out", "rounding"), "rne")]
WRONG = [
    ("a bit less", INT12, [((*K, "hold", "bits"), 11)]),
    ("a bit more", INT12, [((*K, "hold", "bits"), 13)]),
    ("wraps", INT12, [((*K, "hold", "overflow"), "wrap")]),
    ("infinite beyond its end", INT12, [((*K, "hold", "overflow"), "sticky_inf")]),
    ("saturated once, at the end", INT12, [((*K, "add"), "exact"), ((*K, "start"), None)]),
    ("a tree", INT12, [((*K, "add"), "pairwise"), ((*K, "start"), None)]),
    ("two products at a time", INT12, [((*K, "by"), 2)]),
    ("interleaved", BF16, [((*K, "by"), 2)]),
    ("ties away", BF16, [((*K, "hold", "rounding"), "rna")]),
    ("no sticky bit", BF16, [((*K, "hold", "rounding"), "rz")]),
    ("jams", BF16, [((*K, "hold", "rounding"), "odd")]),
    ("a wider register", BF16, [((*K, "hold", "format"), "fp32"), (("out", "rounding"), "rne")]),
    ("C at the end", BF16, [((*K, "start"), "zero"), *OUT_C]),
    ("flushes", BF16, [((*K, "hold", "subnormals"), "flush")]),
    ("rounds to nearest in place of drawing", RANDOM, [((*K, "hold", "rounding"), "rne")]),
    ("compares in place of adding", RANDOM, [((*K, "hold", "rounding"), "sr_cmp8")]),
    ("a chain in place of a tree", TREE, [((*K, "add"), "chain"), ((*K, "start"), "first")]),
    ("sums of the tree are not rounded", TREE, [((*K, "hold"), "exact")]),
    ("a finer unit", FIXED, [((*REG, "hold", "unit_exp"), -11)]),
    ("a unit that is too coarse", FIXED, [((*REG, "hold", "unit_exp"), -9)]),
    ("cuts down in place of toward zero", FIXED, [((*REG, "hold", "rounding"), "rd")]),
    ("C first", FIXED, [((*REG, "start"), "c"), (("out", "plus"), "none")]),
]  # fmt: skip


def kernel(op: LevelsContract, other=None, move: Callable[[LevelsRow], LevelsRow] = lambda row: row):
    """A function of the operands that gives what another plan gives, or the right one on other operands."""
    plan, form = other or op.plan, op.form(op.plan.d)

    def fn(a, **given):
        rows = [words_for(move(row), op.plan, plan) for row in form.rows({"a": a, **given})]
        found = answers(rows, plan)
        return {"d": np.array([0 if code is None else code for code in found], _dtype(op))}

    return fn


def _dtype(op: LevelsContract) -> str:
    return f"u{max(1, op.layout.results[0].bits // 8)}"


def flagging(op: LevelsContract, change=lambda flags: flags, of=lambda codes, flags: (codes, flags)):
    """A kernel with flags. change: what becomes of them.   of: how they are answered."""
    form = op.form(op.plan.d)

    def fn(a, **given):
        found = [evaluate(row, op.plan) for row in form.rows({"a": a, **given})]
        codes, flags = np.array([one.code for one in found], _dtype(op)), np.array([one.flags for one in found], np.uint8)
        return of(codes, change(flags))

    return fn


FLAGGED = "dot/rvbna4_flags"


@pytest.mark.exhaustive
def test_flags_are_judged_where_a_kernel_answers_them() -> None:
    op = parse(FLAGGED)
    for of in (lambda d, flags: (d, flags), lambda d, flags: {"flags": flags, "d": d}):
        report = judged(op, flagging(op, of=of))
        assert report.verdict == "pass" and not report.notes, report.text()
    alone = judged(op, flagging(op, of=lambda d, flags: d))
    assert alone.verdict == "pass" and 2 * alone.compared == report.compared
    assert alone.notes == ["flags were not compared: the target answers d alone; its answer may be (d, flags), or name flags"]
    assert not judged(parse(BF16), kernel(parse(BF16))).notes


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("change", "want"),
    [(lambda flags: flags & 1, "0x2 (2)"), (lambda flags: flags & 2, "0x1 (1)"), (lambda flags: flags | (flags == 0), "0x0 (0)")],
    ids=["OF is never raised", "NV is never raised", "NV is raised for nothing"],
)
def test_wrong_flags_fail(change, want: str) -> None:
    op = parse(FLAGGED)
    report = judged(op, flagging(op, change))
    assert report.verdict == "differs"
    assert {(one.name, one.stage) for one in report.failures} == {("flags", "flags")}
    assert want in {one.example.want for one in report.failures} and any("flags:" in line for line in report.failures[0].example.steps)


def test_answers_with_flags_that_do_not_fit() -> None:
    op = parse(FLAGGED)
    wide = judged(op, flagging(op, lambda flags: flags + 4))
    assert (wide.verdict, "more than the 2 bits of 2 flags" in wide.message) == ("dtype", True)
    calls: list[int] = []

    def sometimes(d, flags):
        calls.append(1)
        return d if len(calls) == 3 else (d, flags)

    report = judged(op, flagging(op, of=sometimes), suites=("directed", "stratified"))
    assert (report.verdict, report.message.partition(": ")[2]) == ("shape", "answer them each time, or never")


def test_a_program_that_prints_no_flags(tmp_path: Path) -> None:
    """The columns of a program are d alone, as they were; with gives the flags too."""
    form = parse(FLAGGED).form(parse(FLAGGED).plan.d)
    assert list(form.answers) == ["d", "flags"]
    assert exec_target("true", FLAGGED).gives == ("d",)
    assert exec_target("true", FLAGGED, gives=("d", "flags")).gives == ("d", "flags")


def judged(op: LevelsContract, fn, suites=("directed",)):
    target = python_target(_named(fn, op), str(op.name), takes="numpy.bits")
    return check(target, str(op.name), suites=suites, count=1)


def _named(fn, op: LevelsContract):
    fn.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in op.form(op.plan.d).operands])
    return fn


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize("text", [INT12, TREE, BF16, RANDOM, FIXED])
@pytest.mark.exhaustive
def test_the_right_kernel_passes(text):
    op = parse(text)
    report = judged(op, kernel(op), ("directed", "stratified"))
    assert report.verdict == "pass" and report.compared > 1000, report.text()
    assert report.engines["directed"] == "exact" and report.engines["stratified"] == next(iter(engines_of(op.plan)))


@pytest.mark.cases(0, 7)
@pytest.mark.parametrize(("what", "text", "changes"), WRONG, ids=[item[0].replace(" ", "_") for item in WRONG])
def test_a_wrong_register_fails(what, text, changes):
    op = parse(text)
    variant = changed(op.plan, changes)
    assert variant is not None, what
    report = judged(op, kernel(op, variant.plan))
    assert report.verdict == "differs" and report.failures[0].example.steps, what


MISREAD = {
    "the next word": lambda row: row._replace(random=row.random[1:] + row.random[:1]),
    "the same word": lambda row: row._replace(random=row.random[:1] * len(row.random)),
    "its lowest bit lost": lambda row: row._replace(random=tuple(word & ~1 for word in row.random)),
    "its highest bit lost": lambda row: row._replace(random=tuple(word & 127 for word in row.random)),
    "inverted": lambda row: row._replace(random=tuple(255 - word for word in row.random)),
    "products in reverse order": lambda row: row._replace(a=row.a[::-1], b=row.b[::-1]),
    "C lost": lambda row: row._replace(c=0),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("what", MISREAD)
def test_words_and_operands_misread_fail(what):
    op = parse(RANDOM)
    assert judged(op, kernel(op, None, MISREAD[what])).verdict == "differs"


@pytest.mark.exhaustive
def test_the_command_judges_a_users_datapath(tmp_path: Path, capsys):
    """A file of an unreleased chip, a kernel beside it: one command; a kernel that gives the result of another order differs."""
    model = drawn_datapath(7001)
    write_datapath(model, tmp_path / "spec")
    with isolated(shipped_root()):
        emu.load_spec(tmp_path / "spec")
        plan = next(level_plans_of(model.id))
        op = parse(f"dot/{plan.name}")
        names = ", ".join(op.form(plan.d).operands)
        (tmp_path / "kernels.py").write_text(
            "import emu, numpy as np\n"
            "from emu.contracts import parse\n"
            "from emu.contracts.levels.rows import answers\n"
            f"def right({names}):\n"
            f"    op = parse('dot/{plan.name}')\n"
            f"    rows = op.form(op.plan.d).rows(dict({', '.join(f'{name}={name}' for name in names.split(', '))}))\n"
            f"    return np.array([code or 0 for code in answers(list(rows), op.plan)], '{_dtype(op)}')\n"
            f"def wrong({names}):\n"
            f"    return right({names}) ^ 1\n"
        )
    call = ["check", f"{tmp_path / 'kernels.py'}:right", "--against", f"dot/{plan.name}", "--suite", "directed"]
    call += ["--spec", str(tmp_path / "spec")]
    assert run([*call, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "pass"
    assert run([call[0], call[1].replace("right", "wrong"), *call[2:]]) == 1
    assert "DIFFERS in" in capsys.readouterr().out
