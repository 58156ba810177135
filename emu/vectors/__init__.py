"""Golden vectors: rows that fix every bit of a contract, in files that RTL simulators, C and Python read alike; and their verifier.

build(out) writes the frozen selection or chosen suites; verify(folder) checks files strictly and derives every row again.
Not here: what an operation computes (emu.exact, emu.fast), testbenches that read the files.
"""

from emu.vectors.build import Built, build
from emu.vectors.frozen import selection
from emu.vectors.names import VECTORS_VERSION
from emu.vectors.plan import Plan, find, plans
from emu.vectors.suite import Suite, load
from emu.vectors.verify import Report, verify
from emu.vectors.versioning import append_rows, apply_erratum, compare

__all__ = [
    "VECTORS_VERSION",
    "Built",
    "Plan",
    "Report",
    "Suite",
    "append_rows",
    "apply_erratum",
    "build",
    "compare",
    "find",
    "load",
    "plans",
    "selection",
    "verify",
]
