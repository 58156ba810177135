"""emu.testing.check on the zoo: every wrong kernel is caught, with a small counterexample; no right one is blamed."""

import inspect
import re
import sys

import pytest

from emu.check.report.model import CLASSES
from emu.contracts import form_of
from emu.spec import derive
from emu.testing import check

MOST = 2
SUITES = ("directed", "exhaustive", "stratified")  # and some decisions; the whole of them: tests/check/test_check_wrong_kernels.py
MATRICES = ("x", "codes", "a", "b")


def least(contract):
    """How many answers a check compares at the least: the rows of decode are every code of a format."""
    form = form_of(contract)
    return 1 << derive.codes(form.operands[form.main]).bits if form.op == "decode" else 31


def elements(example):
    """How many elements of a counterexample are not zero, in the fuller of two matrices."""
    found = [example.operands[name].replace("/", " ").split() for name in MATRICES if name in example.operands]  # rows are parted by /
    return max(sum(set(word) != {"0"} for word in words) for words in found)


@pytest.mark.cases(2, 12)
def test_right_kernel_passes(right):
    report = check(right.kernel, right.contract, raises=False, suites=right.suites or SUITES, **right.options)
    assert report.verdict == "pass", report.text()
    assert report.compared >= least(right.contract)


@pytest.mark.cases(1, 10)
def test_wrong_kernel_is_caught(wrong):
    report = check(wrong.kernel, wrong.contract, raises=False, suites=wrong.suites or SUITES, **wrong.options)
    assert report.verdict == "differs", report.text()
    names = [failure.name for failure in report.failures]
    assert set(names) <= set(CLASSES)
    assert set(wrong.says.get("fails", names)) & set(names), report.text()
    assert min(elements(failure.example) for failure in report.failures) <= wrong.says.get("most", MOST), report.text()
    first = report.failures[0].example
    assert first.want != first.got
    assert wrong.contract.split("/")[0] in ("decode", "dequantize", "transform", "dot") or first.steps


def test_table_names_every_kernel(table):
    """A function of kernels_*.py is in the table, or another function of its module uses it; at least fifty are wrong."""
    listed = {(kernel.kernel.__module__, kernel.name) for kernel in table}
    for name in {module for module, _ in listed}:
        source = inspect.getsource(sys.modules[name])
        functions = {item for item, found in inspect.getmembers(sys.modules[name], inspect.isfunction) if found.__module__ == name}
        unused = {item for item in functions if (name, item) not in listed and len(re.findall(rf"\b{item}\b", source)) < 2}
        assert unused == set()
    assert sum(kernel.says is not None for kernel in table) >= 50
    assert len({(kernel.contract, kernel.name) for kernel in table}) == len(table)
