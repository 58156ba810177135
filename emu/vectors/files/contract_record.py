"""The `contract` and `generator` objects of the JSON file: which rules the rows follow, and how to make them again."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from emu.spec.models import SpecObject
from emu.vectors.suites.plan import SuitePlan

KEYS: Final = (
    "rounding",
    "overflow",
    "nan",
    "inf",
    "zero_sign",
    "subnormals_in",
    "subnormals_out",
    "scale_signbit",
    "flags",
    "sr",
    "datapath",
)
STATUSES: Final = ("standard", "measured", "vendor", "source-code", "paper", "reported", "proposed", "inferred", "unknown")
DISTRIBUTION: Final = "fp4emu"


def contract_record(plan: SuitePlan) -> dict[str, Any]:
    """Return the `contract` object: names, digest, weakest status, rules as data, open points, sources."""
    contract = plan.operation.name
    objects: tuple[SpecObject, ...] = contract.objects
    rules = {"flags": "none"} | plan.operation.described()
    status = max((item.status for item in objects), key=STATUSES.index)
    return {
        "name": str(contract),
        "spec": list(contract.spec),
        "spec_sha256": contract.spec_sha256,
        "status": status,
        **{key: rules.get(key) for key in KEYS},
        "open": [point.what for item in objects for point in item.open],
        "sources": list(dict.fromkeys(source.ref for item in objects for source in item.sources)),
    }


def generator_record(plan: SuitePlan, exact_rows: int, agreed: list[str]) -> dict[str, Any]:
    """Return the `generator` object. agreed: the engines that derived every row as well."""
    return {
        "name": DISTRIBUTION,
        "version": _version(),
        "command": command(plan),
        "oracle": "exact",
        "exact_rows": exact_rows,
        "agreed": agreed,
    }


def command(plan: SuitePlan) -> str:
    """Return the command that makes a suite again."""
    return f"emu vectors build --out DIR --contract {plan.operation.name} --suite {plan.suite}"


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
