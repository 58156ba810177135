"""identify of convert kernels: every rounding and policy of the 4-bit grids is itself or equal by exhaustion."""

import numpy as np
import pytest

from emu.base.errors import EmuError, TargetError
from emu.identify.run import identify
from emu.spec import get, names
from emu.spec.contract import parse


def contracts(formats):
    found = []
    for fmt in formats:
        for rounding in names("rounding"):
            for policy in names("policy"):
                try:
                    parse(f"convert/{fmt}/{rounding}/{policy}")
                except EmuError:
                    continue
                found.append(f"{fmt}/{rounding}/{policy}")
    return found


QUICK = ("e2m1/rne/nvidia", "e2m1/rz/amd", "e1m2/rna/ocp_saturate", "e2m1/sr_add8/te_software", "e4m3/rne/torch", "e5m2/rne/nvidia")


@pytest.mark.cases(4)
@pytest.mark.parametrize("contract", QUICK)
def test_a_conversion_is_itself(convert_target, contract):
    found = identify(convert_target(contract))
    assert found.kind == "documented" and f"convert/{contract}" in found.found, found.text()


@pytest.mark.cases(0, 64)
@pytest.mark.parametrize("contract", contracts(["e2m1", "e1m2"]))
def test_every_conversion_is_itself_or_equal(convert_target, contract):
    words = get("rounding", contract.split("/")[1])
    if words.random_bits > 8 or "word" in words.facts.model_dump()["random"]:
        pytest.skip("random integers of more than eight bits, or shared between elements, are not asked")
    found = identify(convert_target(contract))
    assert found.kind == "documented" and f"convert/{contract}" in found.found, found.text()
    for pair in found.pairs:
        if pair.verdict == "not separated":
            assert words.random_bits, pair.text


def test_other_policies_are_separated_with_an_example(convert_target):
    found = identify(convert_target("e2m1/rne/nvidia"))
    pair = next(pair for pair in found.pairs if pair.second == "convert/e2m1/rne/amd")
    assert pair.verdict == "separated" and int(pair.operands["x"], 16) > 0xFF80  # a NaN with a sign


def test_equal_by_exhaustion_of_16_bit_sources(convert_target):
    found = identify(convert_target("e2m1/rne/nvidia"))
    pair = next(pair for pair in found.pairs if {pair.first, pair.second} == {"convert/e2m1/rne/nvidia", "convert/e2m1/rne/te_software"})
    assert pair.verdict == "equal" and "65536" in pair.why


def test_refusing_nan_makes_its_rule_unobservable(convert_target):
    class Refusing(convert_target):
        def __call__(self, operands):
            if (operands["codes"] & 0x7FFF > 0x7F80).any():
                raise TargetError("raises", "NaN")
            return super().__call__(operands)

    found = identify(Refusing("e2m1/rne/nvidia"))
    assert next(axis for axis in found.axes if axis.axis == "NaN").finding == "refused by the kernel"
    verdicts = {pair.second: pair.verdict for pair in found.pairs} | {pair.first: pair.verdict for pair in found.pairs}
    assert "convert/e2m1/rne/amd" in found.found and verdicts["convert/e2m1/rne/nvidia"] == "unobservable"


def test_the_unused_bit_of_a_nan_is_not_compared(convert_target):
    class Signed(convert_target):
        def __call__(self, operands):
            codes = super().__call__(operands)["codes"]
            return {"codes": np.where(codes == 0x7F, 0xFF, codes).astype(np.uint8)}

    found = identify(Signed("ue4m3/rne/nvidia"))
    assert found.kind == "documented" and "convert/ue4m3/rne/nvidia" in found.found, found.text()


def test_policies_that_give_every_answer_are_named_first(convert_target):
    found = identify(convert_target("e2m1/rne/ml_dtypes"))
    whole = ("convert/e2m1/rne/ml_dtypes", "convert/e2m1/rne/onnx_reference_sat")
    assert found.title == " or ".join(whole) + " (equal on the 65,536 bf16 sources asked)" and found.found[:2] == whole
    assert "convert/e2m1/rne/torchao, where it answers" in found.found
    assert all(name.endswith(", where it answers") for name in found.found[2:]), found.found


def test_a_wrong_tie_is_a_departure(convert_target):
    class Wrong(convert_target):
        def __call__(self, operands):
            found = super().__call__(operands)
            codes = np.where(operands["codes"] == 0x40A0, 7, found["codes"])  # 5 becomes 6
            return {"codes": codes.astype(np.uint8)}

    found = identify(Wrong("e2m1/rne/nvidia"))
    assert found.kind == "nearest" and found.departures[0].operands == {"x": "40a0"} and found.departures[0].expected == "0x6"


def test_a_grid_with_a_hole_has_a_nearest_one(convert_target):
    class Without(convert_target):
        def __call__(self, operands):
            codes = super().__call__(operands)["codes"]
            return {"codes": np.where(codes & 7 == 7, codes - 1, codes).astype(np.uint8)}

    found = identify(Without("e2m1/rne/nvidia"))
    assert found.kind == "nearest" and found.found[0].startswith("convert/e2m1/rne/") and found.axes[0].finding == "no documented grid"


def test_a_conversion_is_confirmed_by_sources_that_were_not_used_to_find_it(convert_target):
    class Rarely(convert_target):
        def __call__(self, operands):
            codes = super().__call__(operands)["codes"]
            return {"codes": np.where(operands["codes"] & 0x3FF == 0x155, codes ^ 1, codes).astype(np.uint8)}

    found = identify(Rarely("e2m1/rne/nvidia", "fp32"))
    assert found.kind == "nearest" and int(found.departures[0].operands["x"], 16) & 0x3FF == 0x155, found.text()
    assert identify(convert_target("e2m1/rne/nvidia", "fp32")).kind == "documented"
