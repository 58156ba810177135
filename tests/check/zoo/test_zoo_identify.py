"""emu identify on the zoo: a fault that is a documented behaviour gets its name, a right kernel its contract's."""

import pytest

from emu.check.targets.python import python_target
from emu.identify.run import identify


@pytest.mark.cases(1, 5)
def test_documented_fault_gets_its_name(named):
    """A variant or another contract: never only `nearest`."""
    found = identify(python_target(named.kernel, named.contract, **named.options))
    assert found.kind in ("documented", "variant"), found.text()
    assert any(named.says["is"] in name for name in found.found), found.text()
    assert not any(name == named.contract or name == named.contract.partition("/")[2] for name in found.found), found.text()


@pytest.mark.cases(0, 5)
def test_right_kernel_gets_the_name_of_its_contract(right):
    among = [right.contract.removeprefix("dot/")] if right.contract.startswith("dot/") else None
    found = identify(python_target(right.kernel, right.contract, **right.options), among=among)
    assert found.kind == "documented", found.text()
    own = right.contract.rpartition("/")[2]
    assert any(right.contract.endswith(name) or name in right.contract or own in name for name in found.found), found.text()
