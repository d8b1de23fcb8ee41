"""A backend that runs generated CUDA kernels on the host: compiled by g++ behind `host_prelude.h`, on NumPy arrays."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import mmap
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from untraced.kernels.launching.backend import Backend
from untraced.kernels.launching.launch import may_pack
from untraced.kernels.program import Launch, Program

PRELUDE = Path(__file__).parent / "host_prelude.h"
CHECKS = Path(__file__).parent / "host_checks.h"
FLAGS = ("-O0", "-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-threadsafe-statics", "-fno-exceptions", "-w")
FLAGS = (*FLAGS, "-fvisibility=hidden", "-fno-gnu-unique", "-x")  # what one library has the others must not find
SANITIZED = "thread,alignment,bounds,signed-integer-overflow,shift-exponent,integer-divide-by-zero"
WATCHED = ("-DCHECKED", "-g1", f"-fsanitize={SANITIZED}", "--param=tsan-instrument-func-entry-exit=0")
WATCHED = (*WATCHED, "--param=tsan-distinguish-volatile=1")
OVERLOADED = "using ::__shfl_xor_sync; using ::__shfl_up_sync;\n"  # by kernels, whose namespace would hide them
SHARED = re.compile(r"(__shared__ [\w ]+ (\w+)[\[\]\w() +/]*;|\} (shared);)")  # a declaration and its name
DYNAMIC = "extern __shared__ __align__(16) unsigned char memory[]"  # its size is the launch's


@functools.cache
def folder(checked: bool = False) -> Path:
    """Of this process: what one module of tests has compiled the next ones find. The prelude, which takes longer to
    parse than most kernels, is compiled once."""
    made = tempfile.mkdtemp(prefix="untraced-host-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    for header in (PRELUDE, CHECKS):
        shutil.copy(header, made)
    compiled = Path(made) / f"{PRELUDE.name}.gch"
    compile_on_host("c++-header", Path(made) / PRELUDE.name, compiled, *(WATCHED if checked else ()))
    return Path(made)


def compile_on_host(language: str, source: Path, made: Path, *flags: str) -> None:
    run("g++", *FLAGS, language, *flags, str(source), "-o", str(made), source=source)


def run(*command: str, source: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{source.read_text()}"
    return done.stdout


class Compiled(NamedTuple):
    """A kernel on the host: `run` returns None, or what was wrong; `file` is its library, `source` that one's text."""

    run: Any
    library: Any
    file: Path
    source: Path


RUN: dict[tuple[Program, str, bool], Compiled] = {}
"""The kernels that were compiled in this process; "_by4", "_by8" end the names of packed twins; True: checked ones."""


def compile_programs(programs: Sequence[Program], end: str = "", checked: bool = False) -> None:
    """Compile several programs, or their twins, as one file, which takes hardly longer than one: each in a namespace of
    its own."""
    text = [f'#include "{PRELUDE.name}"']
    for k, p in enumerate(programs):
        text += [f"#undef {name}\n#define {name} {value}" for name, value in p.constants]
        own = p.source.replace('extern "C" __global__', "static")
        own = own.replace(DYNAMIC, "alignas(16) __shared__ unsigned char memory[SHARED]")
        if checked:  # accesses to what the compiler sees nobody else have would not be told
            own = SHARED.sub(r"\1 host::escape(&\2\3);", own)
        text += [f"namespace program_{k} {{\n{OVERLOADED}{own}\n}}", f"HOST_KERNEL({k}, program_{k}::{p.name}{end})"]
    whole = "\n".join(text)
    source = folder(checked) / f"{hashlib.sha1(whole.encode()).hexdigest()}.cu"
    source.write_text(whole)
    part, file = source.with_suffix(".o"), source.with_suffix(".so")
    compile_on_host("c++", source, part, "-c", *(WATCHED if checked else ()))
    run("g++", "-shared", "-nostdlib", str(part), "-o", str(file), "-lm", "-lgcc", source=source)
    library = ctypes.CDLL(str(file))
    for k, p in enumerate(programs):
        function = getattr(library, f"run_{k}")
        function.restype = ctypes.c_char_p
        RUN[p, end, checked] = Compiled(function, library, file, source)


class Watched(ctypes.Structure):
    """An array as `host_checks.h` has it: `element` bytes are accessed by one thread."""

    _fields_ = (
        ("start", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("element", ctypes.c_size_t),
        ("written", ctypes.c_int),
        ("seen", ctypes.c_void_p),
    )


SEEN_BYTES = 28


def watch(kernel: Compiled, launch: Launch, arguments: Sequence[Any]) -> list[Any]:
    """Tell a checked kernel where its arrays lie, and of which it may write. What is returned has to be kept."""
    given = zip(arguments, launch.arguments, strict=True)
    spans = _spans([(a, d.role != "in") for a, d in given if isinstance(a, np.ndarray)])
    for low, high, _, written in spans:
        shared = [s for s in spans if low < high and s[0] < high and low < s[1] and (written or s[3])]
        assert len(shared) == (written and low < high), f"{launch.program.name} shares memory that it writes"
    watched = (Watched * max(1, len(spans)))()
    kept: list[Any] = [watched]
    for k, (low, high, element, written) in enumerate(spans):
        seen = np.zeros((high - low) // element * SEEN_BYTES, np.uint8)
        kept.append(seen)
        watched[k] = Watched(low, high - low, element, written, seen.ctypes.data)
    kernel.library.watch(ctypes.c_uint(len(spans)), watched)
    return kept


def _spans(arrays: Sequence[tuple[Any, bool]]) -> list[tuple[int, int, int, bool]]:
    """Where each array begins and ends, the bytes of its elements, and whether it is written. Arrays that are written
    between one another's elements are one.
    """
    found: list[tuple[int, int, int, bool]] = []
    between: list[Any] = []
    for a, written in arrays:
        low, high = np.lib.array_utils.byte_bounds(a) if a.size else (a.ctypes.data, a.ctypes.data)
        element = max(1, a.itemsize // 2 if a.dtype.kind == "c" else a.itemsize)
        beside = [s for s in found if written and s[3] and s[0] < high and low < s[1]]
        if beside and not any(np.shares_memory(a, b) for b in between):
            found = [s for s in found if s not in beside]
            low, high = min(low, *(s[0] for s in beside)), max(high, *(s[1] for s in beside))
        between += [a] * written
        found.append((low, high, element, written))
    return found


def place_of_error(kernel: Compiled) -> str:
    """The lines of the source where a checked kernel went wrong, the innermost first."""
    kernel.library.wrong_site.restype = ctypes.c_void_p
    site = kernel.library.wrong_site()
    if not site:
        return ""
    told = run("addr2line", "-i", "-s", "-e", str(kernel.file), hex(site - 1), source=kernel.source).split()
    lines = kernel.source.read_text().splitlines()
    numbers = [int(t.split(":")[1].split(" ")[0]) for t in told if t.startswith(kernel.source.name)]
    return "\n".join(lines[n - 1] for n in numbers)


class AlignedNumpy:
    """NumPy whose new arrays begin at a multiple of 64, as CuPy's do."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape))
        memory = np.empty(size * np.dtype(dtype).itemsize + 64, np.uint8)
        start = -memory.ctypes.data % 64
        return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


class PoisonedNumpy(AlignedNumpy):
    """NumPy whose new arrays hold NaN, or -1, where nothing was written yet: what reads that shows in the result."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        made = super().empty(shape, dtype)
        made.reshape(-1).view(np.uint8)[...] = 0xFF if made.dtype.kind != "b" else 1
        return made


class GuardedNumpy(AlignedNumpy):
    """NumPy whose new arrays end where a page begins that nobody may touch: what reads behind them ends the process."""

    def __init__(self) -> None:
        self.kept: list[mmap.mmap] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size, page = int(np.prod(shape)) * np.dtype(dtype).itemsize, mmap.PAGESIZE
        whole = -(-max(size, 1) // page) * page
        memory = mmap.mmap(-1, whole + page)
        self.kept.append(memory)
        last = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + whole
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(last), ctypes.c_size_t(page), 0) == 0
        return np.frombuffer(memory, np.uint8, size, whole - size).view(dtype).reshape(shape)


@contextmanager
def aligned(backend: HostCuda) -> Iterator[None]:
    before = backend.xp
    backend.xp = before if backend.checked else AlignedNumpy()
    try:
        yield
    finally:
        backend.xp = before


class HostCuda(Backend):
    """Launches CUDA kernels on NumPy arrays; every program is compiled once, with those that were prepared with it.

    `checked`: every access is looked at (`host_checks.h`); UNTRACED_CHECKED_KERNELS=1 does that in all tests.
    """

    language = "cuda"
    xp: Any = np

    def __init__(self, checked: bool = os.environ.get("UNTRACED_CHECKED_KERNELS") == "1") -> None:
        self.checked = checked
        self.packed_launches = 0
        self.waiting: dict[Program, None] = {}
        if checked:
            self.xp = PoisonedNumpy()

    def moved(self, a: Any) -> Any:
        """The array where such arrays lie."""
        if not np.ndim(a):
            return a
        made = self.xp.empty(np.shape(a), a.dtype)
        made[...] = a
        return made

    def prepare(self, launch: Launch) -> Callable[..., None]:
        if launch.program.language == "cuda" and (launch.program, "", self.checked) not in RUN:
            self.waiting[launch.program] = None
        return super().prepare(launch)

    def function(self, program: Program, end: str) -> Compiled:
        if (program, end, self.checked) not in RUN:
            new = [p for p in self.waiting if (p, end, self.checked) not in RUN and p != program]
            others = [p for p in new if f" {p.name}{end}(" in p.source]
            compile_programs([*others, program], end, self.checked)
            for p in others:
                del self.waiting[p]
            self.waiting.pop(program, None)
        return RUN[program, end, self.checked]

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        program = launch.program
        packed = may_pack(launch, [a.ctypes.data for a in arguments if isinstance(a, np.ndarray)])
        self.packed_launches += packed
        kernel = self.function(program, f"_by{launch.pack}" if packed else "")
        cells = [
            np.array([a.ctypes.data], np.uint64) if isinstance(a, np.ndarray) else np.array([a]) for a in arguments
        ]
        pointers = (ctypes.c_void_p * len(cells))(*(c.ctypes.data for c in cells))
        grid = (ctypes.c_uint * 2)(*launch.grid)
        meets = self.checked or "__syncthreads" in program.source or "__shfl" in program.source
        assert 0 < launch.block <= 1024 and launch.grid[0] < 2**31 and launch.grid[1] < 2**16, launch
        kept = watch(kernel, launch, arguments) if self.checked else []
        wrong = kernel.run(grid, ctypes.c_uint(launch.block), pointers, int(meets))
        assert wrong is None, f"{wrong.decode()}\n{place_of_error(kernel) if kept else ''}\n{program.source}"
