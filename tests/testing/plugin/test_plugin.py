"""The pytest plugin, seen by a project that uses it: the example project is copied and its tests run against the installed emu."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path
from shutil import copytree

import pytest

PROJECT = Path(__file__).parent / "project"


def run(folder, *arguments):
    command = [sys.executable, "-c", "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copytree(PROJECT, tmp_path_factory.mktemp("user") / "project", ignore=lambda *_: ["__pycache__"])


@pytest.fixture(scope="module")
def outcome(project):
    """One run of the example project: exit status, output, its JUnit file."""
    code, text = run(project, "-v", "--emu-junit", "emu.xml")
    return code, text, project / "emu.xml"


@pytest.mark.exhaustive
def test_conforming_kernel_passes_and_wrong_one_fails(outcome):
    code, text, _ = outcome
    assert code == 1
    assert "tests/test_kernels.py::right PASSED" in text
    assert "tests/test_kernels.py::wrong FAILED" in text
    assert "1 failed, 3 passed, 2 skipped" in text, text


def test_failure_shows_the_smallest_counterexample_and_no_traceback(outcome):
    _, text, _ = outcome
    shown = text.partition("= FAILURES =")[2]
    assert shown.partition("_\n")[2].startswith("DIFFERS in ") and ": wrong against quantize/mxfp4_torchao_floor\n" in shown
    assert "tie: exactly half way between two codes" in shown
    tie = shown.partition("tie: exactly half way")[2]
    words = re.search(r"^ +x +([0-9A-F ]+)$", tie, re.MULTILINE)[1].split()
    assert len(words) == 32 and 1 <= sum(word != "00000000" for word in words) <= 2
    answer = re.search(r"codes\[0, \d+\]: contract says 0x\w \(\S+\), kernel gave 0x\w \(\S+\)", tie)
    assert answer and answer.start() < tie.index("smallest counterexample") and tie.index("smallest") < shown.index("judged by")
    assert "Traceback" not in shown and "conformance.py" not in shown


@pytest.mark.exhaustive  # a process of its own
def test_the_short_summary_holds_verdict_and_counterexample(project):
    """At the 80 columns of a build log."""
    _, text = run(project, "tests/test_kernels.py", "-q", "--no-header")
    summary = text.rpartition("short test summary info")[2]
    line = next(line for line in summary.splitlines() if line.startswith("FAILED"))
    assert re.search(r"::wrong - AssertionError: DIFFERS in \d+", line), line


@pytest.mark.exhaustive  # a process of its own
def test_a_failed_check_shows_no_source_of_emu(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import emu.testing\n\n\ndef test_mine():\n"
        "    emu.testing.check(lambda x: (x * 0).astype('u1'), 'convert/e2m1/rne/nvidia', suites=['directed'])\n"
    )
    code, text = run(tmp_path, "test_mine.py")
    assert code == 1 and "conformance.py" not in text and "run_check" not in text, text
    shown = text.partition("= FAILURES =")[2]
    assert re.search(r"^E +AssertionError: DIFFERS in \d+ of \d+ codes \(\w+: ", shown, re.MULTILINE), shown


def test_marks_count_for_each_contract_of_a_kernel(outcome):
    _, text, _ = outcome
    assert "later[quantize/mxfp4_torchao_even] SKIPPED" in text
    assert "later[quantize/mxfp4_torchao_ceil] SKIPPED" in text


def test_reports_are_written_as_junit(outcome):
    suites = ET.parse(outcome[2]).getroot()
    assert suites.tag == "testsuites" and len(suites) == 2
    assert [int(suite.get("failures")) > 0 for suite in suites] == [False, True]


@pytest.mark.exhaustive  # processes of their own
def test_reports_of_workers_reach_the_file(project):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    code, text = run(project, "-q", "-n", "2", "--emu-junit", "workers.xml", "tests/test_kernels.py::right", "tests/test_kernels.py::wrong")
    assert code == 1, text
    assert len(ET.parse(project / "workers.xml").getroot()) == 2


@pytest.mark.exhaustive  # a process of its own
def test_options_reach_the_check(project):
    code, text = run(project, "-q", "--emu-count", "200000", "--emu-seconds", "60", "tests/test_kernels.py::wrong")
    assert code == 1
    stratified = next(line for line in text.splitlines() if "stratified:" in line)
    assert int(stratified.split()[1]) >= 200000


def test_plugin_is_registered_and_light():
    """A run of pytest without kernels imports nothing of emu but the plugin: no NumPy, Hypothesis or torch."""
    assert [entry.value for entry in entry_points(group="pytest11", name="emu")] == ["emu.testing.plugin"]
    code = (
        "import sys, emu.testing.plugin, emu.testing\n"
        "loaded = {name.partition('.')[0] for name in sys.modules} & {'numpy', 'hypothesis', 'torch', 'pydantic', 'yaml'}\n"
        "assert not loaded, loaded\n"
        "assert sorted(name for name in sys.modules if name.startswith('emu')) == ['emu', 'emu.base', 'emu.base.forks', "
        "'emu.testing', 'emu.testing.plugin']"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_missing_library_is_named_when_it_is_used():
    code = (
        "import sys\n"
        "sys.modules['hypothesis'] = sys.modules['pytest'] = None\n"
        "import emu.testing\n"
        "assert callable(emu.testing.check) and callable(emu.testing.conforms)\n"
        "assert emu.testing.strategies.decision_points('e2m1')\n"
        "try:\n    emu.testing.strategies.blocks\n"
        "except ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout == "emu.strategies.blocks needs hypothesis: pip install hypothesis\n"


@pytest.mark.exhaustive  # a process of its own
def test_a_wrong_declaration_says_so_when_the_test_runs(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import emu.testing\n\n@emu.testing.conforms('quantize/nvfp5')\ndef kernel(x):\n    return x\n", encoding="utf-8"
    )
    code, text = run(tmp_path, "-q", "test_one.py")
    assert code == 1
    assert "nvfp5" in text and "SpecError" in text


def test_a_decorated_kernel_is_still_the_kernel():
    import emu.testing

    @emu.testing.conforms("convert/e2m1/rz/nvidia")
    @emu.testing.conforms("convert/e2m1/rne/nvidia", takes="numpy.fp32")
    def kernel(x):
        """Doubles."""
        return 2 * x

    assert kernel(3) == 6
    assert kernel.__name__ == "kernel" and kernel.__doc__ == "Doubles."
    assert [case.contract for case in kernel.cases] == ["convert/e2m1/rz/nvidia", "convert/e2m1/rne/nvidia"]
    assert [case.options for case in kernel.cases] == [{}, {"takes": "numpy.fp32"}]
