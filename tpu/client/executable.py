"""XLA on the CPU through jaxlib alone: compiled programs, buffers in and out of NumPy.

    executable = compile(emit(function))
    executable.run_numpy([x, y])       # NumPy in, fresh writable NumPy arrays out
    executable.run([buffer, y])        # device buffers out
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...translator.errors import Diagnostic, OtherClassError, TargetError
from ...translator.ir import DType, Shape
from ...translator.spans import span
from ..emit.checks import Check, failed, raise_failed
from ..emit.linalg import CALLS, register_calls
from ..emit.program import Emitted
from ..emit.subnormals import keeping_subnormals
from ..shaping.apart import LOOP_BYTES, MARK
from ..shaping.copy_guard import copied_in_loops, copies_too_much
from ..shaping.fusion_guard import swallows_products
from ..shaping.older_emitters import made_sooner, suits_older_emitters
from ..shaping.partitions import divides_in_vain, plainly_in_vain
from ..shaping.repeats import repeats
from . import host_abi, host_calls, names
from .memory import SMALLEST as LEAST_SPARE
from .memory import memory_program
from .names import Name, named
from .options import Flags, compile_options
from .platform import Platform, one_device, platform
from .stored import compile_or_load
from .temporaries import keeping, worth_keeping

Buffer = Any
"""A device array of XLA (`jaxlib._jax.ArrayImpl`)."""
CALLS_KEPT = 1000  # calls whose remains jaxlib may keep: letting go of them takes 8 us

COPY_LIMIT = 1 << 15  # bytes: larger results are handed out without a copy
STAGING_LIMIT = 1 << 28  # bytes of aligned memory kept for arguments
LOOP_OPTION = "xla_cpu_small_while_loop_byte_threshold"
"""Loops whose iterations touch fewer bytes become one native function each, where XLA would dispatch every operation
of every iteration: 1.3 to 5 times faster, and compiled faster. (The attribute `xla_cpu_small_call` on an outlined call
does the same, but aborts the process when an argument of the call turns out to be unused.)
"""
OBJECT = np.dtype(object)
"""What NumPy makes of a buffer whose computation failed: an array that holds the buffer."""
ALIGNMENT = 64  # XLA's CPU kernels load whole vectors


class DeviceAval:
    """The attributes that jaxlib reads of an array's type."""

    __slots__ = ("dtype", "ndim", "shape", "weak_type")

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype, self.weak_type, self.ndim = shape, dtype, False, len(shape)


# ---- buffers -------------------------------------------------------------------------------------


def to_device(
    x: Any, dtype: DType | None = None, number: int = 0, p: Platform | None = None, lent: bool = False
) -> Buffer:
    """A device buffer with a copy of `x`; later writes to `x` do not show in it. `lent`: nobody writes while the buffer
    lives, which is then the array's own memory where that is aligned.
    """
    p = p or platform()
    array = host_array(x, dtype)
    aval = DeviceAval(array.shape, array.dtype)
    device = p.local[number]
    sharding = p.sharding if number == 0 else one_device(p.jaxlib, p.xla_client, device)
    return p.put(aval, sharding, [array], [device], False, False, p.lending if lent else p.copying, True)


def view(buffer: Buffer, aval: DeviceAval | None = None) -> np.ndarray[Any, Any]:
    """A read-only view of a buffer's memory, which it keeps alive. Waits for the value. `aval`: its type, where the
    buffer does not know.
    """
    aval = aval or buffer.aval
    dtype = aval.dtype
    if dtype.kind != "V":
        return value(buffer)
    bits = np.dtype(f"u{dtype.itemsize}")  # bfloat16 has no code in the buffer protocol
    array: np.ndarray[Any, Any] = np.asarray(_Owned(buffer, _address(buffer), aval.shape, bits.str))
    array = array.view(dtype)
    array.setflags(write=False)
    return array


def value(buffer: Buffer) -> np.ndarray[Any, Any]:
    """The value of a buffer of any dtype but bfloat16. Raises XLA's error where there is no value."""
    array = np.asarray(buffer)
    if array.dtype is OBJECT:
        buffer.block_until_ready()
    return array


def _address(buffer: Buffer) -> int:
    """The address of a buffer's memory. jaxlib's own way to ask imports jax, DLPack's does not."""
    capsule = platform().jaxlib.buffer_to_dlpack_managed_tensor(buffer.block_until_ready())
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = pointer(capsule, b"dltensor")
    return ctypes.c_void_p.from_address(tensor).value or 0  # the first field of a DLManagedTensor


def host_array(x: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """`x` as a native, row-major NumPy array."""
    array = np.asarray(x, dtype, order="C")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


class _Owned:
    """Makes NumPy treat memory as its own: the array keeps this object, this object keeps the memory's owner."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, address: int, shape: Shape, typestr: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "data": (address, False)}


def release(buffer: Buffer) -> np.ndarray[Any, Any]:
    """The value of a buffer that nobody else holds, as a writable array: a copy when small, its own memory when large.

    XLA gives every result fresh memory (a parameter that is returned is copied), so nothing else sees the writes.
    """
    array = view(buffer)
    if array.nbytes <= COPY_LIMIT:
        return array.copy()
    address = array.__array_interface__["data"][0]
    if array.dtype.kind == "V":
        return np.asarray(_Owned(buffer, address, array.shape, f"<u{array.dtype.itemsize}")).view(array.dtype)
    return np.asarray(_Owned(buffer, address, array.shape, array.dtype.str))


class Staging:
    """Aligned memory for arguments that XLA cannot read in place; kept between calls, since fresh pages are slow."""

    def __init__(self) -> None:
        self._free: dict[int, list[np.ndarray[Any, Any]]] = {}
        self._held = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> np.ndarray[Any, Any]:
        with self._lock:
            kept = self._free.get(size)
            if kept:
                self._held -= size
                return kept.pop()
        raw = np.empty(size + ALIGNMENT, np.uint8)
        offset = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[offset : offset + size]

    def give(self, block: np.ndarray[Any, Any]) -> None:
        with self._lock:
            if self._held + block.nbytes <= STAGING_LIMIT:
                self._held += block.nbytes
                self._free.setdefault(block.nbytes, []).append(block)


_staging = Staging()


class Spare:
    """Memory of results that nobody looks at any more: what a program has computed of an argument that it writes, once
    the caller's array has it. The next result of that type gets it.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[Shape, DType], list[Buffer]] = {}
        self._held = 0
        self._lock = threading.Lock()

    def take(self, shape: Shape, dtype: DType) -> Buffer | None:
        with self._lock:
            kept = self._free.get((shape, dtype))
            if not kept:
                return None
            self._held -= math.prod(shape) * dtype.itemsize
            return kept.pop()

    def give(self, array: np.ndarray[Any, Any]) -> None:
        owner: Any = array.base
        while type(owner) is np.ndarray:
            array, owner = owner, owner.base
        if type(owner) is not _Owned or array.nbytes < LEAST_SPARE or array.dtype.kind == "V":
            return
        with self._lock:
            if self._held + array.nbytes <= STAGING_LIMIT:
                self._held += array.nbytes
                self._free.setdefault((array.shape, array.dtype), []).append(owner.owner)


spare = Spare()


def let_go(array: np.ndarray[Any, Any]) -> None:
    """Tell that a result of `run_numpy` is not used any more."""
    spare.give(array)


class FastPathData(NamedTuple):
    """The record that jaxlib's dispatch reads after a miss; the names are jaxlib's."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Any
    out_shardings: Any
    out_avals: Any
    out_committed: Any
    kept_var_bitvec: Any
    in_device_local_layouts: Any
    const_args: Any


# ---- compiled programs ---------------------------------------------------------------------------


def compile(
    program: Emitted,
    extra: Mapping[str, str] | None = None,
    *,
    ynn_reductions: bool | None = None,
    waits: bool = False,
) -> Executable:
    """Compile for the CPU. `extra` are XLA's backend options; `waits` says that calls wait for their results (see
    `platform`). Raises TargetError with the compiler's message.
    """
    p = platform(waits)
    return Executable(program, *loaded(program, extra, ynn_reductions=ynn_reductions, p=p), p)


def loaded(
    program: Emitted,
    extra: Mapping[str, str] | None = None,
    *,
    ynn_reductions: bool | None = None,
    assignment: Any = None,
    p: Platform | None = None,
) -> tuple[Name, Any]:
    """The name it goes by, and XLA's own executable, for the first device or those of an `assignment`.

    `ynn_reductions`: whether YNNPACK may fuse reductions with products; by default not where it makes one slow kernel
    of several products (see `fusion_guard`).
    """
    with span(f"compile {program.name}"):
        name, under_it = named(program)
        compiled = functools.partial(_compile, p or platform(), assignment)
        return name, _best(under_it, compiled, extra, ynn_reductions)


def _best(
    program: Emitted, compiled: Callable[..., Any], extra: Mapping[str, str] | None, ynn_reductions: bool | None
) -> Any:
    """The program, compiled again with other options where XLA's first choice is slow."""
    loops = "stablehlo.while" in program.text
    older, apart = suits_older_emitters(program.text), MARK in program.text
    extra = {LOOP_OPTION: str(0 if apart else LOOP_BYTES), **(extra or {})} if loops else extra
    once = not older and repeats(program.text)
    sooner, whole = made_sooner(program.text), plainly_in_vain(program.text)
    flags = Flags(ynn_reductions is not False, once=once, older_emitters=older or sooner, apart=apart, whole=whole)
    made = compiled(program, extra, flags)
    if ynn_reductions is None and swallows_products(program.text, made):
        flags = replace(flags, ynn_reductions=False)
        made = compiled(program, extra, flags)
    if not (whole or flags.older_emitters) and divides_in_vain(program.text, made):
        flags = replace(flags, whole=True)
        made = compiled(program, extra, flags)
    if loops and copies_too_much(made, program.text):
        other = compiled(program, {**(extra or {}), LOOP_OPTION: "0"}, replace(flags, region_analysis=True))
        made = other if copied_in_loops(other) < copied_in_loops(made) else made
    return made


def _compile(
    p: Platform, assignment: Any, program: Emitted, extra: Mapping[str, str] | None, flags: Flags
) -> Any:
    if f"@{CALLS}" in program.text:
        register_calls()
    if f"@{host_calls.TARGET}" in program.text:
        host_abi.register(host_calls.TARGET, host_calls.find)
    if program.natives:
        from .. import compiler

        compiler.register(program.natives)
    options = compile_options(p.xla_client, extra, flags)
    devices = p.devices
    if assignment is not None:
        devices = assignment.devices
        assignment.put_into(options)
    try:
        return compile_or_load(p.client, keeping_subnormals(program, p), devices, options)
    except RuntimeError as error:
        raise backend_error(f"XLA cannot compile {program.name}", error) from error


def backend_error(what: str, error: Exception) -> TargetError:
    """The first line of a backend's message; the rest is the backend's own stack."""
    lines = str(error).strip().splitlines()
    return TargetError(Diagnostic(what, why=lines[0][:500] if lines else type(error).__name__))


class Loaded:
    """A program compiled by XLA, to be looked into."""

    def __init__(self, program: Emitted, name: Name, loaded: Any) -> None:
        self.program = program
        self.name = name
        self.loaded = loaded
        names.register(name, self)

    @property
    def hlo(self) -> str:
        """The optimised HLO."""
        text: str = self.loaded.hlo_modules()[0].to_string()
        return text

    @property
    def cost(self) -> dict[str, float]:
        """XLA's cost analysis: flops, bytes accessed, ..."""
        return dict(self.loaded.cost_analysis())

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of arguments, results, temporaries and code."""
        return memory_stats(self.loaded.get_compiled_memory_stats())


class Executable(Loaded):
    """A compiled program. `call(*buffers) -> tuple of buffers` is the leanest way in: device buffers of the right
    types only, results (the flag last where there are checks).
    """

    def __init__(self, program: Emitted, name: Name, loaded: Any, p: Platform) -> None:
        super().__init__(program, name, loaded)
        self.checks: tuple[Check, ...] = program.checks
        self._arg_avals = [DeviceAval(a.shape, a.dtype) for a in program.args]
        flag = [DeviceAval((), np.dtype(np.int64))] if program.checks else []
        self._out_avals = [DeviceAval(a.shape, a.dtype) for a in program.results] + flag
        self._count = len(program.results)
        self._platform = p
        self.hosted = f"@{host_calls.TARGET}" in program.text
        self.listens = any(n.listens for n in program.natives)
        call = _fast_callable(p, program.name, loaded, self._arg_avals, self._out_avals)
        self.call = _waiting(call) if self.hosted else call

    def launch_text(self, arguments: Sequence[str], names: dict[str, Any]) -> str:
        """An expression for the list of results, given expressions for buffers of the right types alone. It skips the
        signature that `call` makes of them, 0.7 of its 4 us.

        jaxlib keeps 70 to 160 bytes of every such call until it is told to let go of them.
        """
        handlers = _handlers(self._platform, self._out_avals)

        def collected() -> list[Any]:
            self._platform.jaxlib.collect_garbage()
            return handlers

        names |= {"execute": self.loaded.execute_sharded, "handlers": handlers, "collected": collected}
        names["early"] = itertools.cycle((*(True,) * CALLS_KEPT, False)).__next__
        given = ", ".join(arguments)
        return f"execute([{given}]).consume_with_handlers(handlers if early() else collected())"

    # ---- running --------------------------------------------------------------------------------

    def run(self, leaves: Sequence[Any]) -> list[Buffer]:
        """Buffers of the results. NumPy arrays and numbers are copied to the device first.

        With checks the last buffer is the flag: pass it to `check`.
        """
        return list(self.call(*_buffers(self._platform, leaves, self._arg_avals)))

    def check(self, results: Sequence[Buffer]) -> None:
        """Wait for the flag of `run`'s results, which become Arrays, and raise what it says, but where it is what
        Arrays do not tell apart. Does nothing without checks.
        """
        if self.checks:
            flag = int(value(results[-1]))
            if failed(self.checks, flag) is not OtherClassError:
                raise_failed(self.checks, flag)

    def run_numpy(self, leaves: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Fresh, writable NumPy arrays. Raises IndexError or ValueError where a check of the program fails."""
        staged: list[np.ndarray[Any, Any]] = []
        shifts = self.program.shifts
        arguments = [
            _staged(x, shifts.get(k, 0), staged) if type(x) is np.ndarray and x.nbytes > COPY_LIMIT else x
            for k, x in enumerate(leaves)
        ]
        arguments += self._memory()
        with keeping() if self._keeps else nullcontext():
            results = self.call(*arguments) if "jax" not in sys.modules else self.call_beside_jax(arguments)
        if self.checks:
            raise_failed(self.checks, int(value(results[-1])))
        outputs = [release(r) for r in results[: self._count]]
        self._platform.jaxlib.collect_garbage()  # jaxlib lets go of arguments at its next call
        for block in staged:  # the results are there, so the arguments have been read
            _staging.give(block)
        return outputs

    @functools.cached_property
    def _keeps(self) -> bool:
        return worth_keeping(self.memory["temporary"])

    def _memory(self) -> Sequence[Buffer]:
        """The memory that `run_numpy` provides for large results."""
        types = tuple((self.program.results[k].shape, self.program.results[k].dtype) for k in self.program.given)
        own = self._platform is platform(waits=True)
        found = [spare.take(*t) if own else None for t in types]
        missing = tuple(t for t, buffer in zip(types, found, strict=True) if buffer is None)
        made = iter(_memory_executable(missing, self._platform).run([]) if missing else ())
        return [next(made) if buffer is None else buffer for buffer in found]

    def call_beside_jax(self, arguments: Sequence[Any]) -> tuple[Buffer, ...]:
        """`call` with any arguments: jax's own switch, when it says 32 bits, would narrow those of 64."""
        x64 = self._platform.jax_x64
        if x64 is None:
            x64 = self._platform.find_jax_x64()
        if x64 is None:  # jax is in the middle of being imported
            return tuple(self.run(arguments))
        if x64.value:
            wide: tuple[Buffer, ...] = self.call(*arguments)
            return wide
        before = x64.swap_local(True)
        try:
            results: tuple[Buffer, ...] = self.call(*arguments)
            return results
        finally:
            x64.set_local(before)


@functools.lru_cache(maxsize=64)
def _memory_executable(types: tuple[tuple[Shape, DType], ...], p: Platform) -> Executable:
    return compile(memory_program(types), waits=p is platform(waits=True))


def memory_stats(stats: Any) -> dict[str, int]:
    """The fields of XLA's CompiledMemoryStats that say something on every backend."""
    return {
        "argument": stats.argument_size_in_bytes,
        "output": stats.output_size_in_bytes,
        "alias": stats.alias_size_in_bytes,
        "temporary": stats.temp_size_in_bytes,
        "code": stats.generated_code_size_in_bytes,
    }


def misplaced(array: np.ndarray[Any, Any]) -> int:
    """How many of its elements an array lies behind a place where XLA reads it; -1 if it does not lie so."""
    elements, odd = divmod(array.__array_interface__["data"][0] % ALIGNMENT, array.itemsize)
    return elements if array.flags.c_contiguous and not odd else -1


def _staged(
    array: np.ndarray[Any, Any], shift: int, staged: list[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """The array itself where XLA can read it in place, else a copy in aligned memory that is listed in `staged`; flat
    with what lies in front of it where the program wants it `shift` elements behind.
    """
    front = shift * array.itemsize
    if misplaced(array) == shift:
        if not shift:
            return array
        address = array.__array_interface__["data"][0] - front
        return np.asarray(_Owned(array, address, (array.size + shift,), array.dtype.str))
    block = _staging.take(array.nbytes + front)
    staged.append(block)
    np.copyto(block[front:].view(array.dtype).reshape(array.shape), array)
    return block.view(array.dtype) if shift else block.view(array.dtype).reshape(array.shape)


def _fast_callable(
    p: Platform, name: str, loaded: Any, in_avals: list[DeviceAval], out_avals: list[DeviceAval]
) -> Any:
    """jaxlib's C++ dispatch: after the first call with these types, no Python runs between argument and result."""
    _jax = p.jaxlib
    _, out_tree = p.trees.flatten((1.0,) * len(out_avals))
    in_count, count = len(in_avals), len(out_avals)
    shardings = [p.sharding] * in_count, [p.sharding] * count
    no_layouts = [None] * in_count
    fast = FastPathData(
        loaded, out_tree, *shardings, out_avals, [False] * count, [True] * in_count, no_layouts, []
    )
    handlers = _handlers(p, out_avals)

    def cache_miss(*arguments: Any) -> tuple[Any, FastPathData | None, bool]:
        exact = all(map(_has_type, arguments, in_avals))
        buffers = _buffers(p, arguments, in_avals, lent=True)
        results = loaded.execute_sharded(buffers).consume_with_handlers(handlers)
        return tuple(results), fast if exact else None, False

    def own() -> None:
        """What jaxlib would run. It forgets the program when this is gone: one for all would hold every program."""

    return _jax.pjit(
        name, own, cache_miss, [], [], object(), p.trees, _not_a_buffer, _jax.PjitFunctionCache(capacity=16)
    )


def _buffers(
    p: Platform, values: Sequence[Any], avals: Sequence[DeviceAval], lent: bool = False
) -> list[Buffer]:
    return [
        x if type(x) is p.buffer_type else to_device(x, a.dtype, p=p, lent=lent)
        for x, a in zip(values, avals, strict=True)
    ]


def _waiting(call: Any) -> Any:
    """A call that returns when its results are there: no signal may enter Python while XLA does (`running`)."""

    def run(*arguments: Any) -> tuple[Buffer, ...]:
        with host_abi.running():
            results: tuple[Buffer, ...] = call(*arguments)
            for r in results:
                r.block_until_ready()
            return results

    return run


def _handlers(p: Platform, out_avals: list[DeviceAval]) -> list[Any]:
    """The function that makes arrays of the raw results."""
    make = p.jaxlib.array_result_handler
    return [make(a, p.sharding, committed=False, _skip_checks=True) for a in out_avals]


def _has_type(x: Any, aval: DeviceAval) -> bool:
    """Whether an argument has exactly the type that the program was compiled for, before any conversion."""
    own = getattr(x, "aval", None) or np.asarray(x)
    return bool(own.dtype == aval.dtype and own.shape == aval.shape)


def _not_a_buffer(*arguments: Any) -> None:
    raise TypeError(f"device buffers are needed, not {[type(a).__name__ for a in arguments]}")
