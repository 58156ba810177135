"""The stages of one fused step, as every kind of datapath leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.engines.exact.datapath_special import Special
from emu.engines.exact.datapath_terms import Term, Triple


@dataclass(frozen=True)
class Step:
    """One fused step. What a kind of datapath does not have stays None or empty.

    code: of the result (= C of the next step; 0 while a register accumulates).   terms: exact.   c: the addend.
    exp: E.   aligned, aligned_c, total: integers in units of 2^lsb_exp (total: the register, where one runs through K).
    parts: partial sums (late_c), or their codes (late_c add, promote).   scale_codes, term_codes: promote.
    special: NaN or infinity decided.
    """

    code: int
    terms: list[Term] = field(default_factory=list)
    c: Triple | None = None
    exp: int | None = None
    aligned: list[int] = field(default_factory=list)
    aligned_c: int | None = None
    total: int | None = None
    lsb_exp: int | None = None
    parts: list[int] = field(default_factory=list)
    scale_codes: list[int] = field(default_factory=list)
    term_codes: list[int] = field(default_factory=list)
    special: Special | None = None
