"""All records by one command: what runs when, what a kill leaves, what counts as the same record."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from research import everything
from research.everything import Step

FOREVER = float("inf")
DRIVER = """
import sys; sys.path.append({root!r})
from pathlib import Path
from research import everything
sys.exit(len(everything.run([everything.Step("forks", {words!r}, 1)], Path({out!r}), 2, float("inf"), print)))
"""


@pytest.mark.exhaustive  # processes of their own
def test_a_step_that_fails_holds_back_what_waits_for_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = Step("train", ("train", "--list"), 1)
    bad = Step("forks", ("forks", "show", "--record", str(tmp_path / "none.json")), 1)
    last = [Step(part, ("train", "--list", "--quiet"), 0, last=True) for part in ("train", "forks")]
    said: list[str] = []
    assert everything.run([good, bad, *last], tmp_path, 2, FOREVER, said.append) == [bad]
    states = {step: stamp is not None for step, stamp in everything.table([good, bad, *last], tmp_path)}
    assert states == {good: True, bad: False, last[0]: True, last[1]: False}
    assert said.index(f"done: {good.text}") < said.index(f"begun: {last[0].text}")
    assert "no record of forks" in capfd.readouterr().err
    again: list[str] = []
    everything.run([good, bad, *last], tmp_path, 1, FOREVER, again.append)
    assert again == [f"begun: {bad.text}", f"failed: {bad.text}"]  # what is done is not run again


def test_nothing_begins_after_the_end(tmp_path: Path) -> None:
    assert not everything.run([Step("train", ("train", "--list"), 1)], tmp_path, 1, time.monotonic(), print)
    assert not list((tmp_path / "done").iterdir())


def test_every_step_is_a_command_and_every_record_is_made(tmp_path: Path) -> None:
    from research.__main__ import COMMANDS

    found = everything.steps(tmp_path)
    assert {step.words[0] for step in found} <= set(COMMANDS)
    assert {step.part for step in found} == set(everything.RECORDS)
    for name in everything.RECORDS.values():
        assert any(str(tmp_path / name) in step.words for step in found)
        assert (everything.ROOT / everything.EVIDENCE / name).is_file()


def test_a_record_is_the_same_but_for_its_seconds(tmp_path: Path) -> None:
    one, other, third = (tmp_path / f"{number}.json" for number in range(3))
    for path, metric, seconds in ((one, 1, 2.0), (other, 1, 3.0), (third, 2, 2.0)):
        path.write_text(json.dumps({"runs": [{"metric": metric, "seconds": seconds}]}), encoding="utf-8")
    assert everything.same(one, other)
    assert not everything.same(one, third)


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.environ.get("EMU_NEED_TORCH") and importlib.util.find_spec("torch") is None, reason="no torch here")
def test_a_killed_run_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY, encoding="utf-8")

    def started(out: Path) -> subprocess.Popen[bytes]:
        out.mkdir(exist_ok=True)
        words = ("forks", "run", "--config", str(config), "--out", str(out / "runs"), "--record", str(out / "forks.json"))
        code = DRIVER.format(root=str(everything.ROOT), words=words, out=str(out))
        return subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = started(killed)
    while process.poll() is None and not list(killed.rglob("draw0.json")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()  # ends when the step does, which has the other end of stderr too: nothing is left running
    assert not list((killed / "done").iterdir())
    some = len(list(killed.rglob("draw*.json")))
    assert some
    for out in (killed, whole):
        assert started(out).communicate()[1] is not None
    assert len(list(killed.rglob("draw*.json"))) > some
    assert (killed / "forks.json").read_bytes() == (whole / "forks.json").read_bytes()


TINY = """\
kind: "forks"
id: "tiny"
title: "small forks"
corpus: {packages: ["click"], validation_every: 5, digest: "0000000000000000000000000000000000000000000000000000000000000000"}
batch: 2
context: 32
held_out: 4
base:
  steps: 4
  optimizer: {lr: "0.004", final_lr: "0.0005", warmup: 2, betas: ["0.9", "0.95"], weight_decay: "0.1", clip: "1.0"}
fork:
  steps: 3
  optimizer: {lr: "0.0005", final_lr: "0.00005", betas: ["0.9", "0.95"], weight_decay: "0.1", clip: "1.0"}
models:
  dense: {width: 32, layers: 1, heads: 2, hidden: 32}
grids:
  - {part: "primary", models: ["dense"], trainings: ["bf16", "ufp4", "e2m1_baseline"], seeds: [0, 1], forks: [0], draws: [0, 1]}
primary: {figure: "kl", better: "ufp4", worse: "e2m1_baseline", claim: "a claim"}
"""
