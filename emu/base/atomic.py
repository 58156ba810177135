"""Files and folders that appear whole or not at all. Not here: their content."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from emu.base.errors import FileError
from emu.base.in_use import writes


def check_target(path: Path, force: bool) -> None:
    """Refuse a path that cannot become a new file.

    Raises: FileError (exists without force, no folder, a folder itself; what the command reads, with force or without).
    """
    if path.is_dir():
        raise FileError(f"{path}: is a folder: name a file")
    writes(path)
    if os.path.lexists(path) and not force:
        raise FileError(f"{path}: exists already: name another file, or say --force")
    if not path.parent.is_dir():
        raise FileError(f"{path}: no such folder {path.parent}: make it first")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], force: bool = False) -> Iterator[IO[bytes]]:
    """Open a new binary file that gets its name only when the block ends without an error.

    path: the final name; its folder must exist.   force: may an existing file be replaced (in one step).
    The bytes go to a file without a name in the same folder (where the system has none: to a hidden one that an error removes), are synced
    to disk and then named: a reader sees the old file or the whole new one, and a kill leaves nothing behind.
    Raises: FileError (exists, unwritable, disk full).   Tests: tests/files/test_files_whole.py.
    """
    target = Path(path)
    check_target(target, force)
    with _hidden(target) as hidden:
        nameless = _nameless(target.parent)
        with nameless or hidden.open("x+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if nameless:
                _name(stream.fileno(), hidden if force else target)
        if force:
            writes(target)  # what was there may have been opened since
            os.replace(hidden, target)
        elif not nameless:
            os.link(hidden, target)
        _sync_folder(target.parent)


@contextlib.contextmanager
def folder_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new hidden folder in the folder of a path, for what is renamed to it when all of it is written.

    path: the final name.   What is left of the hidden folder when the block ends, by an error or not, is removed.
    Raises: FileError (unwritable, disk full, the name taken meanwhile).   Tests: tests/files/test_files_faults.py.
    """
    with _hidden(Path(path)) as hidden:
        hidden.mkdir()
        yield hidden


def write_text(path: str | os.PathLike[str], text: str, force: bool = False) -> None:
    """Write a text as UTF-8, whole or not at all. Raises: as whole_file."""
    with whole_file(path, force) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def _hidden(target: Path) -> Iterator[Path]:
    """Yield a hidden name in the folder of the target; in the end, what bears it is removed. Raises: FileError.

    The name is known before anything bears it, and an interrupt in the middle of the removal does not end it: at no place is a file left.
    """
    hidden = target.parent / f".{target.name[:50]}.{secrets.token_hex(8)}.part"
    try:
        yield hidden
    except OSError as error:
        raise _failed(target, error) from None
    finally:
        try:
            _remove(hidden)
        finally:
            _remove(hidden)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _failed(target: Path, error: OSError) -> FileError:
    if error.errno == errno.EEXIST:
        return FileError(f"{target}: exists already: name another file, or say --force")
    if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR):
        return FileError(f"{target}: exists already: name a new one")
    return FileError(f"{target}: cannot write: {error.strerror or error}: nothing was left there")


def _nameless(folder: Path) -> IO[bytes] | None:
    """Return a new file without a name, None where the system or the file system has none."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        try:
            return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666), "w+b")
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
    return None


def _name(handle: int, new: Path) -> None:
    """Give an unnamed file its name. Raises: OSError (EEXIST)."""
    folder = os.open(new.parent, os.O_RDONLY | os.O_DIRECTORY)  # with a folder, Python asks for the file behind the link in /proc
    try:
        os.link(f"/proc/self/fd/{handle}", new.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can sync a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
