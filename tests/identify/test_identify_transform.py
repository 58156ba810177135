"""identify of rotations: every documented one is itself; signs, factor, order of additions and result of others are read."""

import numpy as np
import pytest

from emu.identify.run import identify
from emu.spec import get, names


def changed(name, **facts):
    model = get("transform", name)
    return model.model_copy(update={"facts": model.facts.model_copy(update=facts)})


@pytest.mark.parametrize("source", ["bf16", "fp32"])
@pytest.mark.parametrize("name", names("transform"))
def test_a_rotation_is_itself(transform_target, name, source):
    found = identify(transform_target(get("transform", name), source))
    assert found.kind == "documented" and found.found == (name,)
    assert all(pair.verdict == "separated" and pair.operands for pair in found.pairs)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"signs": "0x1234"}, "0x1234, of no documented rotation"),
        ({"scale": "1/8"}, "factor 1/8"),
        ({"sum": "butterfly"}, "butterfly sum in fp32, signs 0xD7E8, factor 1/4, result bf16"),
    ],
)
def test_axes_of_a_rotation_are_read(transform_target, facts, said):
    found = identify(transform_target(changed("rht16_te", **facts)))
    assert found.kind == "variant" and said in [axis.finding for axis in found.axes], found.text()


def test_another_matrix_is_said(transform_target):
    class Rolled(transform_target):
        def __call__(self, operands):
            return {"values": np.ascontiguousarray(np.roll(super().__call__(operands)["values"], 1, axis=1))}

    found = identify(Rolled(get("transform", "rht16_te")))
    assert found.kind == "nearest" and found.axes[0].finding.startswith("no Hadamard matrix") and found.departures


@pytest.mark.parametrize(("wants", "kind"), [(("signs",), "nearest"), ((), "documented")])
def test_signs_that_are_wanted_and_ignored_depart(transform_target, wants, kind):
    target = transform_target(get("transform", "rht16_ufp4"))
    target.wants = wants
    found = identify(target)
    assert (found.kind, found.exit_code, found.found) == (kind, int(kind == "nearest"), ("rht16_ufp4",)), found.text()
    assert [row.operands.get("signs") for row in found.departures][:1] == (["00001235"] if wants else [])
    assert (found.agreed < found.asked) == bool(wants)


@pytest.mark.parametrize("facts", [{}, {"scale": "1/8"}])
def test_a_rotation_is_confirmed_by_rows_that_were_not_used_to_find_it(transform_target, facts):
    class Rarely(transform_target):
        def __call__(self, operands):
            found, x = super().__call__(operands)["values"].copy(), operands["x"]
            found[(x[:, 3] & 0xF == 0xB) & (x[:, 5] & 0xF == 0x6), 0] ^= 1
            return {"values": found}

    found = identify(Rarely(changed("rht16_te", **facts) if facts else get("transform", "rht16_te")))
    assert found.kind == "nearest" and found.departures and found.agreed < found.asked, found.text()
    assert set(found.found) <= set(names("transform"))
