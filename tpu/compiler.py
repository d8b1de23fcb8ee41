"""The C++ compiler of this machine, and the libraries that it made: on disk, found again by what they were made from.

$CXX, g++, clang++ or c++, whichever is found first and works. Libraries lie in `$XDG_CACHE_HOME/untraced/loops` (by
default under ~/.cache), at most `MOST_BYTES` of them, those used last.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from ..kernels.loops import NativeLoop
from ..translator.errors import Diagnostic, TargetError

MOST_BYTES = 1 << 26
_ARM = platform.machine() in ("arm64", "aarch64")
FLAGS = (
    "-O3",
    "-mcpu=native" if _ARM else "-march=native",
    "-std=c++17",
    "-shared",
    "-fPIC",
    "-w",
    "-ffp-contract=off",  # NumPy rounds a * b before it adds
    "-fwrapv",  # its integers wrap
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
)
_PROBE = 'extern "C" int untraced_probe() { return 42; }\n'


@functools.cache
def _compiler() -> tuple[str, str] | None:
    """The compiler's path and what tells it from another version; None where there is none."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++"):
        path = shutil.which(name) if name else None
        if path is not None:
            real = os.path.realpath(path)
            found = os.stat(real)
            return path, f"{real} {found.st_size} {found.st_mtime_ns}"
    return None


@functools.cache
def available() -> bool:
    """Whether there is a compiler that works."""
    if not sys.platform.startswith("linux") or _compiler() is None or importlib.util.find_spec("jaxlib") is None:
        return False
    if not _headers().is_dir():
        return False
    try:
        return int(ctypes.CDLL(str(_library(_PROBE))).untraced_probe()) == 42
    except (OSError, TargetError):
        return False


@functools.cache
def _headers() -> Path:
    import jaxlib

    return Path(str(jaxlib.__file__)).parent / "include"


@functools.cache
def _version() -> str:
    """Of the interface that loops are called by."""
    return (_headers() / "xla" / "ffi" / "api" / "c_api.h").read_text()


@functools.cache
def _machine() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return "\n".join(dict.fromkeys(x for x in lines if x.startswith(("model name", "flags", "Features", "CPU part"))))


@functools.cache
def _folder() -> Path:
    """Where libraries are kept: the user's cache, or a folder for this process where that cannot be written to."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "untraced" / "loops"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    except OSError:
        pass  # a home that is missing or read-only
    temporary = tempfile.TemporaryDirectory(prefix="untraced-")
    _kept.append(temporary)
    return Path(temporary.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _library(source: str) -> Path:
    """The library of a source, compiled if nobody has done so before. Raises TargetError, the compiler's message."""
    found = _compiler()
    assert found is not None
    path, version = found
    key = "\n".join((source, version, *FLAGS, _machine(), _version()))
    library = _folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    if library.is_file():
        os.utime(library)
        return library
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="making-") as folder:
        text, made = Path(folder) / "loop.cc", Path(folder) / "loop.so"
        text.write_text(source)
        command = [path, *FLAGS, f"-I{_headers()}", str(text), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr.strip()[:500])
            raise TargetError(
                Diagnostic(
                    f"{path} cannot compile a loop",
                    why=first,
                    instead="set UNTRACED_NATIVE_LOOPS=0 to leave loops to XLA",
                )
            )
        os.replace(made, library)
    _tidy(library.parent)
    return library


def _tidy(folder: Path) -> None:
    """Remove the libraries that were used longest ago, where there are too many. Others may be removing the same."""
    found = []
    for path in folder.glob("*.so"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size


_lock = threading.Lock()
_registered: set[str] = set()


def register(loops: Sequence[NativeLoop]) -> None:
    """Compile loops, in one library, and make their handlers known to XLA, once a process each."""
    with _lock:
        new = {loop.name: loop for loop in loops if loop.name not in _registered}
        if not new:
            return
        import jaxlib.xla_client as xla

        library = ctypes.CDLL(str(_library(_source(list(new.values())))))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        for name in new:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            xla.register_custom_call_target(name, capsule(address, None, None), platform="cpu", api_version=1)
            _registered.add(name)


def _source(loops: Sequence[NativeLoop]) -> str:
    from ..kernels.loops import prelude

    return prelude(loops) + "\n".join(loop.source for loop in loops)
