"""Model of spec/training: what each operand of the three matrix products of a layer goes through. How values are rounded is a recipe.

A layer is Y = X W^T with X [tokens, in], W [out, in]. fprop: X and W, summed over `in`. dgrad: dX = dY W, summed over `out`.
wgrad: dW = dY^T X, summed over tokens. Each operand is blocked along the axis that is summed over.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emu.spec.models.common import FormatId, Id, Names, Part, SpecObject, YesNo

RecipeOrNone = Annotated[Id, Names("recipe", unless="none")]
TransformOrNone = Annotated[Id, Names("transform", unless="none")]
RoundingOrNone = Annotated[Id, Names("rounding", unless="none")]
Tail = Literal["error", "zero_pad"]


class OperandFacts(Part):
    """One operand of one product; recipe none: it stays in the operand format."""

    recipe: RecipeOrNone = Field(description="recipe of its codes and levels; none: not quantized")
    transform: TransformOrNone = Field(
        default="none", description="rotation before the recipe; none also where the recipe's own program rotates"
    )
    round: RoundingOrNone = Field(
        default="none", description="rounding of the recipe's cast to element codes; none where there is no recipe"
    )

    @model_validator(mode="after")
    def _whole(self) -> OperandFacts:
        if (self.recipe == "none") != (self.round == "none"):
            raise ValueError("round: state the rounding of the element cast where there is a recipe, and none where there is none")
        if self.recipe == "none" and self.transform != "none":
            raise ValueError("transform: an operand without a recipe is not rotated")
        return self


class FpropFacts(Part):
    """Y = X W^T, summed over the inputs of the layer."""

    x: OperandFacts = Field(description="activations")
    w: OperandFacts = Field(description="weights")


class DgradFacts(Part):
    """dX = dY W, summed over the outputs of the layer."""

    dy: OperandFacts = Field(description="gradients of the outputs")
    w: OperandFacts = Field(description="weights")


class WgradFacts(Part):
    """dW = dY^T X, summed over tokens."""

    dy: OperandFacts = Field(description="gradients of the outputs")
    x: OperandFacts = Field(description="activations")


class TailFacts(Part):
    """What happens where a length that is summed over is no multiple of the block and the rotation."""

    features: Tail = Field(description="inputs and outputs of the layer; zero_pad: both operands get zeros before they are rotated")
    tokens: Tail = Field(description="tokens; zero_pad: the same")


class TrainingFacts(Part):
    """Operands, signs, random bits, and the layers left alone."""

    operands: FormatId = Field(description="float format that every operand is rounded to first, nearest even")
    fprop: FpropFacts = Field(description="forward product")
    dgrad: DgradFacts = Field(description="product for the gradients of the inputs")
    wgrad: WgradFacts = Field(description="product for the gradients of the weights")
    signs: Literal["seed_layer_gemm", "transform", "none"] = Field(
        description="signs of the rotations, the same for both operands of a product; seed_layer_gemm: drawn once for each product of each "
        "layer; transform: the rotation's own; none: nothing is rotated"
    )
    random: Literal["seed_layer_gemm_operand_step", "none"] = Field(
        description="what random bits of roundings depend on, beside the row-major place of the element in its tensor"
    )
    tail: TailFacts = Field(description="lengths that are no multiple")
    kept_first: str = Field(
        default="0", pattern=r"^(0|1|[0-9]+/[1-9][0-9]*)$", description="share of the first layers that stay in the operand format"
    )
    kept_last: str = Field(
        default="0", pattern=r"^(0|1|[0-9]+/[1-9][0-9]*)$", description="share of the last layers that do; numbers of layers are rounded up"
    )


class OperandExample(Part):
    """What follows for one operand."""

    operand: str = Field(description="product and operand, such as dgrad.dy")
    along: Literal["in", "out", "tokens"] = Field(description="the axis of its blocks")
    multiple: int = Field(ge=1, description="what that axis must be a multiple of")
    rotated: YesNo = Field(description="whether it is rotated, by a transform or by its recipe")
    random_bits: int = Field(ge=0, description="random bits of each element")
    why: str | None = Field(default=None, description="what the row shows")


class KeptExample(Part):
    """Which layers of a model stay in the operand format."""

    layers: int = Field(ge=1, description="layers of the model")
    kept: tuple[int, ...] = Field(description="numbers of those that stay, from 0")
    why: str | None = Field(default=None, description="what the row shows")


class Training(SpecObject):
    """How a model is trained with quantized matrix products."""

    kind: Literal["training"] = Field(description="the folder the file lies in")
    based_on: Id | None = Field(default=None, description="another training recipe whose facts hold where this file says nothing else")
    facts: TrainingFacts = Field(description="operands of the three products")
    expect: tuple[OperandExample | KeptExample, ...] = Field(default=(), description="hand-checked consequences")

    def operands(self) -> tuple[tuple[str, str, OperandFacts], ...]:
        """Return (product, operand, facts) of all six."""
        facts = self.facts
        return (
            ("fprop", "x", facts.fprop.x),
            ("fprop", "w", facts.fprop.w),
            ("dgrad", "dy", facts.dgrad.dy),
            ("dgrad", "w", facts.dgrad.w),
            ("wgrad", "dy", facts.wgrad.dy),
            ("wgrad", "x", facts.wgrad.x),
        )
