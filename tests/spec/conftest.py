"""Fixtures of the spec tests: a folder of user files in a registry of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from emu.base.errors import SpecError
from emu.spec import loader
from emu.spec.registry import isolated, load_spec, shipped_root

FORMAT = """kind: "format"
id: "t4"
title: "t"
status: "proposed"
facts:
  class: "float"
  signed: "yes"
  exp_bits: 2
  frac_bits: 1
  bias: 1
  subnormals: "yes"
  inf: "none"
  nan: "none"
  neg_zero: "yes"
expect:
  - {code: "0x1", value: "1/2"}
sources: []
"""

RECIPE = """kind: "recipe"
id: "t"
title: "t"
status: "proposed"
facts:
  block: "nvfp4"
  tail: "error"
  arithmetic: {to: "fp32", round: "rne"}
  steps:
    - {out: "block_amax", op: "amax", args: ["x"], nan: "propagate", at: "block"}
    - {out: "scaled", op: "mul", args: ["block_amax", "448"]}
    - {out: "scale", op: "cast", args: ["scaled"], to: "ue4m3"}
    - {out: "scale_value", op: "decode", args: ["scale"]}
    - {out: "y", op: "div", args: ["x", "scale_value"]}
    - {out: "codes", op: "cast", args: ["y"], to: "e2m1", nan: "0x0"}
    - {op: "emit", codes: "codes", levels: {tensor: "tensor_amax", scale: "scale"}}
  dequantize:
    exact:
      - {out: "e", op: "decode", args: ["codes"]}
      - {out: "s", op: "decode", args: ["scale"]}
      - {out: "v", op: "mul", args: ["e", "s"]}
      - {op: "emit", values: "v"}
sources: []
"""

PARSERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]


@pytest.fixture
def own_registry() -> Iterator[None]:
    """The shipped spec in a registry that the test may change."""
    with isolated(shipped_root()):
        yield


@pytest.fixture(params=PARSERS, ids=[parser.__name__ for parser in PARSERS])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each of PyYAML's parsers as the one that files are read with."""
    monkeypatch.setattr(loader, "PARSERS", (request.param,))
    return request.param


@pytest.fixture
def refused(own_registry: None, tmp_path: Path) -> Callable[..., str]:
    """A function: write files into a user's folder, load it, return the one-line message without the folder's path."""

    def load(**texts: str) -> str:
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(SpecError) as caught:
            load_spec(tmp_path)
        message = str(caught.value)
        assert "\n" not in message and message.isprintable()
        return message.removeprefix(f"{tmp_path}/")

    return load


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Correct files to break: a format t4 and a recipe t."""
    return {"format": FORMAT, "recipe": RECIPE}
