"""A comparison of two datapaths as lines people read: the counts, and the smallest example stage by stage, side by side."""

from __future__ import annotations

from typing import Any

from emu.base.errors import OpenError
from emu.contracts.dot.rows import DotRow, answer
from emu.contracts.dot.trace import explain_dot
from emu.contracts.text import dyadic
from emu.engines.exact.value import power_of_two
from emu.explain.compare.datapaths import Comparison, exact_value
from emu.explain.link import of_dot, see
from emu.spec.datapath import DatapathPlan

Data = dict[str, Any]


def verdict(found: Comparison) -> str:
    """Return the outcome in one sentence; no difference is never called equality unless the facts prove it."""
    names = f"{found.first.name} and {found.second.name}"
    if found.same_facts:
        return f"{names} are equal for every input: all facts that decide a bit are the same"
    differ = sum(tally.differ for tally in found.tallies)
    if found.small is None:
        return f"no difference between {names} in {found.tried} rows: that is not a proof of equality"
    return f"{names} differ in {differ} of {found.tried} rows"


def example(row: DotRow, first: DatapathPlan, second: DatapathPlan) -> Data:
    """Return a row on which two datapaths differ: codes, both results, the exact value, both traces and the first stage that differs."""
    out: Data = {"row": row.texts(first), "k": len(row.a), "products": sum(pair != (0, 0) for pair in zip(row.a, row.b, strict=True))}
    out["link"] = of_dot(row, first, second)
    exact = exact_value(row, first)
    out["exact"] = None if exact is None else dyadic(exact)
    traces = [_trace(row, plan) for plan in (first, second)]
    out["traces"] = traces
    out["stages"] = side_by_side(traces[0], traces[1])
    steps = [len(trace["steps"]) for trace in traces]
    changed = [stage for stage in out["stages"] if stage["first"] != stage["second"]]
    out["first_difference"] = (
        f"fused steps: {steps[0]} and {steps[1]}" if steps[0] != steps[1] else changed[0]["stage"] if changed else None
    )
    return out


def _trace(row: DotRow, plan: DatapathPlan) -> Data:
    if answer(row, plan) is None:
        try:
            return explain_dot(row, plan)
        except OpenError as error:
            return {"name": plan.name, "refused": str(error), "steps": [], "d": "refused", "d_value": ""}
    return explain_dot(row, plan)


def side_by_side(first: Data, second: Data) -> list[Data]:
    """Return the stages of two traces, in order of computation: stage, text of the first, of the second ("" where it has none)."""
    left, right = _stages(first), _stages(second)
    names = list(left)
    for place, name in enumerate(right):
        if name not in left:
            before = [item for item in list(right)[:place] if item in names]
            names.insert(names.index(before[-1]) + 1 if before else 0, name)
    return [{"stage": name, "first": left.get(name, ""), "second": right.get(name, "")} for name in names]


def _stages(trace: Data) -> dict[str, str]:
    out: dict[str, str] = {}
    for step in trace["steps"]:
        span = f"elements {step['elements'][0]}..{step['elements'][1]}"
        start = f"step {step['step']} ({span})" if len(trace["steps"]) > 1 else "step 0"
        if step["special"] is not None:
            out[f"{start} special"] = step["special"]["result"]
        out |= {f"{start} {name}": text for name, text in _numbers(step)}
        if "result" in step:
            out[f"{start} result"] = f"{step['result']} = {step['result_value']}"
    if "final" in trace:
        out["end register"] = trace["final"]["register_value"]
    return out | {"D": f"{trace['d']} = {trace['d_value']}"}


def _numbers(step: Data) -> list[tuple[str, str]]:
    """The stages of one step as (name, text); terms whose products are all zero are left out."""
    out: list[tuple[str, str]] = []
    terms = [term for term in step.get("terms", []) if term["products"]]
    for term in terms:
        live = "" if "live" not in term else ", live" if term["live"] else ", not live"
        out.append((f"term of {_span(term)}", f"{term.get('value', term.get('sum_value'))}{live}"))
    exp = step.get("exp")
    if exp is not None and exp["value"] is not None:
        out.append(("E", f"{exp['value']} from {', '.join(exp['from'])}"))
    if "lsb_exp" in step:
        out.append(("unit", f"2^{step['lsb_exp']}"))
    out += [(f"part {part['part']}", f"{part['sum']} at exponent {part['exp']}") for part in step.get("parts", [])]
    moved = [(f"aligned {_span(term)}", term) for term in terms if "lost" in term]
    moved += [("aligned C", step["aligned_c"])] if step.get("aligned_c", {}).get("live") else []
    for name, term in moved:
        kept = dyadic(int(term["aligned"]) * power_of_two(step["lsb_exp"]))
        out.append((name, kept if term["lost"] == "0" else f"{kept}, lost {term['lost']}"))
    for key, name in (("part_value", "P"), ("scale_value", "sa * sb"), ("scaled_value", "term")):
        if key in step:
            out.append((name, step[key]))
    if "sum" in step:
        out.insert(len(out) - ("part_value" in step), ("sum", step["sum"]["value"]))
    return out


def _span(term: Data) -> str:
    first, last = term["elements"]
    return str(first) if first == last else f"{first}..{last}"


def lines_of(found: Comparison) -> list[str]:
    """Return the text of a comparison, without line ends; the table of counts is not in it."""
    out = [verdict(found)]
    if found.small is None:
        return out
    data = example(found.small, found.first, found.second)
    counts = f"K = {data['k']}, {data['products']} product{'s' if data['products'] != 1 else ''}"
    out += ["", f"smallest example found ({counts}; made from {found.origin}):"]
    out += [f"  {name:<3} {text}" for name, text in data["row"].items()]
    out += [f"  exact value {data['exact']}"] if data["exact"] is not None else []
    out += [f"  {line}" for line in see(data["link"])]
    out += ["", f"first stage that differs: {data['first_difference']}", ""]
    rows = [("stage", found.first.name, found.second.name, "")]
    rows += [
        (item["stage"], item["first"] or "-", item["second"] or "-", "" if item["first"] == item["second"] else "<--")
        for item in data["stages"]
    ]
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    out += ["  ".join(f"{row[i]:<{wide[i]}}" for i in range(3)).rstrip() + (f"  {row[3]}" if row[3] else "") for row in rows]
    refused = [trace["refused"] for trace in data["traces"] if "refused" in trace]
    return out + refused
