"""The frame of the command: exit codes, one line an error, options before or after the name, versions."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import emu
from emu.cli.main import COMMANDS, run


def call(capsys, *words):
    code = run([str(word) for word in words])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_version(capsys):
    code, out, err = call(capsys, "--version")
    assert (code, out.split()[-1], err) == (0, emu.__version__, "")


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "words", [["convert", "e2m1", "5", "0.25"], ["show", "ue1m0"], ["--help"], [], ["nonsense"], ["convert", "e2m1", "abc"]]
)
def test_python_m_emu_is_the_command(capsys, tmp_path, words):
    done = subprocess.run([sys.executable, "-P", "-m", "emu", *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == call(capsys, *words)


def test_help_names_every_command(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command(capsys, name):
    code, out, err = call(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: emu {name}")


def test_no_command_is_misuse(capsys):
    code, out, err = call(capsys)
    assert (code, out) == (2, "")
    assert "Usage: emu" in err


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["list", "nonsense"],
        ["list", "--nonsense"],
        ["show"],
        ["show", "nvfp4_te_reff"],
        ["show", "format/zzz"],
        ["show", "zzz/e2m1"],
        ["convert", "e2m1"],
        ["convert", "e2m1", "abc"],
        ["convert", "e2m2", "1"],
        ["convert", "e2m1", "1", "--rounding", "sideways"],
        ["convert", "e2m1", "1", "--policy", "sideways"],
        ["convert", "e2m1", "1", "--engine", "steam"],
        ["convert", "e2m1", "1", "--random", "5"],
        ["convert", "e2m1", "0x123456789"],
        ["convert", "e2m1", "1", "--out", "x.npy"],
        ["quantize", "none.npy", "-r", "hif4"],
        ["quantize", "none.npy"],
        ["dequantize", "none.safetensors"],
        ["analyze", "none.npy"],
        ["analyze", "none.npy", "--signs", "often"],
        ["--spec", "no_such_folder", "list"],
        ["list", "--spec", "no_such_folder"],
    ],
)
def test_misuse_is_one_line_and_two(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("emu: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_options_stand_before_or_after(capsys):
    before, after = call(capsys, "--json", "list", "roundings"), call(capsys, "list", "roundings", "--json")
    assert before == after
    assert "rne" in [row["id"] for row in json.loads(before[1])]


def process(*words, cwd=None, env=None):
    return [sys.executable, "-P", "-c", "from emu.cli.main import main; main()", *map(str, words)], {"cwd": cwd, "env": env}


def spawn(*words, cwd=None, env=None):
    command, options = process(*words, cwd=cwd, env=env)
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_exit_code_of_the_process():
    assert spawn("convert", "e2m1", "1").returncode == 0
    done = spawn("convert", "e2m1", "abc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("emu: 'abc' is no number")


def test_closed_pipe_is_no_traceback():
    command, _ = process("list")
    done = subprocess.run(f"{' '.join(map(repr, command))} | true", shell=True, capture_output=True, text=True)
    assert done.stderr == ""


def test_bad_spec_path_is_one_line(tmp_path):
    (tmp_path / "recipe.yaml").write_text('kind: "recipe"\nid: [')
    done = spawn("list", env={**os.environ, "EMU_SPEC_PATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith("emu: ")
    assert done.stderr.count("\n") == 1
    assert "recipe.yaml" in done.stderr


def test_termination_leaves_no_file(tmp_path):
    """A process stopped while it writes: nothing stays, whether files without a name exist here or not."""
    code = (
        "import os\nif hasattr(os, 'O_TMPFILE'): del os.O_TMPFILE\n"
        "import emu.cli.convert as c, time, sys\n"
        "import emu.files.writers as w\n"
        "def slow(self, name, array):\n    self.stream.write(b'x'); self.stream.flush(); print('writing', flush=True); time.sleep(60)\n"
        "w._NpyWriter.put = slow\n"
        "import numpy as np; np.save('x.npy', np.zeros(4, np.float32))\n"
        "sys.argv = ['emu', 'convert', 'e2m1', 'x.npy', '--out', 'y.npy']\n"
        "from emu.cli.main import main; main()\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "writing\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_interrupt_is_one_line(tmp_path):
    code = (
        "import signal, time, sys\nimport emu.cli.list as c\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job ignores it from the start
        "def wait(kind):\n    print('waiting', flush=True); time.sleep(60)\n"
        "c.command.callback = lambda kind: wait(kind)\n"
        "sys.argv = ['emu', 'list']\nfrom emu.cli.main import main; main()\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "waiting\n"
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert running.stderr.read().strip() == "emu: interrupted: no file is half-written"


def started(tmp_path, body, **streams):
    """The installed command in a process of its own, after some lines of Python."""
    code = f"import sys\n{body}\nfrom emu.cli.start import main; main()\n"
    return subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **streams
    )


BROKEN = "import emu.cli.list as c\ndef callback(**_): {}['x']\nc.command.callback = callback\nsys.argv = ['emu', 'list']"


def test_a_fault_of_emu_is_one_line_that_asks_for_a_report(tmp_path, monkeypatch):
    done = started(tmp_path, BROKEN)
    assert done.returncode == 2
    assert done.stderr.startswith("emu: unexpected KeyError in ")
    assert "please report" in done.stderr
    assert done.stderr.count("\n") == 1
    monkeypatch.setenv("EMU_TRACEBACK", "1")
    told = started(tmp_path, BROKEN)
    assert told.returncode == 1
    assert "Traceback" in told.stderr


def test_what_is_no_exception_is_one_line_too(tmp_path):
    """Extensions written in Rust panic with a class of their own under BaseException."""
    done = started(tmp_path, BROKEN.replace("{}['x']", "raise type('PanicException', (BaseException,), {})('mmap')"))
    assert done.returncode == 2
    assert done.stderr.startswith("emu: unexpected PanicException")


def test_a_long_word_is_not_echoed_whole(capsys):
    code, out, err = call(capsys, "show", "e" * 100_000)
    assert (code, out) == (2, "")
    assert len(err) < 1000
    assert " ... " in err


@pytest.mark.exhaustive
def test_closed_streams(tmp_path):
    """A caller may close stdout or stderr: the exit code is still the verdict, and no traceback appears."""
    for closed, words in (("stdout", ["list"]), ("stdout", ["convert", "e2m1", "5"]), ("stderr", ["list"])):
        number = 1 if closed == "stdout" else 2
        done = started(tmp_path, f"sys.argv = ['emu', *{words}]", preexec_fn=lambda number=number: os.close(number))
        assert (done.returncode, done.stderr) == (0, "")
    assert started(tmp_path, "sys.argv = ['emu', 'show', 'zzz']", preexec_fn=lambda: os.close(1)).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = started(tmp_path, "sys.argv = ['emu', 'list']", stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("emu: system: No space left")
    assert done.stderr.count("\n") == 1


def test_no_reader_is_no_verdict(tmp_path):
    """A command whose output nobody reads any more must not look like a pass."""
    read, write = os.pipe()
    os.close(read)
    done = started(tmp_path, "sys.argv = ['emu', 'list']", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path):
    body = (
        "import builtins\nreal = builtins.__import__\n"
        "def stop(name, *rest):\n    if name == 'rich.console': raise KeyboardInterrupt\n    return real(name, *rest)\n"
        "builtins.__import__ = stop\nsys.argv = ['emu', 'list']"
    )
    done = started(tmp_path, body)
    assert (done.returncode, done.stderr) == (130, "emu: interrupted: no file is half-written\n")
