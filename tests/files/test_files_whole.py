"""whole_file: the file appears complete or not at all, whatever goes wrong in between."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from emu.base.errors import FileError
from emu.files import whole_file


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, data, error=None, before_the_end=lambda: None, force=False):
    with whole_file(path, force) as stream:
        stream.write(data)
        stream.flush()
        before_the_end()
        if error is not None:
            raise error


@pytest.fixture(params=["nameless", "hidden"])
def way(request, monkeypatch):
    """Both ways to write: a file without a name, and the hidden one of systems that lack it."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def test_file_appears_when_the_block_ends(tmp_path, way):
    with whole_file(tmp_path / "out") as stream:
        stream.write(b"abc")
        assert "out" not in names(tmp_path)
    assert (tmp_path / "out").read_bytes() == b"abc"
    assert names(tmp_path) == ["out"]


def test_mode_is_that_of_a_new_file(tmp_path, way):
    with whole_file(tmp_path / "out") as stream:
        stream.write(b"abc")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(143)], ids=["error", "interrupt", "terminated"])
def test_nothing_is_left_after_an_error(tmp_path, way, error):
    with pytest.raises(type(error)):
        write(tmp_path / "out", b"abc", error)
    assert names(tmp_path) == []


def test_existing_file_is_kept(tmp_path, way):
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(FileError, match="exists already"), whole_file(tmp_path / "out"):
        pytest.fail("the block must not run")
    assert (tmp_path / "out").read_bytes() == b"old"


def test_file_that_appears_meanwhile_is_kept(tmp_path, way):
    with pytest.raises(FileError, match="exists already"):
        write(tmp_path / "out", b"new", before_the_end=lambda: (tmp_path / "out").write_bytes(b"old"))
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"old"


def test_force_replaces_and_an_error_keeps_the_old_one(tmp_path, way):
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(ValueError, match="x"):
        write(tmp_path / "out", b"new", ValueError("x"), force=True)
    assert (tmp_path / "out").read_bytes() == b"old"
    with whole_file(tmp_path / "out", force=True) as stream:
        stream.write(b"new")
    assert (tmp_path / "out").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_full_disk_is_one_error(tmp_path, way, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="out: cannot write: No space left on device"), whole_file(tmp_path / "out") as stream:
        stream.write(b"abc")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("name", "message"), [("", "is a folder"), ("none/out", "no such folder")])
def test_impossible_targets_are_refused(tmp_path, name, message):
    with pytest.raises(FileError, match=message), whole_file(tmp_path / name):
        pytest.fail("the block must not run")


def run(tmp_path, body):
    code = "import os, signal\nfrom emu.files import whole_file\n" + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path / "out")], capture_output=True, text=True, cwd=tmp_path)


def test_kill_in_the_middle_leaves_nothing(tmp_path):
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except (OSError, AttributeError):
        pytest.skip("this file system has no files without a name: a kill leaves a hidden .part file")
    done = run(tmp_path, "with whole_file('out') as s:\n    s.write(b'x' * 100000); s.flush(); os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == []


def test_size_limit_is_one_error(tmp_path):
    done = run(
        tmp_path,
        """
        import resource
        from emu.base.errors import FileError
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            with whole_file('out') as stream:
                stream.write(b'x' * 100000)
        except FileError as error:
            print(error)
        """,
    )
    assert done.stdout == "out: cannot write: File too large: nothing was left there\n", done.stderr
    assert names(tmp_path) == []
