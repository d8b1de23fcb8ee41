"""A backend that runs generated CUDA kernels on the host: compiled by g++ behind `host_prelude.h`, on NumPy arrays."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import mmap
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from untraced.kernels.backend import Backend
from untraced.kernels.launch import may_pack
from untraced.kernels.program import Launch, Program

PRELUDE = Path(__file__).parent / "host_prelude.h"
FLAGS = ("-O1", "-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-threadsafe-statics", "-fno-exceptions", "-w", "-x")
OVERLOADED = "using ::__shfl_xor_sync; using ::__shfl_up_sync;\n"  # by kernels, whose namespace would hide them
DYNAMIC = "extern __shared__ __align__(16) unsigned char memory[]"  # its size is the launch's


@functools.cache
def folder() -> Path:
    """Of this process: what one module of tests has compiled the next ones find. The prelude, which takes longer to
    parse than most kernels, is compiled once."""
    made = tempfile.mkdtemp(prefix="untraced-host-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    shutil.copy(PRELUDE, made)
    compile_on_host("c++-header", Path(made) / PRELUDE.name, Path(made) / f"{PRELUDE.name}.gch")
    return Path(made)


def compile_on_host(language: str, source: Path, made: Path, *flags: str) -> None:
    command = ["g++", *FLAGS, language, *flags, str(source), "-o", str(made), *(["-lm", "-lgcc"] if flags else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{source.read_text()}"


RUN: dict[tuple[Program, str], Any] = {}
"""The kernels that were compiled in this process; "_by4", "_by8" end the names of packed twins."""


def compile_programs(programs: Sequence[Program], end: str = "") -> None:
    """Compile several programs, or their twins, as one file, which takes hardly longer than one: each in a namespace of
    its own."""
    text = [f'#include "{PRELUDE.name}"']
    for k, p in enumerate(programs):
        text += [f"#undef {name}\n#define {name} {value}" for name, value in p.constants]
        own = p.source.replace('extern "C" __global__', "static")
        own = own.replace(DYNAMIC, "alignas(16) static unsigned char memory[SHARED]")
        text += [f"namespace program_{k} {{\n{OVERLOADED}{own}\n}}", f"HOST_KERNEL({k}, program_{k}::{p.name}{end})"]
    whole = "\n".join(text)
    source = folder() / f"{hashlib.sha1(whole.encode()).hexdigest()}.cu"
    source.write_text(whole)
    compile_on_host("c++", source, source.with_suffix(".so"), "-shared", "-nostdlib")
    library = ctypes.CDLL(str(source.with_suffix(".so")))
    RUN.update(((p, end), getattr(library, f"run_{k}")) for k, p in enumerate(programs))


class AlignedNumpy:
    """NumPy whose new arrays begin at a multiple of 64, as CuPy's do."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = int(np.prod(shape))
        memory = np.empty(size * np.dtype(dtype).itemsize + 64, np.uint8)
        start = -memory.ctypes.data % 64
        return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


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
    backend.xp = AlignedNumpy()
    try:
        yield
    finally:
        backend.xp = np


class HostCuda(Backend):
    """Launches CUDA kernels on NumPy arrays; every program is compiled once, with those that were prepared with it."""

    language = "cuda"
    xp = np

    def __init__(self) -> None:
        self.packed_launches = 0
        self.waiting: dict[Program, None] = {}

    def moved(self, a: Any) -> Any:
        """The array where such arrays lie."""
        if not np.ndim(a):
            return a
        made = self.xp.empty(np.shape(a), a.dtype)
        made[...] = a
        return made

    def prepare(self, launch: Launch) -> Callable[..., None]:
        if launch.program.language == "cuda" and (launch.program, "") not in RUN:
            self.waiting[launch.program] = None
        return super().prepare(launch)

    def function(self, program: Program, end: str) -> Any:
        if (program, end) not in RUN:
            new = [p for p in self.waiting if (p, end) not in RUN and p != program]
            others = [p for p in new if f" {p.name}{end}(" in p.source]
            compile_programs([*others, program], end)
            for p in others:
                del self.waiting[p]
            self.waiting.pop(program, None)
        return RUN[program, end]

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        program = launch.program
        packed = may_pack(launch, [a.ctypes.data for a in arguments if isinstance(a, np.ndarray)])
        self.packed_launches += packed
        function = self.function(program, f"_by{launch.pack}" if packed else "")
        cells = [
            np.array([a.ctypes.data], np.uint64) if isinstance(a, np.ndarray) else np.array([a]) for a in arguments
        ]
        pointers = (ctypes.c_void_p * len(cells))(*(c.ctypes.data for c in cells))
        grid = (ctypes.c_uint * 2)(*launch.grid)
        meets = "__syncthreads" in program.source or "__shfl" in program.source
        assert function(grid, ctypes.c_uint(launch.block), pointers, int(meets)) == 0, (
            f"a barrier never met\n{program.source}"
        )
