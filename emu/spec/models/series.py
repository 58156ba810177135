"""Model of spec/series: formats that one rule makes, each of them named by its numbers and words. Making one of them is emu.spec.series."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import Field, StringConstraints

from emu.spec.models.common import Exact, Hex, Id, Name, Part, SpecObject

TEMPLATE = r"^[a-z0-9_{}]+$"
EXPRESSION = r"^[a-z0-9_ +*^()-]+$"
MemberKind = Literal["format"]
MEMBER_KINDS: Final[tuple[str, ...]] = get_args(MemberKind)
Expression = Annotated[str, StringConstraints(pattern=EXPRESSION, max_length=200)]


class SeriesNumber(Part):
    """A number in the name of a member."""

    id: Name = Field(description="its name in the template and in expressions")
    what: str = Field(description="what it means")
    least: Expression = Field(description="smallest value; it may use the numbers before this one")
    most: Expression = Field(description="largest value; it may use the numbers before this one")


class SeriesWord(Part):
    """A word in the name of a member."""

    id: Name = Field(description="its name in the template and in `when`")
    what: str = Field(description="what it means")
    one_of: tuple[Name, ...] = Field(min_length=1, description="the words that may stand there")


class SeriesRule(Part):
    """Facts of the members whose words are those of `when`."""

    when: dict[str, Name] = Field(default={}, description="words of the members that the rule is about; left out: all")
    words: dict[str, str] = Field(default={}, description="facts that are words")
    numbers: dict[str, Expression] = Field(default={}, description="facts that are numbers, as expressions")
    codes: dict[str, tuple[Expression, ...]] = Field(default={}, description="facts that are lists of codes, as expressions")
    most: dict[str, Expression] = Field(default={}, description="a lower limit for numbers of the name than they have by themselves")


class SeriesFacts(Part):
    """A template of names, and the rules that make the facts of a member."""

    of: MemberKind = Field(description="kind of the members")
    name: Annotated[str, StringConstraints(pattern=TEMPLATE)] = Field(
        description="id of a member: letters, and each number and word once in braces"
    )
    numbers: tuple[SeriesNumber, ...] = Field(min_length=1, max_length=3, description="the numbers of the name")
    words: tuple[SeriesWord, ...] = Field(default=(), description="the words of the name")
    rules: tuple[SeriesRule, ...] = Field(
        min_length=1,
        description="each gives facts of a member; no fact twice. Expressions are of whole numbers, names, + - * ^ and brackets",
    )


class SeriesExample(Part):
    """A hand-checked code and value of a member."""

    member: Id = Field(description="id of the member")
    code: Hex = Field(description="the code")
    value: Exact = Field(description="the value it means")
    why: str | None = Field(default=None, description="what the row shows")


class Series(SpecObject):
    """Formats that differ in a few numbers: each is an object with an id, and none has a file of its own.

    Members stand beside the listed objects: they are found by id, and what goes over every object of a kind leaves them out.
    """

    kind: Literal["series"] = Field(description="the folder the file lies in")
    facts: SeriesFacts = Field(description="names and rules")
    expect: tuple[SeriesExample, ...] = Field(default=(), description="hand-checked examples; only tests and `emu doctor` read them")
