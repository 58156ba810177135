"""Targets built from the engines, with what a real kernel may do differently: layout, packing, its own maximum, an edited program."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from emu.base.errors import EmuError, TargetError
from emu.contracts.form import takes_signs
from emu.engines.numpy import tables
from emu.engines.numpy.block import quantize
from emu.engines.numpy.layout import places
from emu.engines.run import run_convert, run_dequantize, run_transform
from emu.spec import get
from emu.spec.derive import OPEN
from emu.spec.models.recipe import Domain
from emu.spec.programs.program import quantize_program


@dataclass
class QuantizeTarget:
    """A kernel that runs a recipe's program through the NumPy engine. what: words that change it."""

    recipe: object
    source: str = "bf16"
    what: tuple = ()
    result: str | None = None
    op: str = "quantize"
    asked: list = field(default_factory=list)

    @property
    def name(self):
        return f"kernel of {self.recipe.id}"

    def __call__(self, operands):
        x = operands["x"]
        self.asked.append(x.shape)
        if "raises on NaN" in self.what and any(np.isnan(self.values(x)).ravel()):
            raise TargetError("raises", "NaN")
        if "multiples of 128" in self.what and (x.shape[0] % 128 or x.shape[1] % 128):
            raise TargetError("shape", "rows and columns must be multiples of 128")
        program = quantize_program(self.recipe)
        given = {}
        if program.reads("tensor_amax") and "own maximum" not in self.what:
            given["tensor_amax"] = int(operands["tensor_amax"])
        if program.reads("random"):
            given["random"] = operands["random"] & 0xFF
        if takes_signs(self.recipe) and "signs ignored" not in self.what:
            given["signs"] = int(operands["signs"])
        everywhere = self.recipe.model_copy(update={"facts": self.recipe.facts.model_copy(update={"domain": Domain()})})
        found = quantize(everywhere, x, get("format", self.source), masked=True, **given)
        block = program.block
        codes = plain(found.codes, get("format", block.element_formats[0]))
        levels = {level.name: plain(found.levels[level.name], get("format", level.format)) for level in block.facts.levels}
        return self.shaped(codes, levels)

    def values(self, x):
        return x.astype(np.uint32).view(np.float32) if self.source == "fp32" else (x.astype(np.uint32) << 16).view(np.float32)

    def shaped(self, codes, levels):
        if "values" in self.what:
            result = get("format", self.result)
            return {"values": run_dequantize(self.recipe, codes, levels, profile=None, result=result, engine="auto")}
        if "high nibble first" in self.what:
            codes = codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)
        if "bytes" in self.what:
            codes = codes[:, ::2] | codes[:, 1::2] << 4
        if "sf128x4" in self.what:
            scale = levels["scale"]
            out = np.zeros(scale.size, scale.dtype)
            out[places(*scale.shape, get("layout", "sf128x4"))] = scale
            levels["scale"] = out.reshape(scale.shape)
        if "transposed" in self.what:
            levels["scale"] = np.ascontiguousarray(levels["scale"].T)
        return {"codes": codes} | {name: level for name, level in levels.items() if not ("no tensor" in self.what and name == "tensor")}


def plain(array, fmt):
    """Return codes with zero where nobody knows."""
    if array.dtype == tables.marker_dtype(fmt):
        array = np.where(array == tables.mark(OPEN, fmt), 0, array)
    return array.astype(np.uint8 if array.dtype.itemsize <= 2 else array.dtype)


@dataclass
class ConvertTarget:
    """A kernel that converts; it raises where its policy does."""

    contract: str
    source: str = "bf16"
    result: str | None = None
    op: str = "convert"

    @property
    def name(self):
        return f"kernel of {self.contract}"

    def __call__(self, operands):
        fmt, rounding, policy = (
            get(kind, name) for kind, name in zip(("format", "rounding", "policy"), self.contract.split("/"), strict=True)
        )
        random = operands["random"] if rounding.random_bits else None
        try:
            return {"codes": run_convert(operands["codes"], get("format", self.source), fmt, rounding, policy, random, "auto")}
        except EmuError as error:
            raise TargetError("raises", str(error)) from error


@dataclass
class TransformTarget:
    """A kernel that rotates."""

    transform: object
    source: str = "bf16"
    op: str = "transform"

    @property
    def name(self):
        return f"kernel of {self.transform.id}"

    @property
    def result(self):
        return self.transform.facts.result

    def __call__(self, operands):
        return {"values": run_transform(operands["x"], get("format", self.source), self.transform, None, "auto")}


@pytest.fixture
def quantize_target():
    return QuantizeTarget


@pytest.fixture
def convert_target():
    return ConvertTarget


@pytest.fixture
def transform_target():
    return TransformTarget
