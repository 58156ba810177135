"""Model of spec/format: the generating facts of one number format. Derived facts (maxima, tables) are in emu.spec.derive."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from emu.spec.models.common import Exact, FormatId, Hex, HexString, Part, SpecObject, YesNo

BIAS: Final = 1 << 17
RANGE: Final = "every number of the format lies from 2^-1074 to below 2^1024, as those of binary64 do"
Listed = Annotated[tuple[Hex, ...], Field(max_length=256)]
NanCodes = Literal["none", "ieee"] | Listed


class FloatFacts(Part):
    """Sign, exponent and fraction fields."""

    class_: Literal["float"] = Field(alias="class", description="sign, exponent and fraction fields")
    signed: YesNo = Field(description="is there a sign bit above the exponent field")
    exp_bits: int = Field(ge=1, le=11, description="width of the exponent field")
    frac_bits: int = Field(ge=0, le=52, description="width of the fraction field")
    bias: int = Field(ge=-BIAS, le=BIAS, description=f"exp = exp_field - bias; {RANGE}")
    subnormals: YesNo = Field(description="yes: exponent field 0 holds zero and subnormals; no: it is a normal binade and there is no zero")
    inf: Literal["none", "ieee"] | Annotated[tuple[Hex, ...], Field(min_length=1, max_length=2)] = Field(
        description="ieee: exponent all ones, fraction zero; or the list of codes, +Inf first: one of each sign, "
        "the highest magnitude that is not NaN"
    )
    nan: NanCodes = Field(
        description="ieee: exponent all ones, fraction not zero; or the list of codes, the canonical one first: "
        "the highest codes of each sign, or sign bit alone where there is no -0"
    )
    neg_zero: YesNo = Field(description="does the code 'sign bit alone' mean -0")
    unused_high_bits: int = Field(default=0, ge=0, le=7, description="bits above the code in its stored byte; a set bit is refused")

    @property
    def bits(self) -> int:
        """Width of a code, unused bits not counted."""
        return (self.signed == "yes") + self.exp_bits + self.frac_bits

    @property
    def lists_inf(self) -> bool:
        """Tell whether infinities are listed codes, not those of IEEE 754."""
        return not isinstance(self.inf, str)

    @model_validator(mode="after")
    def _consistent(self) -> FloatFacts:
        if self.neg_zero == "yes" and (self.signed == "no" or self.subnormals == "no"):
            raise ValueError("neg_zero needs a sign bit and a zero")
        if self.inf == "ieee" and self.nan == "none" and self.frac_bits:
            raise ValueError("inf: ieee leaves the other codes of the top exponent without meaning: say nan: ieee")
        if self.nan == "ieee" and self.inf != "ieee":
            raise ValueError(
                "nan: ieee leaves the code with exponent all ones and fraction zero without meaning: say inf: ieee, or list the NaN codes"
            )
        minus_zero = 1 << (self.bits - 1)
        listed = not isinstance(self.nan, str) and minus_zero in {int(code, 16) for code in self.nan}
        if self.signed == "yes" and self.subnormals == "yes" and (self.neg_zero == "no") != listed:
            raise ValueError(f"the code {minus_zero:#x} (sign bit alone) must be either -0 (neg_zero: yes) or a listed NaN")
        return self


class IntegerFacts(Part):
    """A whole number of units of 2^unit_exp."""

    class_: Literal["integer"] = Field(alias="class", description="a whole number of units")
    signed: Literal["twos_complement", "sign_magnitude", "no"] = Field(description="how a negative number is coded")
    bits: int = Field(ge=1, le=16, description="width of a code")
    unit_exp: int = Field(ge=-BIAS, le=BIAS, description=f"the unit is 2^unit_exp; {RANGE}")


class ExponentFacts(Part):
    """A power of two."""

    class_: Literal["exponent"] = Field(alias="class", description="value = 2^(code - bias)")
    signed: Literal["no"] = Field(description="powers of two have no sign")
    bits: int = Field(ge=1, le=16, description="width of a code")
    bias: int = Field(ge=-BIAS, le=BIAS, description=f"value = 2^(code - bias); {RANGE}")
    nan: Literal["none"] | Listed = Field(description="codes that are NaN: the highest")


class CodebookFacts(Part):
    """A list of values."""

    class_: Literal["codebook"] = Field(alias="class", description="a list of values, one per code")
    bits: int = Field(ge=1, le=8, description="width of a code")
    values: tuple[Exact, ...] | None = Field(
        default=None, description="value of code 0, 1, ...; of codes that mean one number a conversion gives the first"
    )
    values_bits: HexString | None = Field(default=None, description="the same as bit patterns of values_format, code 0 first")
    values_format: FormatId | None = Field(default=None, description="float format of values_bits")
    tie: Literal["even_code", "lower", "away"] = Field(description="which neighbour a value exactly half way takes")

    @model_validator(mode="after")
    def _one_list(self) -> CodebookFacts:
        if (self.values is None) == (self.values_bits is None) or (self.values_bits is None) != (self.values_format is None):
            raise ValueError("give either values, or values_bits with values_format")
        return self


FormatFacts = Annotated[FloatFacts | IntegerFacts | ExponentFacts | CodebookFacts, Field(discriminator="class_")]


class FormatExample(Part):
    """A hand-checked code and value."""

    code: Hex = Field(description="the code")
    value: Exact = Field(description="the value it means")
    why: str | None = Field(default=None, description="what the row shows")


class Format(SpecObject):
    """One number format: how a code of `bits` bits means a value."""

    kind: Literal["format"] = Field(description="the folder the file lies in")
    facts: FormatFacts = Field(description="the generating facts")
    expect: tuple[FormatExample, ...] = Field(default=(), description="hand-checked examples; only tests and `emu doctor` read them")
