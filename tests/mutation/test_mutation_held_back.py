"""Directed rows on mutants that they were not chosen for: every deviation that a contract makes of itself, class by class.

docs/rtl.md has the table. What the default run tries is every n-th mutant of two contracts.
"""

import pytest
from support.generated_mutants import held_back, judged

SEED = "classes held back"
QUICK = ["convert__fp32_to_e2m1__nvidia_rne__directed", "quantize__bf16_to_mxfp4__mxfp4_torchao_floor__directed"]
OTHERS = ["dot__e2m1xe2m1_to_fp32__int12_saturate__directed", "dot__e4m3xe4m3_to_fp32__hopper_fp8__directed"]


@pytest.mark.parametrize("stem", [*QUICK, *(pytest.param(stem, marks=pytest.mark.exhaustive) for stem in OTHERS)])
def test_directed_rows_kill_classes_that_nobody_recorded(stem):
    """95 of 100 at least, and of rows chosen on the other classes 80 of 100: fewer would mean that the rows were chosen for the list."""
    found = held_back(stem, judged(stem, every=8), SEED)
    assert found["mutants"] > 15 and found["classes"] > 10
    assert 100 * found["directed"] >= 95 * found["mutants"], found["missed"]
    assert 100 * found["chosen"] >= 80 * found["mutants"]
