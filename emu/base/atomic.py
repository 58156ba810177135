"""Files and folders that appear whole or not at all, and temporary ones. Not here: their content.

What is not yet a result has a name of its own form, and a lock (flock) that ends with the process that holds it. So who makes the next of
the same name knows what a killed process left: it has this form, belongs to this user, and its lock is free. That goes, and nothing else.
Where a file system has no locks, nothing goes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
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
    to disk and then named: a reader sees the old file or the whole new one, and a kill leaves nothing behind that the next run keeps.
    Raises: FileError (exists, unwritable, disk full).   Tests: tests/files/test_files_whole.py.
    """
    target = Path(path)
    check_target(target, force)
    with _hidden(target) as hidden:
        nameless = _nameless(target.parent)
        with nameless or _made(hidden, _new_file) as handle, open(handle, "w+b", closefd=False) as stream:
            yield stream
            stream.flush()
            os.fsync(handle)
            if nameless:
                _name(handle, hidden if force else target)
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
    with _hidden(Path(path)) as hidden, _made(hidden, partial(_new_folder, mode=0o777)):
        yield hidden


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder that a command fills bit by bit, while the block runs; where the file system has locks.

    Raises: FileError (another command fills it), OSError (no such folder).   Tests: tests/vectors/test_vectors_builders.py.
    """
    with _handle(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
        for left in reversed(range(20)):  # two seconds: workers of a killed command end within one
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise FileError(f"{folder}: another command writes into it now: wait for its end, or name another folder") from None
                time.sleep(0.1)
            except OSError:
                break
        yield


@contextlib.contextmanager
def temporary_folder(sort: str) -> Iterator[Path]:
    """Yield a new folder among the temporary ones of this machine, for this user alone; it goes when the block or the process ends.

    sort: what it is for, letters. Those of the same sort that killed processes left go now.
    Raises: OSError (no place for it).   Tests: tests/files/test_files_left.py.
    """
    from multiprocessing.util import Finalize

    with _named(Path(tempfile.gettempdir()), f"emu-{sort}-", "") as folder:
        end = Finalize(None, _remove, (folder,), exitpriority=0)
        try:
            with _made(folder, partial(_new_folder, mode=0o700)):
                yield folder
        finally:
            end.cancel()


def write_text(path: str | os.PathLike[str], text: str, force: bool = False) -> None:
    """Write a text as UTF-8, whole or not at all. Raises: as whole_file."""
    with whole_file(path, force) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def _hidden(target: Path) -> Iterator[Path]:
    """Yield a hidden name in the folder of the target; in the end, what bears it is removed. Raises: FileError."""
    try:
        with _named(target.parent, f".{target.name[:50]}.", ".part") as hidden:
            yield hidden
    except OSError as error:
        raise _failed(target, error) from None


@contextlib.contextmanager
def _named(folder: Path, start: str, end: str) -> Iterator[Path]:
    """Yield a new name in a folder; in the end, what bears it is removed. What killed processes left under such names goes first.

    The name is known before anything bears it, and an interrupt in the middle of the removal does not end it: at no place is a file left.
    """
    _remove_left(folder, re.compile(rf"{re.escape(start)}[0-9a-f]{{16}}{re.escape(end)}"))
    path = folder / f"{start}{secrets.token_hex(8)}{end}"
    try:
        yield path
    finally:
        try:
            _remove(path)
        finally:
            _remove(path)


def _remove_left(folder: Path, form: re.Pattern[str]) -> None:
    """Remove files and folders of this user whose name has a form and whose lock nobody holds. No link is followed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [entry for entry in entries if form.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if found.st_uid == os.geteuid() and (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                    with _handle(os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as handle:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        _remove(Path(entry.path))


@contextlib.contextmanager
def _made(path: Path, make: Callable[[Path], int]) -> Iterator[int]:
    """Make a file or a folder, and yield its handle, which holds its lock. make: makes and opens it.

    Who removes what is left may find it before it is locked: then it is made again.
    """
    while True:
        with _handle(make(path)) as handle:
            _lock(handle)
            if path.exists() and os.path.samestat(os.fstat(handle), os.lstat(path)):
                yield handle
                return


@contextlib.contextmanager
def _handle(handle: int) -> Iterator[int]:
    """Close a file's number in the end."""
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Hold a file or a folder until it is closed, where the file system has locks."""
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _new_folder(path: Path, mode: int) -> int:
    path.mkdir(mode)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _nameless(folder: Path) -> contextlib.AbstractContextManager[int] | None:
    """Return a new file without a name, locked; None where the system or the file system has none."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        try:
            handle = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
        else:
            _lock(handle)
            return _handle(handle)
    return None


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
