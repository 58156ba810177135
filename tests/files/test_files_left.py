"""What killed processes leave: the next of the same name removes it, and nothing that lives, is linked, or has another form or owner."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.writing import ROOT

from emu.base.atomic import folder_beside, temporary_folder, whole_file

WAYS = {
    "whole": "whole_file(Path('out'))",
    "replaced": "whole_file(Path('out'), force=True)",
    "folder": "folder_beside(Path('out'))",
    "temporary": "temporary_folder('test')",
}
PROGRAM = """
import os, signal, sys
from pathlib import Path
from emu.base.atomic import folder_beside, temporary_folder, whole_file
with {way} as made:
    if isinstance(made, Path): (made / "inner").mkdir(), (made / "inner" / "file").write_bytes(b"x")
    print("made", flush=True)
    sys.stdin.read(1)
"""
TOKEN = "0123456789abcdef"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that is the working and the temporary one, of systems that give every file a name while it is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return tmp_path


def started(way: str) -> subprocess.Popen[bytes]:
    """A process in the middle of writing."""
    program = "import os\nvars(os).pop('O_TMPFILE', None)\n" + PROGRAM.format(way=WAYS[way])
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"made\n"
    return process


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def make(way: str) -> None:
    with eval(WAYS[way]):
        pass


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("way", WAYS)
def test_the_next_removes_what_is_dead_and_only_that(place, way):
    living, dead = started(way), started(way)
    held = names(place)
    ended(dead)
    assert len(held) == 2 and names(place) == held, "a kill should leave something, or this asks nothing"
    make(way)
    kept = names(place) - {"out"}
    assert len(kept) == 1 and kept < held
    assert living.communicate(b"x") and living.returncode in (0, 1)  # 1: the name is taken meanwhile
    make(way) if way != "whole" else None
    assert names(place) <= {"out"}


@pytest.mark.parametrize(("way", "form"), [("replaced", ".out.{}.part"), ("folder", ".out.{}.part"), ("temporary", "emu-test-{}")])
def test_nothing_else_is_removed(place, way, form):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "file").write_bytes(b"x")
    (place / form.format(TOKEN)).symlink_to(place / "elsewhere")
    os.mkfifo(place / form.format(TOKEN[::-1]))
    others = [form.format(end) for end in ("", TOKEN[1:], TOKEN + "0", TOKEN.upper(), "g" * 16)]
    others += ["x" + form.format(TOKEN), form.format(TOKEN) + "x", form.replace("out", "other").replace("test", "other").format(TOKEN)]
    for name in others:
        (place / name).mkdir()
    (place / form.format("1" * 16)).mkdir()
    (place / form.format("1" * 16) / "link").symlink_to(place / "elsewhere")
    make(way)
    assert names(place) - {"out"} == {"elsewhere", form.format(TOKEN), form.format(TOKEN[::-1]), *others}
    assert names(place / "elsewhere") == {"file"}


@pytest.mark.parametrize("reason", ["owner", "no locks"])
def test_what_is_of_others_or_cannot_be_locked_stays(place, monkeypatch, reason):
    left = place / f".out.{TOKEN}.part"
    left.mkdir()
    if reason == "owner":
        number = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: number)
    else:

        def unsupported(_handle, _how):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(fcntl, "flock", unsupported)
    make("folder")
    make("replaced")
    assert names(place) == {left.name, "out"}


def test_what_is_found_before_it_is_locked_is_made_again(place, monkeypatch):
    """Another process removes the folder between its making and its lock."""
    flock, seen = fcntl.flock, []

    def late(handle, how):
        if not seen:
            seen.append(1)
            next(place.glob(".out.*")).rmdir()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with folder_beside(place / "out") as work:
        assert seen and work.is_dir()
        (work / "file").write_bytes(b"x")
    assert names(place) == set()


def test_a_child_holds_what_its_parent_held(place):
    """A worker of a killed command may still write: what it writes into stays until it ends."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException), temporary_folder("test"):
            child = os.fork()
            if child:
                os.write(writer, str(child).encode())
                os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
        os._exit(0)
    child = int(os.read(reader, 20))
    os.waitpid(pid, 0)
    make("temporary")
    assert len(names(place)) == 1
    os.kill(child, signal.SIGKILL)
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2][:3]:
        pass
    make("temporary")
    assert names(place) == set()


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"])
def test_a_folder_that_a_process_keeps_goes_with_it(place, end):
    program = "from contextlib import ExitStack\nfrom emu.base.atomic import temporary_folder\n"
    program += f"kept = ExitStack()\nplace = kept.enter_context(temporary_folder('test'))\n(place / 'x').mkdir()\n{end}\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert names(place) == set()
    assert "ignored" not in done.stderr


def test_a_killed_compiler_of_the_explorer_leaves_nothing_after_the_next(place):
    """The compiler is a script that waits, and puts a file where a compiler has its own."""
    (place / "bin").mkdir()
    (place / "tmp").mkdir()
    for name in ("clang", "wasm-ld"):
        (place / "bin" / name).write_text(f'#!/bin/sh\n: > "$TMPDIR/scrap.o"\n[ -e {place}/go ] || exec sleep 60\nexit 1\n')
        (place / "bin" / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(place / "tmp")}
    command = [sys.executable, "-m", "emu", "explore", "--out", "page.html"]
    first = subprocess.Popen(command, env=environment, start_new_session=True)
    while not [*(place / "tmp").glob("*/scrap.o")]:
        assert first.poll() is None, "it ended before it compiled"
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert names(place / "tmp"), "a kill should leave something, or this asks nothing"
    (place / "go").touch()
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 5
    assert names(place / "tmp") == set() and names(place) == {"bin", "tmp", "go"}


def test_every_temporary_folder_of_the_package_is_made_in_one_place():
    """Where else a temporary name is made, nobody would remove what a kill leaves. A file without a name leaves nothing."""
    made = re.compile(r"\b(mkdtemp|mkstemp|mktemp|TemporaryDirectory|NamedTemporaryFile)\b")
    assert [str(path) for path in sorted((ROOT / "emu").rglob("*.py")) if made.search(path.read_text(encoding="utf-8"))] == []


assert whole_file  # used by WAYS
