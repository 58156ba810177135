"""The table of the zoo and its kernels: right ones and wrong ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
OPTIONS = ("takes", "gives", "scale_layout")


@dataclass(frozen=True)
class Kernel:
    """A row of zoo.yaml.

    options: how the kernel is called.   suites: of check that the group runs; None: all.   says: what the table says of a wrong one.
    """

    name: str
    contract: str
    kernel: Callable[..., Any]
    options: dict[str, Any]
    suites: tuple[str, ...] | None
    says: dict[str, Any] | None

    def __str__(self) -> str:
        return f"{self.contract.replace('/', '-')}-{self.name}"


def module(name: str) -> Any:
    """Return the module kernels_<name>.py of this folder; such modules import each other by name."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(f"kernels_{name}")


def kernels() -> Iterator[Kernel]:
    """Yield all rows of the table."""
    for group in yaml.safe_load((HERE / "zoo.yaml").read_text(encoding="utf-8")):
        found, suites = module(group["kernels"]), tuple(group["suites"]) if "suites" in group else None
        options = {key: group[key] for key in OPTIONS if key in group}
        for name in (*group["right"], *group["wrong"]):
            yield Kernel(name, group["contract"], getattr(found, name), options, suites, group["wrong"].get(name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `right`, `wrong` or `named` every such kernel; named: wrong ones that the table gives a name."""
    every = list(kernels())
    if "right" in metafunc.fixturenames:
        metafunc.parametrize("right", [kernel for kernel in every if kernel.says is None], ids=str)
    for kind, some in (("wrong", every), ("named", [kernel for kernel in every if kernel.says and "is" in kernel.says])):
        if kind in metafunc.fixturenames:
            metafunc.parametrize(kind, [kernel for kernel in some if kernel.says is not None], ids=str)


@pytest.fixture
def table() -> list[Kernel]:
    """All rows of the table."""
    return list(kernels())
