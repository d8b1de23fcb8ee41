"""Launching compiled kernels on a CUDA device through CuPy.

Scalars go by value in exactly the type that the kernel takes (CuPy sends a Python int as 8 bytes whatever the kernel
expects); Triton's kernels take hidden pointers after their arguments, and blocks of exactly `num_warps * 32` threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..translator.errors import Diagnostic, TargetError
from .ahead import INSTALL, Compiled, compile_program
from .program import Launch, Program

ALIGNMENT = 16  # bytes, and elements: what Triton's divisibility promise is about
PACK_ALIGNMENT = 32  # of four doubles
DEFAULT_SHARED = 48 << 10  # dynamic shared memory that needs no permission
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def packs_by_four(launch: Launch, pointers: Sequence[int]) -> bool:
    """Whether the packed twin of a CUDA kernel may run: a multiple of four elements, all arrays aligned."""
    return launch.by4 > 0 and launch.by4 % 4 == 0 and not any(p % PACK_ALIGNMENT for p in pointers)


def is_aligned(launch: Launch, pointers: Sequence[int]) -> bool:
    """Whether Triton's promise holds: every pointer and every integer argument is a multiple of 16."""
    integers = [a.value for a in launch.arguments if a.role == "number" and a.dtype.kind == "i"]
    return not any(p % ALIGNMENT for p in pointers) and not any(n % ALIGNMENT for n in integers)


def pack_arguments(compiled: Compiled, arguments: Sequence[Any], scratch: Any) -> tuple[Any, ...]:
    """What goes to the driver: the arguments, and Triton's hidden pointers (scratch, then null)."""
    hidden = [scratch if k == 0 and scratch is not None else np.uint64(0) for k in range(compiled.hidden)]
    return (*arguments, *hidden)


@dataclass(slots=True)
class Loaded:
    """A kernel on one device."""

    compiled: Compiled
    function: Callable[..., Any]


class CupyBackend:
    """A CUDA device under CuPy. `language` is "triton" or "cuda"."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.xp = _cupy()
        self.loaded: dict[tuple[Program, bool, bool, int], Loaded] = {}

    @property
    def architecture(self) -> int:
        """The compute capability of CuPy's current device."""
        return int(self.xp.cuda.Device(int(self.xp.cuda.runtime.getDevice())).compute_capability)

    @contextmanager
    def memory_told(self) -> Iterator[None]:
        """What does not fit the device raises TargetError with what was asked for and what is free."""
        try:
            yield
        except self.xp.cuda.memory.OutOfMemoryError as error:
            free, whole = self.xp.cuda.runtime.memGetInfo()
            why = f"{error}; {free:,} of the device's {whole:,} bytes are free"
            instead = "work on smaller pieces, or let go of arrays; CuPy's pool gives memory back by free_all_blocks()"
            raise TargetError(Diagnostic("too little device memory", why=why, instead=instead)) from error

    def asarray(self, value: Any) -> Any:
        """A NumPy array or scalar in device memory. bfloat16, which CuPy does not know, raises TargetError."""
        if getattr(getattr(value, "dtype", None), "kind", "f") == "V":
            name = value.dtype.name
            raise TargetError(Diagnostic(f"CuPy has no arrays of {name}", instead="use float16, or the target cpu"))
        return self.xp.asarray(value)

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Enqueue one kernel on CuPy's current stream; an empty grid is nothing to do (CuPy would run one block)."""
        if launch.grid[0] == 0 or launch.grid[1] == 0:
            return
        arrays = [a for a in arguments if isinstance(a, self.xp.ndarray)]
        pointers = [int(a.data.ptr) for a in arrays]
        triton = self.language == "triton"
        aligned = triton and is_aligned(launch, pointers)
        packed = not triton and packs_by_four(launch, pointers)
        kernel = self.load(launch.program, aligned, packed)
        blocks = launch.grid[0] * launch.grid[1]
        scratch = self.xp.empty(blocks * kernel.compiled.scratch, np.uint8) if kernel.compiled.scratch else None
        threads = kernel.compiled.threads or launch.block
        given = pack_arguments(kernel.compiled, arguments, scratch)
        kernel.function((launch.grid[0], launch.grid[1], 1), (threads, 1, 1), given, kernel.compiled.shared)

    def load(self, program: Program, aligned: bool, packed: bool) -> Loaded:
        device = int(self.xp.cuda.runtime.getDevice())
        key = (program, aligned, packed, device)
        if key not in self.loaded:
            compiled = compile_program(program, self.architecture, aligned)
            module = self.xp.cuda.function.Module()
            module.load(compiled.cubin)
            function = module.get_function(f"{compiled.entry}_by4" if packed else compiled.entry)
            if compiled.shared > DEFAULT_SHARED:
                from cupy_backends.cuda.api import driver

                driver.funcSetAttribute(function.ptr, MAX_DYNAMIC_SHARED, compiled.shared)
            self.loaded[key] = Loaded(compiled, function)
        return self.loaded[key]


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise TargetError(f"the targets 'triton' and 'cuda' need CuPy: {INSTALL}") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise TargetError(f"no CUDA device can be used: {error}") from None
    if count == 0:
        raise TargetError("no CUDA device was found")
    return cupy
