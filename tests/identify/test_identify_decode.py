"""identify of decode and dequantize kernels: every format and profile is itself, or equal to those that give the same values."""

import numpy as np
import pytest

from emu.base.errors import EmuError, OperandError, TargetError
from emu.engines.run import run_decode, run_dequantize
from emu.identify.run import identify
from emu.spec import derive, get
from emu.spec.contract import recipes_of_blocks
from emu.spec.programs.program import quantize_program


class Decoder:
    op, source, result = "decode", None, "fp32"

    def __init__(self, fmt):
        self.fmt, self.name = get("format", fmt), f"decoder of {fmt}"

    def __call__(self, operands):
        if int(operands["codes"].max()) >> derive.codes(self.fmt).bits:
            raise TargetError("raises", "code too wide")
        return {"values": run_decode(operands["codes"], self.fmt, get("format", "fp32"))}


class Dequantizer:
    op, source, result = "dequantize", None, "fp32"

    def __init__(self, recipe, profile):
        self.recipe, self.profile, self.name = get("recipe", recipe), profile, f"dequantizer of {recipe}"

    def __call__(self, operands):
        levels = [level.name for level in quantize_program(self.recipe).block.facts.levels]
        if set(operands) != {"codes", *levels}:
            raise TargetError("raises", "other levels")
        held = {name: np.atleast_2d(operands[name]) for name in levels}
        try:
            found = run_dequantize(self.recipe, operands["codes"], held, profile=self.profile, result=get("format", "fp32"), engine="auto")
        except EmuError as error:
            raise TargetError("raises", str(error)) from error
        return {"values": found}


@pytest.mark.parametrize("fmt", ["e2m1", "e1m2", "int4", "e0m3", "e3m0", "nf4", "e2m3", "e3m2", "e4m3", "e5m2"])
def test_a_format_is_itself(fmt):
    found = identify(Decoder(fmt))
    assert found.kind == "documented" and f"decode/{fmt}" in found.found
    assert all(
        pair.verdict in ("equal", "unobservable") for pair in found.pairs if pair.first in found.found and pair.second in found.found
    )


def test_a_wrong_code_departs():
    class Wrong(Decoder):
        def __call__(self, operands):
            values = super().__call__(operands)["values"].copy()
            values[operands["codes"] == 8] = 0  # minus zero lost
            return {"values": values}

    found = identify(Wrong("e2m1"))
    assert found.kind == "nearest" and found.departures[0].operands == {"codes": "8"}


QUICK = [("nvfp4_te_ref", "te"), ("nvfp4_torchao", "torchao"), ("mxfp4_torchao_floor", None), ("hif4", "exact")]


@pytest.mark.parametrize(("recipe", "profile"), QUICK)
def test_a_profile_is_itself(recipe, profile):
    name = profile or next(iter(get("recipe", recipe).facts.dequantize))
    found = identify(Dequantizer(recipe, name), among=[recipe, "nvfp4_f46_static_6", "mxfp4_te_pow2"])
    assert found.kind == "documented" and f"dequantize/{recipe}/{name}" in found.found, found.text()


@pytest.mark.cases(0, 6)
@pytest.mark.parametrize("recipe", recipes_of_blocks())
def test_every_profile_is_itself_or_equal(recipe):
    for profile in get("recipe", recipe).facts.dequantize:
        found = identify(Dequantizer(recipe, profile))
        assert found.kind == "documented" and f"dequantize/{recipe}/{profile}" in found.found, found.text()


def test_two_orders_of_dequantize_are_separated():
    found = identify(Dequantizer("nvfp4_te_ref", "te"), among=["nvfp4_te_ref", "nvfp4_f46_static_6"])
    pair = found.pairs[0]
    assert pair.verdict == "separated" and set(pair.operands) == {"codes", "scale", "tensor"}


def test_nothing_taken():
    class Silent(Decoder):
        def __call__(self, operands):
            raise TargetError("raises", "no")

    with pytest.raises(OperandError, match="took no question"):
        identify(Silent("e2m1"))


def test_a_profile_is_confirmed_by_operands_that_were_not_used_to_find_it():
    class Rarely(Dequantizer):
        def __call__(self, operands):
            values = super().__call__(operands)["values"]
            return {"values": values ^ 1 if int(operands["tensor"]) & 0xF000 == 0x3000 else values}

    found = identify(Rarely("nvfp4_te_ref", "te"), among=["nvfp4_te_ref", "nvfp4_torchao"])
    assert found.kind == "nearest" and found.departures[0].operands["tensor"] == "3f9e3779", found.text()
    assert identify(Dequantizer("nvfp4_te_ref", "te"), among=["nvfp4_te_ref", "nvfp4_torchao"]).kind == "documented"
