"""Model of spec/policy: one vendor's or library's policy for overflow, NaN, Inf, zero and sign, per destination format."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from emu.spec.models.common import Hex, Id, Overflow, Part, Reference, SpecObject

OUTCOME = r"^(0x[0-9A-F]+|max|min|nan|negative_nan|inf|negative_inf|zero|negative_zero|smallest|open|refuse)$"
OF_SERIES = "series_"  # keys of an entry that speaks of members of a series begin with it
PATTERNS = ("with_nan", "without_nan")  # keys of an entry that speaks of every other format
Outcome = Annotated[str, StringConstraints(pattern=OUTCOME)]


class BySign(Part):
    """One outcome per sign of the source; a code, or a word that the destination format turns into a code."""

    positive: Outcome = Field(description="outcome for a source with sign bit 0")
    negative: Outcome = Field(description="outcome for a source with sign bit 1")


class Entry(Part):
    """What happens on the way to one destination."""

    overflow: Overflow = Field(description="what becomes of a rounded magnitude beyond max")
    nan: BySign = Field(description="the code of a NaN source; open: nobody knows, refuse: the library raises")
    overflow_nan: BySign | None = Field(default=None, description="the NaN code that overflow gives, for the words nan and ieee_nan")
    inf: BySign | None = Field(default=None, description="the code of an infinite source where the overflow word does not say it")
    zero: BySign | None = Field(default=None, description="the code of a zero source where the plain rule does not say it")
    negative: Outcome | None = Field(
        default=None, description="an unsigned destination: the code of every negative source; absent: sign dropped"
    )
    negative_of: Literal["rounded"] | None = Field(
        default=None,
        description="rounded: negative holds for Inf and what rounds below 0; a mode that stops at the end gives the least code",
    )

    @model_validator(mode="after")
    def _overflow_nan_needed(self) -> Entry:
        if (self.overflow in ("nan", "ieee_nan")) != (self.overflow_nan is not None):
            raise ValueError("overflow_nan belongs to overflow: nan and ieee_nan, and only to them")
        if self.negative_of is not None and self.negative is None:
            raise ValueError("negative_of says when negative holds: state negative too")
        if self.negative_of is not None and self.negative in ("open", "refuse"):
            raise ValueError(f"negative_of: rounded needs a code for negative, not {self.negative}")
        return self


class PolicyExample(Part):
    """A hand-checked conversion."""

    to: Id = Field(description="destination format")
    source: Id = Field(description="source format")
    x: Hex = Field(description="source code")
    rounding: Id = Field(description="rounding mode")
    random: int | None = Field(default=None, description="the random integer of the element")
    code: Hex = Field(description="destination code")
    why: str | None = Field(default=None, description="what the row shows")


class Policy(SpecObject):
    """One policy. The key of an entry is a format id, the members of a series with the same words (`series_p3109_s_e`),
    or `with_nan` / `without_nan` for every other format."""

    kind: Literal["policy"] = Field(description="the folder the file lies in")
    facts: dict[str, Entry] = Field(description="destination -> entry", min_length=1)
    expect: tuple[PolicyExample, ...] = Field(default=(), description="hand-checked examples")

    def references(self) -> tuple[Reference, ...]:
        """Return the destination formats."""
        return tuple(("format", key, ("facts", key)) for key in self.facts if key not in PATTERNS and not key.startswith(OF_SERIES))
