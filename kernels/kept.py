"""The on-disk cache of what compilers make, keyed by what it was made from.

    store = kept.store("programs", 1 << 28)
    entry = store.entry(text, version)            a file named after a digest of all that was told
    store.keep(entry, made)                       whole or not at all, whoever else is writing
    store.read(entry)                             None where there is nothing, or where it is damaged

$UNTRACED_CACHE is the folder, by default `untraced` under $XDG_CACHE_HOME or ~/.cache; UNTRACED_CACHE=0 keeps nothing.
Only the user may write there: code that is loaded from it runs. A store removes what was used longest ago.
"""

from __future__ import annotations

import functools
import os
import platform
import stat
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from ..translator.patterns import pattern
from ..translator.records import dataclass

if TYPE_CHECKING:
    import tempfile

_FORMAT = "untraced kept 1"  # the head of an entry: this, and a digest of the rest
_ENTRY = pattern("[0-9a-f]{40}")
_MAKING = "making-"
_DAY = 86_400.0  # seconds
_temporary: list[tempfile.TemporaryDirectory[str]] = []


def root() -> Path | None:
    """The folder of all stores; None where nothing is to be kept, or nothing can be."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return _root(TOLD.folder or os.environ.get("UNTRACED_CACHE", ""), cache)


@dataclass(slots=True)
class Told:
    """A setting made by the program, which goes before the environment: a folder, or "0"."""

    folder: str = ""


TOLD = Told()


@functools.cache
def _root(wanted: str, cache: str) -> Path | None:
    if wanted == "0" or not (wanted or os.path.isabs(cache)):  # nobody knows a home
        return None
    folder = Path(wanted or os.path.join(cache, "untraced"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) and _is_ours(folder):
            return folder.absolute()
    except OSError:
        pass  # a home that is missing or read-only: nothing is kept
    return None


def store(name: str, most_bytes: int) -> Store | None:
    """The store of one kind of things; None where nothing is kept."""
    folder = root()
    return None if folder is None else at(folder / name, most_bytes)


def found_or_made(name: str, most_bytes: int, told: Sequence[str | bytes], make: Callable[[], bytes]) -> bytes:
    """The artefact made from these inputs, by an earlier process or now."""
    place = store(name, most_bytes)
    if place is None:
        return make()
    entry = place.entry(*told)
    made = place.read(entry)
    if made is None:
        made = make()
        place.keep(entry, made)
    return made


@functools.cache
def machine() -> str:
    """The processor, as far as compilers look."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return "\n".join(dict.fromkeys(x for x in lines if x.startswith(("model name", "flags", "Features", "CPU part"))))


@functools.cache
def temporary(name: str, most_bytes: int) -> Store:
    """A store like the cache, for what this process cannot do without; it is removed with the process."""
    import tempfile

    _temporary.append(tempfile.TemporaryDirectory(prefix=f"untraced-{name}-"))
    return Store(Path(_temporary[-1].name), most_bytes)


@functools.cache
def at(folder: Path, most_bytes: int) -> Store | None:
    """The store in this folder; None where it is somebody else's."""
    return Store(folder, most_bytes) if not folder.exists() or _is_ours(folder) else None


def _is_ours(folder: Path) -> bool:
    """Whether nobody else may put there what would be run."""
    status = folder.stat()
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH)


def _in_child() -> None:
    """A forked child forgets temporary folders: the parent removes them."""
    for folder in _temporary:
        folder._finalizer.detach()  # type: ignore[attr-defined]
    _temporary.clear()
    temporary.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@dataclass(slots=True)
class Store:
    """A folder of entries, of about `most_bytes` bytes."""

    folder: Path
    most_bytes: int
    _written: int | None = field(default=None, init=False)  # bytes since the store was last put in order
    _full: bool = field(default=False, init=False)  # that it cannot be written has been told

    def entry(self, *told: str | bytes) -> Path:
        """The path of the entry for these inputs, whether it exists or not."""
        import hashlib  # 6 ms, where nothing is kept in vain

        digest = hashlib.sha256()
        for part in told:
            data = part.encode() if isinstance(part, str) else part
            digest.update(b"%d:" % len(data) + data)
        return self.folder / (digest.hexdigest()[:40])

    def read(self, entry: Path) -> bytes | None:
        """The content that `keep` has stored."""
        try:
            data = entry.read_bytes()
        except OSError:
            return None
        head, _, made = data.partition(b"\n")
        if head != _head(made):
            return None
        mark_used(entry)
        return made

    def keep(self, entry: Path, made: bytes) -> None:
        """A disk that is full costs the next process the making, and this one a warning."""
        try:
            with self.making() as folder:
                beside = folder / "entry"
                beside.write_bytes(_head(made) + b"\n" + made)
                self.adopt(beside, entry)
        except OSError as error:
            if not self._full:
                self._full = True
                with suppress(RuntimeWarning):  # where warnings are errors this one is none: what was made is there
                    warnings.warn(f"nothing can be kept in {self.folder}: {error}", RuntimeWarning, stacklevel=2)

    @contextmanager
    def making(self) -> Iterator[Path]:
        """A folder for what is being made, beside the entries."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        import tempfile

        with tempfile.TemporaryDirectory(dir=self.folder, prefix=_MAKING) as folder:
            yield Path(folder)

    def adopt(self, made: Path, entry: Path) -> None:
        """Move a file that was made on the same disk to its entry."""
        size = made.stat().st_size
        os.replace(made, entry)
        self._written = self.most_bytes if self._written is None else self._written + size
        if self._written > self.most_bytes // 8:
            self._written = 0
            self._tidy()

    def _tidy(self) -> None:
        """Remove the entries that were used longest ago, where there are too many. Others may be removing the same."""
        found = []
        for path in self.folder.iterdir():
            if path.name.startswith(_MAKING):
                _remove_left(path)
            if not _ENTRY.fullmatch(path.name):
                continue  # the folder may have been the user's before
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _head(made: bytes) -> bytes:
    import hashlib

    return f"{_FORMAT} {hashlib.sha256(made).hexdigest()}".encode()


def _remove_left(making: Path) -> None:
    """The folder of a process that was killed while it made something."""
    import shutil

    with suppress(OSError):
        if time.time() - making.stat().st_mtime > _DAY:
            shutil.rmtree(making, ignore_errors=True)


def mark_used(entry: Path) -> None:
    """Entries that were used last stay longest."""
    with suppress(OSError):  # removed by another process meanwhile
        os.utime(entry)
