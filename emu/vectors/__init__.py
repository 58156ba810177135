"""Golden vectors: rows that fix every bit of a contract, in files that RTL simulators, C and Python read alike; and their verifier.

build(out) writes the frozen selection or chosen suites; verify(folder) checks files strictly and derives every row again.
Not here: what an operation computes (emu.engines.exact, emu.engines.numpy), testbenches that read the files.
"""

from emu.vectors.build import Built, build
from emu.vectors.files.manifest import VECTORS_VERSION
from emu.vectors.files.suite import Suite, load
from emu.vectors.suites.frozen import selection
from emu.vectors.suites.plan import SuitePlan, find, plans
from emu.vectors.verify import Report, verify
from emu.vectors.versioning import append_rows, apply_erratum, compare

__all__ = [
    "VECTORS_VERSION",
    "Built",
    "SuitePlan",
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
