"""Files that appear whole or not at all. Not here: their content."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from emu.base.errors import FileError


def check_target(path: Path, force: bool, source: Path | None = None) -> None:
    """Refuse a path that cannot become a new file.

    source: the file or folder that is read: it is never written over, with force or without.
    Raises: FileError (exists without force, no folder, a folder itself, the source or a file in it).
    """
    if path.is_dir():
        raise FileError(f"{path}: is a folder: name a file")
    read = () if source is None else (source, *source.glob("*")) if source.is_dir() else (source,)
    if path.exists() and any(path.samefile(part) for part in read):
        raise FileError(f"{path}: is what is read: it is not written over, name another file")
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
    temporary: Path | None = None
    try:
        stream, temporary = _open_beside(target)
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if temporary is None:
                _name(stream.fileno(), target, force)
        if temporary is not None:
            _rename(temporary, target, force)
            temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise _failed(target, error) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def write_text(path: str | os.PathLike[str], text: str, force: bool = False) -> None:
    """Write a text as UTF-8, whole or not at all. Raises: as whole_file."""
    with whole_file(path, force) as stream:
        stream.write(text.encode("utf-8"))


def _failed(target: Path, error: OSError) -> FileError:
    if error.errno == errno.EEXIST:
        return FileError(f"{target}: exists already: name another file, or say --force")
    return FileError(f"{target}: cannot write: {error.strerror or error}: nothing was left there")


def _open_beside(target: Path) -> tuple[IO[bytes], Path | None]:
    """Return a new file in the folder of the target, and its name where it needs one."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        try:
            return os.fdopen(os.open(target.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666), "w+b"), None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    umask = os.umask(0)
    os.umask(umask)
    os.fchmod(handle, 0o666 & ~umask)
    return os.fdopen(handle, "w+b"), Path(name)


def _name(handle: int, target: Path, force: bool) -> None:
    """Give an unnamed file its name. Raises: OSError (EEXIST without force)."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not (force and os.path.lexists(target)):
            os.link(f"/proc/self/fd/{handle}", target.name, dst_dir_fd=folder)
            return
        with tempfile.TemporaryDirectory(prefix=f".{target.name[:100]}.", dir=target.parent) as beside:
            new = Path(beside) / "new"
            os.link(f"/proc/self/fd/{handle}", new.relative_to(target.parent), dst_dir_fd=folder)
            os.replace(new, target)
    finally:
        os.close(folder)


def _rename(temporary: Path, target: Path, force: bool) -> None:
    """Give a hidden file its final name. Raises: OSError (EEXIST without force)."""
    if force:
        os.replace(temporary, target)
    else:
        os.link(temporary, target)
        temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can sync a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
