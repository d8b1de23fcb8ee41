"""Launching compiled kernels on a CUDA device through CuPy.

Scalars go by value in exactly the type that the kernel takes (CuPy sends a Python int as 8 bytes whatever the kernel
expects); Triton's kernels take hidden pointers after their arguments, and blocks of exactly `num_warps * 32` threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ...translator.errors import NOWHERE, Diagnostic, TargetError, place_told
from ...translator.ir import Shape
from ...translator.records import dataclass
from ..ahead import INSTALL, Compiled, compile_program
from ..program import Launch, Program
from .backend import Backend, Recording
from .tuning import store, tuned

ALIGNMENT = 16  # bytes, and elements: what Triton's divisibility promise is about
PACK_ALIGNMENT = 32  # bytes of the longest packs: four doubles
TRIALS = 7  # runs of each schedule that is tried
DEFAULT_SHARED = 48 << 10  # dynamic shared memory that needs no permission
MAX_SHARED_OPTIN = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
LIBRARIES = "pip install 'cupy-cuda13x[ctk]', or CUDA's toolkit"
NO_DEVICE = "no CUDA device can be used"
NEED_DEVICE = (
    "see what nvidia-smi shows, whether the driver is as new as the CUDA that CuPy is made for, and whether "
    'CUDA_VISIBLE_DEVICES hides the device; or look at the kernels with f.inspect(...), or use target="cpu"'
)
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def may_pack(launch: Launch, pointers: Sequence[int]) -> bool:
    """Whether the packed twin of a CUDA kernel may run: a multiple of its packs, all arrays aligned."""
    return launch.packed > 0 and launch.packed % launch.pack == 0 and not any(p % PACK_ALIGNMENT for p in pointers)


def promises(launch: Launch, aligned: bool) -> tuple[str, ...]:
    """The parameters of which Triton may take for granted that they are multiples of 16: numbers that are, and pointers
    where all of them are `aligned`. Nothing where they are not: numbers alone let no access be wider.
    """
    if not aligned or launch.program.language != "triton":
        return ()
    named = zip(launch.program.signature, launch.arguments, strict=True)
    odd = {n for (n, _), a in named if a.role == "number" and a.value % ALIGNMENT}
    return tuple(n for n in launch.program.regular if n not in odd)


def first_line(error: Exception) -> str:
    """Of what a library says, which goes on with the folders that it has looked into."""
    return str(error).partition("\n")[0]


_NULL = np.uint64(0)


class _Variant(NamedTuple):
    """How a kernel is called. `scratch`: bytes of memory that it needs, and how many hidden pointers follow it."""

    function: Callable[..., Any]
    block: tuple[int, int, int]
    shared: int
    hidden: tuple[Any, ...] | None
    scratch: tuple[int, int] | None = None


@dataclass(slots=True)
class Loaded:
    """A kernel on one device."""

    compiled: Compiled
    function: Callable[..., Any]


class CupyBackend(Backend):
    """A CUDA device under CuPy. `language` is "triton" or "cuda"."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.xp = usable_cupy()
        self.loaded: dict[tuple[Program, tuple[str, ...], int, int], Loaded] = {}

    @property
    def architecture(self) -> int:
        """The compute capability of CuPy's current device."""
        return int(self.xp.cuda.Device(int(self.xp.cuda.runtime.getDevice())).compute_capability)

    @property
    def shared(self) -> int:
        # Asked for every plan: an attribute takes microseconds, all properties of a device more than a plan does.
        return int(self.xp.cuda.runtime.deviceGetAttribute(MAX_SHARED_OPTIN, self.place()))

    @property
    def uninitialised(self) -> Callable[[Shape, Any], Any]:
        made: Callable[[Shape, Any], Any] = self.xp.ndarray  # a quarter of cupy.empty's time is spent around it
        return made

    @contextmanager
    def refusals_told(self) -> Iterator[None]:
        """What is missing becomes a TargetError at the user's line: memory (what was asked for, what is free), or a
        library of CUDA, which CuPy loads when it is first needed.
        """
        try:
            yield
        except self.xp.cuda.memory.OutOfMemoryError as error:
            free, whole = self.xp.cuda.runtime.memGetInfo()
            why = f"{first_line(error).rstrip('.')}; {free:,} of the device's {whole:,} bytes are free"
            instead = "work on smaller pieces, or let go of arrays; CuPy's pool gives memory back by free_all_blocks()"
            what, span = "too little device memory", place_told(error) or NOWHERE
            raise TargetError(Diagnostic(what, span, why=why, instead=instead)) from error
        except _library_errors() as error:
            what, span = "a library of CUDA is not installed", place_told(error) or NOWHERE
            raise TargetError(Diagnostic(what, span, why=first_line(error), instead=LIBRARIES)) from error

    def asarray(self, value: Any) -> Any:
        """A NumPy array or scalar in device memory. A dtype that CuPy does not have raises TargetError."""
        try:
            return self.xp.asarray(value)
        except (TypeError, ValueError) as error:
            name = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
            what, why = f"CuPy has no arrays of {name}", f"CuPy says: {error}"
            raise TargetError(Diagnostic(what, why=why, instead='use target="cpu"')) from error

    def prepare(self, launch: Launch) -> Callable[..., None]:
        """The launch on the current device and CuPy's current stream, with only the variant left to decide.

        def launch(x, y, t):
            key = device(), (x.data.ptr | y.data.ptr | t.data.ptr) % 16     # 0: what alignment promises holds
            function, block, shared, hidden, scratch = variants.get(key) or variant(*key, ...)
            function(grid, block, (x, y, t, n0, n1, *hidden), shared)
        """
        variants = _Variants(self, launch)
        namespace: dict[str, Any] = {
            "device": self.xp.cuda.runtime.getDevice,
            "variants": variants.known,
            "variant": variants.find,
            "with_scratch": variants.with_scratch,
            "grid": (*launch.grid, 1),
        }
        text = _source_of_launch(launch, variants.promise, namespace)
        exec(compile(text, f"<launch of {launch.program.name}>", "exec"), namespace)
        made: Callable[..., None] = namespace["launch"]
        return made

    @property
    def device_name(self) -> str:
        """The name of CuPy's current device, under which schedules are kept."""
        properties = self.xp.cuda.runtime.getDeviceProperties(self.place())
        name = properties["name"]
        return f"{name.decode() if isinstance(name, bytes) else name} sm_{self.architecture}"

    def seconds(self, run: Callable[[], None]) -> float:
        """The shortest of some runs by the device's clock, after one that is not counted."""
        run()
        found = []
        for _ in range(TRIALS):
            start, end = self.xp.cuda.Event(), self.xp.cuda.Event()
            start.record()
            run()
            end.record()
            end.synchronize()
            found.append(1e-3 * float(self.xp.cuda.get_elapsed_time(start, end)))
        return min(found)

    def fetched(self, x: Any) -> np.ndarray[Any, Any]:
        host: np.ndarray[Any, Any] = self.xp.asnumpy(x)
        return host

    def place(self) -> int:
        return int(self.xp.cuda.runtime.getDevice())

    def record(self, loop: Callable[..., tuple[Any, ...]], values: Sequence[Any]) -> Recording | None:
        """A CUDA graph. None where CuPy refuses to capture, as for what waits or allocates outside its pool, and
        where the device has no room for the graph's arrays.
        """
        from .graphs import Graph

        cuda = self.xp.cuda
        errors = cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError, cuda.memory.OutOfMemoryError
        try:
            return Graph(self.xp, loop, values)
        except (*errors, NotImplementedError):  # which is CuPy's word for a library in a capture
            return None

    def load(self, program: Program, promised: tuple[str, ...], pack: int) -> Loaded:
        device = int(self.xp.cuda.runtime.getDevice())
        key = (program, promised, pack, device)
        if key not in self.loaded:
            most = max(DEFAULT_SHARED, self.shared)
            compiled = compile_program(program, self.architecture, promised)
            for stages in (2, 1) if program.language == "triton" else ():
                if compiled.shared > most:
                    compiled = compile_program(program, self.architecture, promised, stages)
            if compiled.shared > most:
                what = f"the kernel {program.name} needs {compiled.shared:,} bytes of shared memory"
                why = f"a block has at most {self.shared:,} on this device"
                raise TargetError(Diagnostic(what, why=why, instead='use target="cuda", or target="cpu"'))
            module = self.xp.cuda.function.Module()
            module.load(compiled.cubin)
            function = module.get_function(f"{compiled.entry}_by{pack}" if pack else compiled.entry)
            if compiled.shared > DEFAULT_SHARED:
                from cupy_backends.cuda.api import driver

                driver.funcSetAttribute(function.ptr, MAX_DYNAMIC_SHARED, compiled.shared)
            self.loaded[key] = Loaded(compiled, function)
        return self.loaded[key]


class _Variants:
    """The variants of one launch: by the device, and by whether all arrays are aligned as `promise` says."""

    def __init__(self, backend: CupyBackend, launch: Launch) -> None:
        self.backend, self.launch = backend, launch
        self.triton = launch.program.language == "triton"
        promise = ALIGNMENT if self.triton else PACK_ALIGNMENT
        self.promise = promise if self.triton or may_pack(launch, ()) else 1
        self.known: dict[tuple[int, int], _Variant] = {}

    def find(self, device: int, misaligned: int, arguments: tuple[Any, ...]) -> _Variant:
        """The variant for a call with these arguments, which may try out several."""
        promised = self.promise > 1 and not misaligned

        def seconds(chosen: Launch) -> float:
            try:
                function, block, shared, hidden, scratch = self._loaded(chosen, promised)
                hidden = self.with_scratch(*scratch) if scratch else hidden
                given = (*arguments, *(hidden or ()))
                return self.backend.seconds(lambda: function((*self.launch.grid, 1), block, given, shared))
            except (TargetError, self.backend.xp.cuda.driver.CUDADriverError):
                return math.inf  # such a block has too few registers, or too little shared memory

        chosen = tuned(self.launch, self.backend.device_name, seconds) if store() else self.launch
        return self.known.setdefault((device, misaligned), self._loaded(chosen, promised))

    def _loaded(self, chosen: Launch, promised: bool) -> _Variant:
        pack = 0 if self.triton or not promised else chosen.pack
        kernel = self.backend.load(chosen.program, promises(chosen, promised), pack)
        made = kernel.compiled
        blocks = chosen.grid[0] * chosen.grid[1]
        hidden = (_NULL,) * made.hidden if not made.scratch else None
        found = _Variant(kernel.function, (made.threads or chosen.block, 1, 1), made.shared, hidden)
        return found._replace(scratch=(blocks * made.scratch, made.hidden - 1)) if made.scratch else found

    def with_scratch(self, size: int, others: int) -> tuple[Any, ...]:
        """Hidden arguments, the first of them memory of this size."""
        return (self.backend.xp.empty(size, np.uint8), *(_NULL,) * others)


def _source_of_launch(launch: Launch, promise: int, namespace: dict[str, Any]) -> str:
    """The source of `launch`, whose numbers and types are put into the namespace."""
    parameters, arguments, pointers = [], [], []
    for k, a in enumerate(launch.arguments):
        if a.role == "number":
            namespace[f"n{k}"] = a.dtype.type(a.value)
            arguments.append(f"n{k}")
            continue
        parameters.append(f"x{k}")
        if a.role == "scalar":
            namespace[f"t{k}"] = a.dtype.type
            arguments.append(f"t{k}(x{k})")
        else:
            arguments.append(f"x{k}")
            pointers.append(f"x{k}.data.ptr")
    return (
        f"def launch({', '.join(parameters)}):\n"
        f"    key = device(), ({' | '.join(pointers) or '0'}) % {promise}\n"
        "    function, block, shared, hidden, scratch = variants.get(key) "
        f"or variant(*key, ({''.join(f'{a}, ' for a in arguments)}))\n"
        "    if scratch:\n"
        "        hidden = with_scratch(*scratch)\n"
        f"    function(grid, block, ({', '.join(arguments)}, *hidden), shared)\n"
    )


def usable_cupy() -> Any:
    """CuPy, where it sees a device. TargetError says what is missing."""
    try:
        import cupy
    except ImportError:
        raise TargetError(f"the targets 'triton' and 'cuda' need CuPy: {INSTALL}") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise TargetError(Diagnostic(NO_DEVICE, why=first_line(error), instead=NEED_DEVICE)) from None
    if count == 0:
        raise TargetError(Diagnostic(NO_DEVICE, why="CUDA's runtime counts 0 of them", instead=NEED_DEVICE))
    return cupy


def _library_errors() -> tuple[type[Exception], ...]:
    """What CuPy raises where a library of CUDA is not there, by how it looks for it."""
    try:
        return ImportError, import_module("cuda.pathfinder").DynamicLibNotFoundError
    except ImportError:
        return (ImportError,)
