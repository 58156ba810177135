"""Open results mask their own blocks and nothing else: a NaN in one block never hides a fault in another."""

import numpy as np
import pytest

import emu
from emu.base.errors import OpenError, OperandError
from emu.contracts import form_of
from emu.contracts.form import Asked, expect
from emu.engines.exact.block import quantize
from emu.spec import get
from emu.spec.contract import recipes_of_blocks
from emu.testing import check

RECIPES = sorted(recipes_of_blocks())
SHARE = 0.8


def nan_answered(x, fill):
    """A kernel of mxfp4_f46_static_6; blocks of zeros, and those that nobody knows, are filled with a code."""
    blocks = x.reshape(-1, 32)
    whole = np.isfinite(blocks).all(1) & (blocks != 0).any(1)
    codes, scale = np.full(blocks.shape, fill, np.uint8), np.zeros(len(blocks), np.uint8)
    if whole.any():
        found = emu.quantize(blocks[whole], "mxfp4_f46_static_6")
        codes[whole], scale[whole] = found.codes, found.scales.reshape(-1)
    return codes.reshape(x.shape), scale.reshape(len(x), -1)


def test_a_fault_of_zero_blocks_is_seen_beside_blocks_that_are_open():
    right, wrong = (
        check(lambda x, fill=fill: nan_answered(x, fill), "quantize/mxfp4_f46_static_6", suites=("directed",), raises=False)
        for fill in (0, 0xB)
    )
    assert right.verdict == "pass" and right.compared > 3000
    assert [failure.name for failure in wrong.failures] == ["zero_block"] and wrong.failures[0].example.got.startswith("0xB")


@pytest.mark.cases(8, 40)
@pytest.mark.parametrize("name", RECIPES)
def test_most_directed_codes_of_every_recipe_are_compared(name):
    form, asked, known = form_of(f"quantize/{name}"), 0, 0
    for question in form.directed(Asked()):
        found = expect(form, question.operands, "auto")
        asked += found.arrays["codes"].size
        known += int(found.known.get("codes", np.ones(found.arrays["codes"].shape, bool)).sum())
    assert known > SHARE * asked


@pytest.mark.cases(5, 6)
@pytest.mark.parametrize("name", RECIPES)
def test_a_question_says_of_each_tile_what_the_reference_model_says_of_it_alone(name):
    form, recipe, source = form_of(f"quantize/{name}"), get("recipe", name), get("format", "fp32")
    if form.draws is not None:
        pytest.skip("random words belong to a whole tensor")
    tall = form.block.facts.shape[0]
    for question in form.directed(Asked()):
        together = expect(form, question.operands, "exact")
        extra = {key: int(question.operands[key]) for key in ("tensor_amax", "signs") if key in question.operands}
        if "tensor_amax" in form.extras and not extra:
            continue
        known = together.known.get("codes", np.ones(together.arrays["codes"].shape, bool))
        for top in range(0, len(question.operands["x"]), tall):
            place = slice(top, top + tall)
            try:
                alone = np.array(quantize(recipe, question.operands["x"][place].tolist(), source, masked=True, **extra).codes)
            except (OpenError, OperandError):
                continue
            assert np.array_equal(together.arrays["codes"][place][alone >= 0], alone[alone >= 0]) and known[place][alone >= 0].all()


def test_a_suite_of_open_answers_alone_is_named():
    from emu.check.run import _Checker
    from emu.check.targets.python import python_target
    from emu.contracts.form import Question

    def kernel(x):
        return np.zeros(x.shape, np.uint8), np.zeros((len(x), x.shape[1] // 32), np.uint8)

    checker = _Checker(python_target(kernel, "quantize/mxfp4_f46_static_6"), form_of("quantize/mxfp4_f46_static_6"), None, (1, 1))
    checker.questions = lambda *_: iter([Question({"x": np.full((1, 32), 0x7FC00000, np.uint32)}, ("nan",))])
    report = checker.run(("directed",), None, 1)
    assert report.verdict == "nothing" and any(note.startswith("directed: nothing was compared") for note in report.notes)
