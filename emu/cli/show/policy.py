"""The part of emu show that speaks of policies."""

from __future__ import annotations

from emu.spec import Policy
from emu.spec.models.policy import BySign


def lines(policy: Policy) -> list[str]:
    """Return one line per destination: overflow word, codes of NaN, Inf, zero and negative sources."""
    out = ["", "destination: what becomes of overflow, NaN, Inf, zero, negative (a pair: positive, negative source)"]
    for key, entry in policy.facts.items():
        parts = [f"overflow {entry.overflow}", f"nan {_pair(entry.nan)}"]
        pairs = {"overflow nan": entry.overflow_nan, "inf": entry.inf, "zero": entry.zero}
        parts += [f"{name} {_pair(outcome)}" for name, outcome in pairs.items() if outcome]
        if entry.negative is not None:
            parts.append(f"negative {entry.negative}")
        out.append(f"  {key.replace('_', ' ') if key in ('with_nan', 'without_nan') else key}: {', '.join(parts)}")
    return out


def _pair(outcome: BySign) -> str:
    return outcome.positive if outcome.positive == outcome.negative else f"{outcome.positive} {outcome.negative}"
