"""CuPy itself on a device that is the host, so that what needs a GPU can be tried without one. A plugin of pytest:

    PYTHONPATH=tests/targets python -m pytest -p cupy_on_host -m gpu tests/targets/test_cuda_device.py

CUDA's runtime lies inside CuPy's modules: its functions are overwritten with jumps to those of `driver_on_host.cpp`.
What is launched is looked up by its machine code: generated CUDA kernels run as in `host_cuda`, Triton's as in
`triton_interpreter`, CuPy's own are compiled by g++ instead of NVRTC. What CUDA's libraries do, NumPy does.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent)]
os.environ["CUPY_ACCELERATORS"] = ""  # CUB's kernels are no source here

FOLDER = Path(tempfile.mkdtemp(prefix="untraced-cupy-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def compiled(source: Path, made: Path, *flags: str) -> Path:
    command = ["g++", "-O1", "-std=c++17", "-fPIC", "-w", "-fvisibility=hidden", "-fvisibility-inlines-hidden", *flags]
    done = subprocess.run([*command, str(source), "-o", str(made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return made


# ---- CUDA's runtime --------------------------------------------------------------------------------

# By this name, under which CuPy and NVRTC look for the driver, the library that is already there is found.
DRIVER = ctypes.CDLL(
    str(compiled(HERE / "driver_on_host.cpp", FOLDER / "libcuda.so.1", "-shared", "-Wl,-soname,libcuda.so.1"))
)
DRIVER.block_of.restype = ctypes.c_void_p
_names: list[Any] = []


def address_of(name: str) -> int | None:
    found = getattr(DRIVER, name, None)
    return ctypes.cast(found, ctypes.c_void_p).value if found is not None else None


def functions_of(file: str) -> dict[str, int]:
    """CUDA's functions inside a library, and the first one for Python, by their places; none without symbols."""
    told = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) [tT] (cuda[A-Z]\w+|PyInit_\w+)$", told, re.MULTILINE)
    return {name: int(place, 16) for place, name in found}


def lead(module: Any) -> None:
    """Overwrite a module's functions of CUDA's runtime with jumps to ours. One that we lack tells its name."""
    functions = functions_of(module.__file__)
    assert len(functions) > 100, "CuPy's module has no symbols"
    first = f"PyInit_{module.__name__.rpartition('.')[2]}"
    library, mprotect = ctypes.CDLL(module.__file__), ctypes.CDLL(None).mprotect
    known = ctypes.cast(getattr(library, first), ctypes.c_void_p).value  # its path may be another one in `maps`
    base = known - functions.pop(first)
    for name, place in functions.items():
        code = b""
        if (to := address_of(f"host_{name}")) is None:
            _names.append(ctypes.create_string_buffer(name.encode()))
            to = address_of("unsupported")
            code = b"\x48\xbf" + struct.pack("<Q", ctypes.addressof(_names[-1]))  # mov rdi, name
        code += b"\x48\xb8" + struct.pack("<Q", to) + b"\xff\xe0"  # mov rax, to; jmp rax
        at = base + place
        page = at & ~4095
        assert mprotect(ctypes.c_void_p(page), ctypes.c_size_t(at + len(code) - page), 7) == 0
        ctypes.memmove(at, code, len(code))


import cupy_backends.cuda.api.runtime  # noqa: E402

lead(cupy_backends.cuda.api.runtime)

import cupy  # noqa: E402
from cupy.cuda import compiler  # noqa: E402
from host_cuda import HostCuda  # noqa: E402
from triton_interpreter import TritonInterpreter  # noqa: E402

from untraced.kernels import ahead  # noqa: E402
from untraced.kernels.program import Program  # noqa: E402
from untraced.runtime.targets import devices  # noqa: E402

devices.cuda_present = lambda: True

# ---- kernels, by their machine code ------------------------------------------------------------------

Run = Callable[[Any, int, Any], Any]  # of the grid, the threads of a block and the arguments; what is wrong, or None
Find = Callable[[str], tuple[Run, list[int]]]  # a kernel of a module by its name, and the sizes of its parameters

IMAGES: dict[bytes, Find] = {}
modules: list[Find] = []
functions: list[Run] = []
calls: list[str] = []  # what was launched


def size_of(head: bytes) -> int:
    """Of machine code, by its first 64 bytes: as far as its table of sections; what stands for it has just these."""
    if head[:4] != b"\x7fELF":
        return len(head)
    (sections,), (size, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
    return int(sections + size * count)


def told_of_errors(hook: Callable[..., int], failed: int) -> Callable[..., int]:
    """Nothing may be raised through C."""

    @functools.wraps(hook)
    def call(*args: Any) -> int:
        try:
            return hook(*args)
        except BaseException:
            traceback.print_exc()
            return failed

    return call


def load(image: int) -> int:
    modules.append(IMAGES[ctypes.string_at(image, size_of(ctypes.string_at(image, 64)))])
    return len(modules)


def find(module: int, name: bytes, sizes: Any, count: Any) -> int:
    run, found = modules[module - 1](name.decode())
    for k, size in enumerate(found):
        sizes[k] = size
    count[0] = len(found)
    functions.append(run)
    return len(functions) - 1


def run(function: int, grid: Any, threads: int, arguments: Any) -> int:
    wrong = functions[function](grid, threads, arguments)
    assert wrong is None, wrong
    return 0


P, I, U = ctypes.POINTER, ctypes.c_int, ctypes.c_uint
_hooks = (
    ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(told_of_errors(load, 0)),
    ctypes.CFUNCTYPE(I, ctypes.c_size_t, ctypes.c_char_p, P(ctypes.c_size_t), P(I))(told_of_errors(find, -1)),
    ctypes.CFUNCTYPE(I, I, P(U), U, P(ctypes.c_void_p))(told_of_errors(run, 1)),
)


class Hooks(ctypes.Structure):
    _fields_ = tuple((name, type(hook)) for name, hook in zip(("load", "find", "run"), _hooks, strict=True))


DRIVER.set_hooks(Hooks(*_hooks))

# ---- generated kernels -----------------------------------------------------------------------------

NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool"}
NAMES |= {f"{k}{b}": f"{n}{b}" for k, n in (("i", "int"), ("u", "uint")) for b in (8, 16, 32, 64)}


def of_cuda(program: Program, name: str) -> tuple[Run, list[int]]:
    kernel = HostCuda(False).function(program, name.removeprefix(program.name))
    pointers = {n: rf"\* ?(__restrict__ )?{n}\b" for n, _ in program.signature}
    head = program.source.partition("__global__")[2].partition("{")[0]
    sizes = [8 if re.search(pointers[n], head) else np.dtype(t).itemsize for n, t in program.signature]
    meets = int("__syncthreads" in program.source or "__shfl" in program.source)
    return lambda grid, threads, given: kernel.run(grid, U(threads), given, meets), sizes


def of_triton(program: Program, name: str) -> tuple[Run, list[int]]:
    kinds = [NAMES[t.removeprefix("*")] for _, t in program.signature]
    dtypes = [np.dtype(getattr(ml_dtypes, k) if k == "bfloat16" else k) for k in kinds]
    pointers = [t.startswith("*") for _, t in program.signature]
    sizes = [8 if p else d.itemsize for p, d in zip(pointers, dtypes, strict=True)]

    def run(grid: Any, threads: int, given: Any) -> str | None:
        sent: list[Any] = []
        blocks: list[tuple[int, bytes] | None] = []
        for at, pointer, dtype in zip(given[: len(dtypes)], pointers, dtypes, strict=True):
            if not pointer:
                sent.append(np.frombuffer(ctypes.string_at(at, dtype.itemsize), dtype)[0])
                blocks.append(None)
                continue
            place, size = ctypes.c_size_t.from_address(at).value, ctypes.c_size_t()
            start = DRIVER.block_of(ctypes.c_void_p(place), ctypes.byref(size)) or place
            blocks.append((start, ctypes.string_at(start, size.value)))
            sent.append((dtype.name, blocks[-1][1], place - start))
        child = interpreter().start()
        request = (program.name, program.source, dict(program.constants), (grid[0], grid[1]), sent, pointers)
        pickle.dump(request, child.stdin)
        child.stdin.flush()
        answer = pickle.load(child.stdout)
        if isinstance(answer, str):
            return answer
        for block, made in zip(blocks, answer, strict=True):  # several may be of one block
            if block is not None:
                before, after = (np.frombuffer(b, np.uint8, len(block[1])) for b in (block[1], made))
                here = np.ctypeslib.as_array((ctypes.c_uint8 * len(before)).from_address(block[0]))
                np.copyto(here, after, where=before != after)
        return None

    return run, [*sizes, 8, 8]


@functools.cache
def interpreter() -> TritonInterpreter:
    made = TritonInterpreter()
    atexit.register(made.close)
    return made


def remember(compile_one: Callable[..., Any], finder: Callable[[Program, str], tuple[Run, list[int]]]) -> Any:
    """The compiler, with the machine code that it makes noted."""

    def compiling(program: Program, *rest: Any) -> Any:
        made = compile_one(program, *rest)

        def found(name: str) -> tuple[Run, list[int]]:
            run, sizes = finder(program, name)

            def counted(*given: Any) -> Any:
                calls.append(name)
                return run(*given)

            return counted, sizes

        IMAGES[made.cubin[: size_of(made.cubin[:64])]] = found
        return made

    return compiling


ahead._compile_cuda = remember(ahead._compile_cuda, of_cuda)
ahead._compile_triton = remember(ahead._compile_triton, of_triton)

# ---- CuPy's own kernels ------------------------------------------------------------------------------

INCLUDED = Path(cupy.__file__).parent / "_core" / "include"
PARTS = (INCLUDED, *(INCLUDED / "cupy" / "_cccl" / p for p in ("libcudacxx", "thrust", "cub")), FOLDER, HERE)
INCLUDES = [f"-I{p}" for p in PARTS] + ["-fpermissive"]


@functools.cache
def of_cupy(source: str, name: str) -> tuple[Run, list[int]]:
    if not (header := FOLDER / "cupy_on_host.h.gch").exists():
        compiled(HERE / "cupy_on_host.h", header, *INCLUDES, "-x", "c++-header")
    file = FOLDER / f"{hashlib.sha1((source + name).encode()).hexdigest()}.cpp"
    halves = "HALVES" if "float16.cuh" in source else ""
    file.write_text(f'#include "cupy_on_host.h"\n{source}\n{halves}\nCUPY_KERNEL({name})\n')
    kernel = ctypes.CDLL(str(compiled(file, file.with_suffix(".so"), "-shared", *INCLUDES)))
    kernel.run_0.restype = ctypes.c_char_p
    sizes = (ctypes.c_size_t * 64)()
    count = kernel.parameters(sizes)
    meets = int("__syncthreads" in source)
    return lambda grid, threads, given: kernel.run_0(grid, U(threads), given, meets), list(sizes[:count])


def for_the_host(source: str, options: Any = (), *rest: Any, **named: Any) -> tuple[bytes, dict[str, str]]:
    image = hashlib.sha256(f"{source}{options}".encode()).hexdigest().encode()
    IMAGES[image] = functools.partial(of_cupy, source)
    return image, {}


class Nothing:
    """In place of what CuPy has compiled before."""

    def load(self, name: str) -> None:
        return None

    def save(self, name: str, payload: bytes, source: str) -> None:
        return None


compiler._compile_using_nvrtc_no_warning = for_the_host
compiler._kernel_cache_backend = Nothing()

# ---- CUDA's libraries --------------------------------------------------------------------------------


def by_numpy(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        given = [cupy.asnumpy(a) if isinstance(a, cupy.ndarray) else a for a in args]
        if name == "matmul" and given[0].dtype.name == "bfloat16":
            assert given[0].ndim <= 2, "CuPy multiplies no batches of bfloat16"
            return cupy.asarray((given[0].astype("f4") @ given[1].astype("f4")).astype(given[0].dtype))
        assert "sort" not in name or given[0].dtype.name != "bfloat16", "CuPy sorts no bfloat16"
        made = function(*given, **named)
        return tuple(map(cupy.asarray, made)) if isinstance(made, tuple) else cupy.asarray(made)

    return call


class Numbers:
    """CuPy's generator, which is compiled code for a device."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def standard_normal(self, shape: Any, dtype: Any = np.float64) -> Any:
        return cupy.asarray(self.generator.standard_normal(shape, dtype=dtype))


LIBRARIES = {
    "": ("matmul", "sort", "argsort"),
    "fft": ("fftn", "ifftn", "rfftn", "irfftn"),
    "linalg": ("solve", "inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "svd", "qr"),
}
for part, names in LIBRARIES.items():
    for n in names:
        there, here = (getattr(m, part) if part else m for m in (cupy, np))
        setattr(there, n, by_numpy(n, getattr(here, n)))
cupy.random.default_rng = Numbers


def pytest_runtest_teardown() -> None:
    """A kernel of Triton's is sent all of its block: a long one that stays in CuPy's pool makes later tests slow."""
    cupy.get_default_memory_pool().free_all_blocks()
