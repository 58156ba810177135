"""Levels that are a chain of fused steps: the facts of each shipped step, each word, former words, levels changed by their id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from support.mutants import mutants

import emu
from emu.base.errors import OpenError, SpecError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.datapath import datapath_descriptor
from emu.spec import get, load_spec, names
from emu.spec.checks.datapath import check_plan, settled
from emu.spec.datapath import plans_of, resolve
from emu.spec.levels import resolve_levels
from emu.spec.loader import read
from emu.spec.models import Datapath
from emu.spec.models.datapath import AlignFacts, DatapathFacts, UnknownFacts
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import shipped_root
from emu.spec.steps import in_levels, level_facts, step_facts

Load = Callable[..., str]
STEPS: dict[str, Any] = read(Path(__file__).with_name("step_facts.yaml")).data["facts"]
HEAD = 'kind: "datapath"\nid: "t"\ntitle: "t"\nstatus: "proposed"\n'
TAIL = "expect: []\nopen: []\nsources: []\n"


def test_the_facts_of_every_shipped_step_are_those_that_were_written_by_hand() -> None:
    found = {name: get("datapath", name).facts for name in names("datapath")}
    assert {name for name, facts in found.items() if isinstance(facts, DatapathFacts)} == set(STEPS)
    for name, words in STEPS.items():
        assert found[name] == DatapathFacts.model_validate(words), name


def test_no_file_says_them() -> None:
    for path in sorted((shipped_root() / "datapath").glob("*.yaml")):
        facts = read(path).data["facts"]
        assert not set(facts) & set(DatapathLevels.former), path.name


@pytest.mark.parametrize("name", STEPS)
def test_a_step_said_in_levels_is_read_out_of_them_again(name: str) -> None:
    facts = get("datapath", name).facts
    assert step_facts(level_facts(facts)) == facts
    assert settled(in_levels(get("datapath", name))).facts_digest == get("datapath", name).facts_digest


def changes(name: str) -> Iterator[tuple[str, DatapathLevels]]:
    """The facts in levels with one word changed, each with its name; those that the model refuses are left out."""
    model = in_levels(get("datapath", name))
    for item in mutants(model):
        words = model.facts.model_dump()
        inner: Any = words
        for part in item.path[:-1]:
            inner = inner[part] if isinstance(inner, dict) else inner[int(part)]
            if isinstance(inner, dict) and isinstance(inner.get("levels"), tuple):
                inner["levels"] = list(inner["levels"])
        if isinstance(inner, tuple):
            continue  # a list of ids: its order is a fact of its own, and the whole of it is compared below
        inner[item.path[-1]] = item.new
        words["levels"] = tuple(words["levels"])
        try:
            yield str(item), DatapathLevels.model_validate(words)
        except ValidationError:
            continue


@pytest.mark.parametrize("name", STEPS)
def test_every_word_of_the_levels_is_read(name: str) -> None:
    """One word changed: another step, or none. A word that nobody reads would leave the step as it is."""
    facts, count, others = get("datapath", name).facts, 0, 0
    for change, levels in changes(name):
        found = step_facts(levels)
        count += 1
        others += found is not None
        assert found != facts or levels == level_facts(facts), change
        if found is not None:
            assert step_facts(level_facts(found)) == found, change
    assert count > 30 and others > 8


SILENT = {  # facts that have no meaning beside others
    "align.cancelled_group_counts": lambda facts: facts.scale.apply != "group",
    "align.rounding": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.exponent": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.exponent_raise": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.integer_bits": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.floor": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.beyond": lambda facts: facts.align.fraction_bits == "exact" or facts.late_c != "none",
    "align.fraction_bits": lambda facts: (
        (facts.align.fraction_bits == "exact") != (facts.align.floor == "none")  # such a step cannot be
        or facts.late_c == "add"
        or facts.accumulator != "none"
        or facts.promote != "none"
    ),
    "round.mode": lambda facts: facts.promote != "none",
    "round.keep": lambda facts: facts.promote != "none",
    "round.overflow": lambda facts: facts.promote != "none",
    "subnormal.result": lambda facts: facts.promote != "none",
    "promote.term": lambda facts: facts.promote.fused == "yes",
    "scale.apply": lambda facts: facts.scale.apply == "product" and facts.group != 1,  # such a step cannot be
    "scale.unused_bits": lambda facts: facts.scale.apply == "none",
    "step": lambda facts: facts.step != "block" and facts.step % (facts.group * facts.split) != 0,
    "group": lambda facts: facts.step == "block" or facts.scale.apply != "group" or facts.step % facts.group != 0,
    "split": lambda facts: facts.step % facts.split != 0,
}


@pytest.mark.parametrize("name", STEPS)
def test_every_fact_of_a_step_is_said(name: str) -> None:
    """One fact changed, said in levels and read again, is the changed one, but where it has no meaning beside the others."""
    model, count = get("datapath", name), 0
    for item in mutants(model):
        words = model.facts.model_dump()
        inner: Any = words
        for part in item.path[:-1]:
            inner = inner[part]
        if isinstance(inner, tuple):
            continue
        inner[item.path[-1]] = item.new
        try:
            facts = DatapathFacts.model_validate(words)
            said = level_facts(facts)
        except (ValueError, SpecError):
            continue
        count += 1
        found, path = step_facts(said), ".".join(map(str, item.path))
        if path in SILENT and SILENT[path](facts):
            continue
        assert found == facts, str(item)
    assert count > 25


def test_a_rounded_sum_that_is_read_as_c_is_has_no_levels() -> None:
    model = get("datapath", "late_c")
    facts = level_facts(model.facts)
    flushed = facts.model_copy(update={"subnormal": facts.subnormal.model_copy(update={"c": "flush"})})
    assert step_facts(flushed) is None  # levels read C so, and not the sum of a step
    with pytest.raises(ValueError, match=r"^subnormal.c: levels do not read the rounded sum"):
        level_facts(model.facts.model_copy(update={"subnormal": flushed.subnormal}))


def test_a_nan_scale_of_an_empty_block_leaves_no_step_that_promotes() -> None:
    """The steps of `promote` multiply by every scale; a datapath whose NaN scales count for live blocks alone goes level by level."""
    model = get("datapath", "promote")
    facts = level_facts(model.facts)
    live = facts.model_copy(update={"special": facts.special.model_copy(update={"nan_scale": "live"})})
    assert step_facts(live) is None
    with pytest.raises(ValueError, match=r"^special.nan_scale: a step that promotes multiplies by a NaN scale always$"):
        level_facts(model.facts.model_copy(update={"special": model.facts.special.model_copy(update={"nan_scale": "live"})}))
    own = model.model_copy(update={"id": "promote_live", "facts": live})
    zeros, nan, one = np.zeros(64, np.uint8), np.float32([np.nan] * 4).view(np.uint32), np.float32([1] * 4).view(np.uint32)
    choice = {"a_format": "e2m1", "b_format": "e2m1", "scale_format": "fp32", "c": np.float32(2)}
    for engine in ("exact", "numpy", "c_ref", "auto"):
        found = emu.dot(zeros, zeros, own, nan, one, engine=engine, **choice)
        assert int(found) == 0x40000000, engine


def test_zeros_that_are_plus_leave_no_step_that_promotes() -> None:
    """The steps of `promote` keep the signs of zeros; a datapath whose zeros are plus goes level by level."""
    model = get("datapath", "promote")
    facts = level_facts(model.facts)
    assert step_facts(facts.model_copy(update={"special": facts.special.model_copy(update={"zero": "plus"})})) is None
    with pytest.raises(ValueError, match=r"^special.zero: a step that promotes keeps the signs of zeros as IEEE 754 has them$"):
        level_facts(model.facts.model_copy(update={"special": model.facts.special.model_copy(update={"zero": "plus"})}))


@pytest.mark.parametrize("unit_exp", [-76, -75, -74, 57, 58, 59])
def test_a_step_that_promotes_holds_every_sum_of_a_block(unit_exp: int) -> None:
    """A product of int4 is a multiple of 2^(2 unit_exp), which is 2^-149 at least, and 64 units at most: 16 of them stay below 2^128."""
    fmt = get("format", "int4")
    own = fmt.model_copy(update={"facts": fmt.facts.model_copy(update={"unit_exp": unit_exp})})
    plan = resolve("promote", own, own, "fp32", 16)
    if -75 < unit_exp < 59:
        check_plan(plan)
        return
    with pytest.raises(SpecError, match=r"^scale.blocks: the sum of 16 products of int4 x int4 is no exact binary32 number$"):
        check_plan(plan)


@pytest.mark.parametrize("cut", ["rz", "rd", "rne"])
@pytest.mark.parametrize("exponent", ["nominal", "normalised"])
@pytest.mark.parametrize("fraction_bits", [0, 1, 13])
@pytest.mark.parametrize("base", ["hopper_fp8", "blackwell_mxf4nvf4_b16_ue4m3", "cheap"])
def test_the_adder_of_a_step_is_that_of_its_levels(base: str, fraction_bits: int, exponent: str, cut: str) -> None:
    """Integer bits and a derived floor count terms that are rounded up, and normalised ones, in both forms and in C."""
    plan = next(iter(plans_of(base)))
    align = AlignFacts(include_c="yes", fraction_bits=fraction_bits, rounding=cut, exponent=exponent, floor="derived")
    facts = plan.facts.model_copy(update={"align": align})
    model = plan.datapath.model_copy(update={"id": "wide", "facts": facts})
    chosen = model, plan.a, plan.b, plan.scale, plan.block or None
    step, level = resolve(*chosen), resolve_levels(*chosen).levels[-1].align
    assert level is not None
    assert (step.frac_bits, step.integer_bits, step.floor) == (level.frac_bits, level.integer_bits, level.floor)
    widths = ffi.new("emu_widths *")
    assert lib.emu_derive_widths(datapath_descriptor(step).pointer, widths) == 0
    assert (widths.needed_bits, widths.floor_exp) == (step.integer_bits_needed, step.floor)


def test_the_other_datapaths_of_levels_are_no_steps() -> None:
    levels = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]
    assert len(levels) >= 19 and not set(levels) & set(STEPS)
    assert all(step_facts(get("datapath", name).facts) is None for name in levels)
    assert all(isinstance(get("datapath", name).facts, UnknownFacts) for name in names("datapath") if name not in (*levels, *STEPS))


IDEAL = """facts:
  a: ["e1m2"]
  b: ["e1m2"]
  c: "fp32"
  k: 64
  scale: {formats: ["ue4m3"], blocks: [16]}
  levels:
    - {id: "first", of: 16, add: "exact", scale: {}}
    - {id: "second", of: "all", add: "chain", by: 4, start: "c", hold: {format: "fp32", rounding: "rne"}}
  out: {format: "fp32"}
  special: {when: "once", nan: "0x7FFFFFFF"}
"""


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("", "", 64),
        ("by: 4", "by: 1", 16),
        ("by: 4, ", "", 16),
        ('rounding: "rne"}}', 'rounding: "rne", keep: 23}}', 64),
        ('out: {format: "fp32"}', 'out: {format: "fp32", rounding: "rne"}', 64),  # what is held so is not changed by it
        ('out: {format: "fp32"}', 'out: {format: "fp32", rounding: "rne", keep: 22}', None),
        ('out: {format: "fp32"}', 'out: {format: "fp32", rounding: "sr_add8"}', None),  # it takes a random word
        ('out: {format: "fp32"}', 'out: {format: "bf16", rounding: "rne"}', None),
        ('when: "once"', 'when: "per_add"', None),
        ('nan: "0x7FFFFFFF"', 'nan: "0x7FFFFFFF", zero: "ieee"', None),
        ('rounding: "rne"}}', 'rounding: "rne", overflow: "ieee"}}', None),
        ('rounding: "rne"}}', 'rounding: "sr_add8"}}', None),
        ('rounding: "rne"}}', 'rounding: "rne"}, align: {fraction_bits: 30, cut: "odd"}}', None),
        ('of: 16, add: "exact"', 'of: 16, add: "exact", exponent: "largest"', None),
        ("scale: {}", 'scale: {each: {format: "bf16", rounding: "rz"}}', None),
        ("  k: 64", "  k: 16", None),  # four groups are more than one instruction
        ("  k: 64", '  k: 64\n  products: {hold: {significant_bits: 3, rounding: "rz"}}', None),
    ],
)
def test_a_file_of_a_user_is_a_step_where_it_says_one(old: str, new: str, step: int | None, own_registry: None, tmp_path: Path) -> None:
    text = IDEAL.replace(old, new, 1) if old else IDEAL
    assert bool(old) == (text != IDEAL)
    (tmp_path / "t.yaml").write_text(HEAD + text + TAIL, encoding="utf-8")
    load_spec(tmp_path)
    facts = get("datapath", "t").facts
    assert isinstance(facts, DatapathLevels) if step is None else (facts.step, facts.group) == (step, 16)


@pytest.mark.parametrize("word", DatapathLevels.former)
def test_a_former_word_is_refused_with_what_is_said_now(word: str, refused: Load) -> None:
    facts = IDEAL.replace("  k: 64\n", f"  k: 64\n  {word}: 1\n")
    assert refused(t=HEAD + facts + TAIL) == (
        f"t.yaml:10: facts.{word}: key {word} is not of the language any more: {DatapathLevels.former[word]}"
    )


def test_a_file_of_former_words_alone_names_the_first(refused: Load) -> None:
    text = 'facts:\n  a: ["e2m1"]\n  b: ["e2m1"]\n  c: "fp32"\n  d: "fp32"\n  k: 64\n  step: 64\n  group: 16\n  scale: {apply: "none"}\n'
    assert refused(t=HEAD + text + TAIL) == 't.yaml:9: facts.d: key d is not of the language any more: say out: {format: "..."}'
    facts = IDEAL.replace("scale: {formats", 'scale: {apply: "group", formats')
    assert refused(t=HEAD + facts + TAIL) == (
        "t.yaml:10: facts.scale.apply: key apply is not of the language any more: "
        "say `scale: {}` in the level whose values the block scales multiply, or `products: {scale: {}}`"
    )


def based(own: str) -> str:
    return HEAD + 'based_on: "nv_like"\nfacts:\n  levels:\n' + own + TAIL


def test_levels_of_a_base_are_changed_by_their_id(own_registry: None, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(based('    - {id: "k", by: 2, align: {cut: "rne"}}\n'), encoding="utf-8")
    load_spec(tmp_path)
    facts, base = get("datapath", "t").facts, get("datapath", "nv_like").facts
    assert facts == base.model_copy(update={"step": 32, "align": base.align.model_copy(update={"rounding": "rne"})})


def test_a_list_with_a_new_level_stands_alone(own_registry: None, tmp_path: Path) -> None:
    chain = '{id: "all", of: "all", add: "chain", by: 4, start: "c", hold: {format: "fp32", rounding: "rne"}}'
    (tmp_path / "t.yaml").write_text(based(f'    - {{id: "grp", of: 16, add: "exact", scale: {{}}}}\n    - {chain}\n'), encoding="utf-8")
    load_spec(tmp_path)
    assert get("datapath", "t").facts == get("datapath", "ideal").facts


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (
            '    - {id: "k", align: {fraction_bits: -1}}\n',
            "t.yaml:8: facts.levels.1.align.fraction_bits: -1 must be greater than or equal to 0",
        ),
        (
            '    - {id: "k", by: 2}\n    - {id: "grp",\n       of: 0}\n',
            "t.yaml:10: facts.levels.0.of: 0 must be greater than or equal to 1",
        ),
        (
            '    - {id: "k", by: 2}\n    - {id: "k", by: 4}\n',
            "t.yaml:8: facts.levels.0: key of is missing",
        ),
        (
            '    - {id: "k", align: {integer_bits: 2}}\n',
            "t.yaml:8: facts.levels.1.align.integer_bits: level k: 2 bits overflow: the largest sum needs 10: say so, or beyond: wrap",
        ),
    ],
)
def test_a_fault_in_a_changed_level_has_its_own_line(own: str, wanted: str, refused: Load) -> None:
    assert refused(t=based(own)).startswith(wanted)


ALIGN = 'align: {fraction_bits: "open", cut: "rz", integer_bits: "open", exponent_raise: "open", beyond: "open"}'


@pytest.mark.parametrize("when", ["once", "per_add"])  # of a chain of steps, and of other levels
def test_what_is_open_is_refused_and_needs_what_would_settle_it(when: str, refused: Load, own_registry: None, tmp_path: Path) -> None:
    facts = IDEAL.replace('rounding: "rne"}}', f'rounding: "rne"}}, {ALIGN}}}').replace('when: "once"', f'when: "{when}"')
    assert refused(t=HEAD + facts + TAIL) == (
        "t.yaml:13: facts.levels.1.align.fraction_bits: level second: what is open needs an open point that says what would settle it"
    )
    text = HEAD + facts + TAIL.replace("open: []", 'open: [{what: "the adder", until: "a probe"}]')
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    load_spec(tmp_path)
    model: Datapath = get("datapath", "t")
    assert isinstance(model.facts, DatapathFacts if when == "once" else DatapathLevels)
    with pytest.raises(
        OpenError, match=r"^datapath t: align.fraction_bits is open until: a probe; its readings are datapaths of their own$"
    ):
        emu.dot(np.zeros(64, np.uint8), np.zeros(64, np.uint8), "t")
