"""Compiling kernels ahead of time, with or without a device: Triton to PTX and cubin, CUDA C++ through NVRTC."""

from __future__ import annotations

import linecache
import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1
from typing import Any

from ..translator.errors import TargetError
from ..translator.records import dataclass
from . import kept
from .program import Program

MOST_BYTES = 1 << 26  # of machine code that NVRTC made, on disk; Triton keeps its own

INSTALL = "pip install 'untraced[gpu]'"
_DIVISIBLE = [["tt.divisibility", 16]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code for one architecture. `entry` is the symbol, `threads` the size of a block (0: the launch's own).

    `shared`: bytes of dynamic shared memory. For Triton, `scratch`: bytes of global scratch for each block; `hidden`:
    how many hidden pointers follow the arguments.
    """

    entry: str
    cubin: bytes
    ptx: str
    threads: int
    shared: int = 0
    scratch: int = 0
    hidden: int = 0


def compile_program(
    program: Program, architecture: int, promised: Sequence[str] = (), stages: int = 0
) -> Compiled:
    """Compile for `sm_<architecture>`. Triton is promised that the `promised` parameters are multiples of 16.
    `stages`: of how many turns of a loop around products Triton has the operands on their way; 0: as it likes.

    Raises TargetError where the compiler is not installed or refuses the source.
    """
    if program.language == "triton":
        return _compile_triton(program, architecture, tuple(promised), stages)
    return _compile_cuda(program, architecture)


# ---- Triton --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _triton() -> Any:
    # Later versions warn where the default is not pinned; the option below decides.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "0")
    try:
        import triton
        from triton.runtime import cache
    except ImportError:
        raise TargetError(f"the target 'triton' needs Triton: {INSTALL}") from None
    if hasattr(cache, "triton_key"):
        # The key of the on-disk cache hashes Triton's whole installation, which takes 1.4 s; its version says the same.
        cache.triton_key = lambda: triton.__version__
    return triton


@lru_cache(maxsize=512)
def _compile_triton(program: Program, architecture: int, promised: tuple[str, ...], stages: int) -> Compiled:
    triton = _triton()
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = load_triton(program)
    signature = dict(program.signature)
    signature.update((name, "constexpr") for name, _ in program.constants)
    attributes = {(function.arg_names.index(n),): _DIVISIBLE for n in promised}
    source = ASTSource(function, signature, dict(program.constants), attrs=attributes)
    options = {"num_warps": program.num_warps, "enable_fp_fusion": False, "enable_reflect_ftz": False}
    options |= {"num_stages": stages} if stages else {}
    try:
        made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
    except Exception as error:
        raise TargetError(f"Triton does not compile the kernel {program.name}: {error}\n{program.source}") from error
    meta = made.metadata
    hidden = sum(getattr(meta, name, None) is not None for name in ("global_scratch_size", "profile_scratch_size"))
    ptx = made.asm["ptx"]
    return Compiled(
        meta.name,
        made.asm["cubin"],
        ptx if isinstance(ptx, str) else ptx.decode(),
        meta.num_warps * 32,
        meta.shared,
        getattr(meta, "global_scratch_size", 0) or 0,
        hidden_pointers(ptx, len(program.signature), hidden),
    )


def hidden_pointers(ptx: str, visible: int, guess: int) -> int:
    """How many parameters the compiled kernel has beyond the visible ones: read from the PTX itself."""
    start = ptx.find(".entry")
    end = ptx.find(")", start)
    if start < 0 or end < 0:
        return guess
    return ptx.count(".param", start, end) - visible


def load_triton(program: Program) -> Any:
    """The JIT function of a source that stands in no file."""
    file = f"<untraced {program.name} {sha1(program.source.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(True), file)
    namespace: dict[str, Any] = {"__name__": f"untraced_{program.name}"}
    exec(compile(program.source, file, "exec"), namespace)
    return namespace[program.name]


# ---- CUDA ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _nvrtc() -> Any:
    try:
        from cupy.cuda import nvrtc
    except ImportError:
        raise TargetError(f"the target 'cuda' needs CuPy and NVRTC: {INSTALL}") from None
    return nvrtc


@lru_cache(maxsize=512)
def _compile_cuda(program: Program, architecture: int) -> Compiled:
    nvrtc = _nvrtc()
    # Denormals, division and square roots stay IEEE's; contraction of a * b + c is what NumPy does not do.
    constants = [f"-D{name}={value}" for name, value in program.constants]
    options = (f"-arch=sm_{architecture}", "--std=c++17", "--fmad=false", *constants)
    told = program.source, repr(options), _nvrtc_version(nvrtc)
    made = kept.found_or_made("cubins", MOST_BYTES, told, lambda: _run_nvrtc(nvrtc, program, options))
    size, _, code = made.partition(b"\n")
    shared = dict(program.constants).get("SHARED", 0)
    return Compiled(program.name, code[: int(size)], code[int(size) :].decode(), 0, shared)


def _nvrtc_version(nvrtc: Any) -> str:
    try:
        return repr(nvrtc.getVersion())
    except Exception as error:  # the library's loader has errors of its own
        raise TargetError(f"NVRTC cannot be loaded ({error}): {INSTALL}") from None


def _run_nvrtc(nvrtc: Any, program: Program, options: tuple[str, ...]) -> bytes:
    """The length of the cubin, the cubin, and the PTX."""
    name, source = program.name, program.source
    handle = nvrtc.createProgram(source, f"{name}.cu", (), ())
    try:
        nvrtc.compileProgram(handle, options)
    except nvrtc.NVRTCError:
        log = nvrtc.getProgramLog(handle)
        raise TargetError(f"NVRTC does not compile the kernel {name}:\n{log}\n{source}") from None
    else:
        cubin, ptx = bytes(nvrtc.getCUBIN(handle)), nvrtc.getPTX(handle)
        return b"%d\n" % len(cubin) + cubin + (ptx.encode() if isinstance(ptx, str) else bytes(ptx))
    finally:
        nvrtc.destroyProgram(handle)
