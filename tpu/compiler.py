"""The machine's C++ compiler, and an on-disk cache of the libraries that it makes.

$CXX, g++, clang++ or c++, whichever is found first and works. Libraries lie where everything compiled does (`kept`).
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels import kept
from ..kernels.kept import Store
from ..kernels.loops import interrupts
from ..kernels.loops.host_draws import DRAWING
from ..kernels.loops.native import ON_ADDRESSES, NativeLoop
from ..translator.errors import Diagnostic, LoopsError
from ..translator.patterns import pattern

MOST_BYTES = 1 << 26
_INSTEAD = "set UNTRACED_NATIVE_LOOPS=0 to leave loops to XLA"
_ARM = platform.machine() in ("arm64", "aarch64")
# Loops are as fast as at -O3, which takes GCC twice as long for many of them. Clang has no such model, and needs none.
# Threaded jumps make of choices, one instruction each on vectors, branches that come together again in many ways.
_VECTORS = ("-ftree-vectorize", "-fvect-cost-model=dynamic", "-fno-thread-jumps")
FLAGS = (
    "-O2",
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
_OF_C = ("-fno-exceptions", "-nodefaultlibs", "-lm", "-lgcc", "-lc")
"""For sources that use nothing of C++'s library: to look through it is a third of a small loop's time."""
_HEADER_OF_CPP = pattern(r"#include <\w+>")
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


_given_up = threading.Event()


def give_up(error: LoopsError) -> None:
    """Do without the compiler from now on, and tell the user so."""
    if not _given_up.is_set():
        _given_up.set()
        warnings.warn(f"loops are left to XLA, which takes longer for them: {error}", stacklevel=2)


def available() -> bool:
    """Whether there is a compiler that works."""
    return not _given_up.is_set() and _works()


@functools.cache
def _works() -> bool:
    if not sys.platform.startswith("linux") or _compiler() is None or importlib.util.find_spec("jaxlib") is None:
        return False
    if not _headers().is_dir():
        return False
    try:
        return int(_loaded(_PROBE).untraced_probe()) == 42
    except (OSError, LoopsError):
        return False


def can_draw() -> bool:
    """Whether loops can draw random numbers as NumPy does: there is a compiler, and NumPy brings the library of its
    distributions. On other processors than these NumPy's own compiler may have fused products in what is written out
    here.
    """
    return platform.machine() in ("x86_64", "AMD64") and _distributions().is_file() and available()


def _distributions() -> Path:
    return Path(np.__file__).parent / "random" / "lib" / "libnpyrandom.a"


@functools.cache
def _headers() -> Path:
    import jaxlib

    return Path(str(jaxlib.__file__)).parent / "include"


@functools.cache
def _version() -> str:
    """The version of the interface by which loops are called."""
    return (_headers() / "xla" / "ffi" / "api" / "c_api.h").read_text()


def _loaded(source: str) -> ctypes.CDLL:
    """The library of a source. One that is damaged is made anew."""
    library = _library(source)
    try:
        return ctypes.CDLL(str(library))
    except OSError:
        library.unlink(missing_ok=True)
        return ctypes.CDLL(str(_library(source)))


def _library(source: str) -> Path:
    """The library's path: in the cache, or in this process's own folder where there is none."""
    told = "loops", MOST_BYTES
    kept_ones = kept.store(*told)
    if kept_ones is not None:
        with suppress(OSError):
            return _made(source, kept_ones)
    return _made(source, kept.temporary(*told))


def _made(source: str, store: Store) -> Path:
    """The library of a source, compiled if nobody has done so before. Raises LoopsError, the compiler's message."""
    found = _compiler()
    assert found is not None
    path, version = found
    is_gcc = "clang" not in version
    flags = (*FLAGS, *_VECTORS) if is_gcc else FLAGS
    libraries: tuple[str, ...] = _OF_C if is_gcc and not _HEADER_OF_CPP.search(source) else ("-lm",)
    if DRAWING in source:
        libraries = (str(_distributions()), *libraries)
        version += f" numpy {np.__version__} {_distributions().stat().st_mtime_ns}"
    library = store.entry(source, version, *flags, *libraries, kept.machine(), _version())
    if library.is_file():
        kept.mark_used(library)
        return library
    with store.making() as folder:
        text, made = folder / "loop.cc", folder / "loop.so"
        text.write_text(source)
        command = [path, *flags, f"-I{_headers()}", str(text), "-o", str(made), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr.strip()[:500])
            raise LoopsError(Diagnostic(f"{path} cannot compile a loop", why=first, instead=_INSTEAD))
        store.adopt(made, library)
    return library


_lock = threading.Lock()
_registered: set[str] = set()


def register(loops: Sequence[NativeLoop]) -> None:
    """Compile loops, in one library, and make their handlers known to XLA, once a process each."""
    with _lock:
        new = {loop.name: loop for loop in loops if loop.name not in _registered}
        if not new:
            return
        import jaxlib.xla_client as xla

        library = _shared(list(new.values()))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        for name in new:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            xla.register_custom_call_target(name, capsule(address, None, None), platform="cpu", api_version=1)
            _registered.add(name)


def on_addresses(loops: Sequence[NativeLoop]) -> list[Callable[[Any], int]]:
    """The loops, compiled in one library, as functions of an array of addresses. Some may be the same."""
    with _lock:
        library = _shared(list({loop.name: loop for loop in loops}.values()))
    found = [getattr(library, loop.name + ON_ADDRESSES) for loop in loops]
    for function in found:
        function.restype, function.argtypes = ctypes.c_longlong, (ctypes.c_void_p,)
    return found


def _shared(loops: Sequence[NativeLoop]) -> ctypes.CDLL:
    """The library of loops. Raises LoopsError where it cannot be made."""
    try:
        library = _loaded(_source(loops))
    except OSError as error:  # no memory for another process, no room on the disk
        raise LoopsError(Diagnostic("the C++ compiler cannot be run", why=str(error), instead=_INSTEAD)) from error
    if any(loop.listens for loop in loops):
        interrupts.share(library)
    return library


def _source(loops: Sequence[NativeLoop]) -> str:
    from ..kernels.loops.native import prelude

    return prelude(loops) + "\n".join(loop.source for loop in loops)
