"""The child process of `triton_interpreter.py`. TRITON_INTERPRET=1 is set before it starts."""

from __future__ import annotations

import linecache
import math
import os
import pickle
import sys
import traceback
from typing import Any

import ml_dtypes
import numpy as np
import ptx_on_host
import triton.language as tl
from scipy import special
from triton.runtime import interpreter

GUARD = 1 << 16  # bytes beside each argument that belong to none, so that what misses one does not meet another


class Pointer:
    """Memory in the form that Triton's launcher takes for a tensor."""

    def __init__(self, dtype: str, memory: bytes, offset: int) -> None:
        self.dtype = dtype
        size = len(memory) or 8
        self.bytes = np.zeros(GUARD + size + GUARD, np.uint8)[GUARD:-GUARD]
        self.bytes[: len(memory)] = np.frombuffer(memory, np.uint8)
        self.offset = offset

    def data_ptr(self) -> int:
        return int(self.bytes.ctypes.data) + self.offset

    def untyped_storage(self) -> Pointer:
        return self

    def cpu(self) -> Pointer:
        return self

    def new_empty(self, *args: Any, **kwargs: Any) -> Pointer:
        return self

    def set_(self, *args: Any) -> None:
        return None

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.bytes.shape

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def copy_(self, other: Any) -> Pointer:
        return self


def scalar(value: np.generic) -> Any:
    """A number by value in exactly its type: left to itself the interpreter would guess from its size."""
    dtype = {"bool": tl.int1}.get(value.dtype.name) or getattr(tl, value.dtype.name)
    return tl.tensor(interpreter.TensorHandle(np.array([value]), dtype), dtype)


# ---- a libdevice of NumPy functions --------------------------------------------------------------

UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "erf": special.erf, "erfc": special.erfc, "lgamma": special.gammaln,
}  # fmt: skip
BINARY = {
    "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign,
}  # fmt: skip
PREDICATES = {"signbit": np.signbit, "isnan": np.isnan, "isinf": np.isinf}


def _stand_in(function: Any, predicate: bool) -> Any:
    def call(*args: Any) -> Any:
        tensors = [interpreter.interpreter_semantic.to_tensor(a) for a in args]
        dtype = tensors[0].dtype
        assert all(t.dtype == dtype for t in tensors), "libdevice functions take arguments of one type"
        assert dtype in (tl.float32, tl.float64), f"libdevice functions take float32 and float64, not {dtype}"
        kind = np.float32 if dtype == tl.float32 else np.float64
        with np.errstate(all="ignore"):
            data = np.asarray(function(*(t.handle.data.astype(kind) for t in tensors)))
        result = tl.int32 if predicate else dtype
        data = data.astype(np.int32 if predicate else kind)
        shaped = [t.type for t in tensors if isinstance(t.type, tl.block_type)]
        kind_of_result = tl.block_type(result, list(data.shape)) if shaped else result
        return tl.tensor(interpreter.TensorHandle(data, result), kind_of_result)

    return staticmethod(call)


functions = {n: _stand_in(f, False) for n, f in {**UNARY, **BINARY}.items()}
functions |= {n: _stand_in(f, True) for n, f in PREDICATES.items()}
libdevice = type("libdevice", (), functions)


# ---- what the interpreter does not do right ------------------------------------------------------

EXACT = {tl.bfloat16: ml_dtypes.bfloat16, tl.float16: np.float16, tl.float32: np.float32, tl.float64: np.float64}
_convert_float = interpreter._convert_float


def convert_float(x: Any, source: Any, target: Any, rounding: Any) -> Any:
    """Conversions between floating-point types by NumPy: the interpreter reads bfloat16 as bare bits."""
    if source not in EXACT or target not in EXACT:
        return _convert_float(x, source, target, rounding)
    numbers = x if x.dtype.kind == "b" else np.ascontiguousarray(x).view(EXACT[source])  # compared: not converted yet
    converted = numbers.astype(EXACT[target])
    return converted.view(getattr(np, f"uint{target.primitive_bitwidth}")).reshape(x.shape)


_cast = interpreter.InterpreterBuilder.cast_impl


def cast(self: Any, x: Any, target: Any) -> Any:
    """Conversions from and to bfloat16, of which the interpreter knows those of float32 alone."""
    if tl.bfloat16 not in (x.dtype.scalar, target.scalar):
        return _cast(self, x, target)
    numbers = np.ascontiguousarray(x.data)
    numbers = numbers.view(EXACT[tl.bfloat16]) if x.dtype.scalar == tl.bfloat16 else numbers
    if target.scalar == tl.bfloat16:
        converted = numbers.astype(EXACT[tl.bfloat16]).view(np.uint16)
    else:
        converted = numbers.astype(numpy_dtype(target))
    return interpreter.TensorHandle(converted, target.scalar)


def folded(self: Any, inputs: Any) -> Any:
    """A reduction by any function, halving the axis each time; the interpreter goes element by element."""
    (x,) = inputs
    data = x.handle.data
    while data.shape[self.axis] > 1:
        first, second = np.split(data, 2, axis=self.axis)
        data = self.combine_fn.fn(self.to_tensor(first, x.dtype), self.to_tensor(second, x.dtype)).handle.data
    if not self.keep_dims:
        data = np.squeeze(data, self.axis)
    return [self.to_tensor(data, x.dtype)]


def dot(self: Any, a: Any, b: Any, d: Any, precision: Any, imprecise: Any) -> Any:
    """A product of numbers: the interpreter would multiply the bits of bfloat16."""
    x, y = (np.ascontiguousarray(t.data).view(EXACT[t.dtype.scalar]).astype(d.data.dtype) for t in (a, b))
    return interpreter.TensorHandle(np.matmul(x, y) + d.data, d.dtype.scalar)


def splat(self: Any, whole: Any, x: Any) -> Any:
    """A block of one value, of the block's type: the interpreter takes what was compared for a comparison's."""
    dtype = numpy_dtype(whole.scalar)
    return interpreter.TensorHandle(np.full(whole.shape, np.asarray(x.data).flat[0], dtype), whole.scalar)


# ---- what the interpreter does again and again: a third of its time -----------------------------------

_get_np_dtype, _patch_lang = interpreter._get_np_dtype, interpreter._patch_lang
numpy_dtypes: dict[str, Any] = {}
interpreted: set[str] = set()


def numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for elements of Triton's; looked up by name, not in a table that is made for the question."""
    kind = dtype.scalar
    if kind.name not in numpy_dtypes:
        numpy_dtypes[kind.name] = _get_np_dtype(kind)
    return numpy_dtypes[kind.name]


class Stays:
    """What is interpreted stays so: there is nothing else in this process."""

    def restore(self) -> None:
        return None


def patch_lang_once(function: Any) -> Stays:
    """Triton's language made the interpreter's, for each of the modules by which a function may know it."""
    known = {v.__name__ for v in function.__globals__.values() if v is tl or v is tl.core}
    if not known <= interpreted:
        _patch_lang(function)
        interpreted.update(known)
    return Stays()


# ---- what no order of programs promises ------------------------------------------------------------

MANY = -2


class Watched:
    """An array of the kernel that runs: which program has written each byte, or read it; -1: none, MANY: several."""

    def __init__(self, array: Pointer, written: bool) -> None:
        self.start, self.written = array.bytes.ctypes.data, written
        self.writers, self.readers = (np.full(array.bytes.size, -1, np.int64) for _ in range(2))


watched: list[Watched] = []


def watch(builder: Any, addresses: Any, mask: Any, size: int, access: str) -> None:
    """AssertionError where an access is outside of all arrays, or meets one of another program, or reads what its own
    program has stored, which other threads of it may not see yet.
    """
    at = np.asarray(addresses).reshape(-1)[np.broadcast_to(mask, np.shape(addresses)).reshape(-1).astype(bool)]
    at = at.astype(np.int64)
    here = int(builder.grid_idx[0]) + int(builder.grid_idx[1]) * int(builder.grid_dim[0])
    for a in watched:
        inside = (at >= a.start) & (at + size <= a.start + a.writers.size)
        if not inside.any():
            continue
        places = (at[inside] - a.start)[:, None] + np.arange(size)
        at = at[~inside]
        if access == "load":
            assert (a.writers[places] == -1).all(), "a race: a program reads what it, or another one, writes"
            others = (a.readers[places] != -1) & (a.readers[places] != here)
            a.readers[places] = np.where(others, MANY, here)
            continue
        assert a.written, "a program writes into an argument"
        readers, writers = a.readers[places], a.writers[places]
        assert ((readers == -1) | (readers == here)).all(), "a race: a program writes what another one reads"
        assert access == "atomic" or ((writers == -1) | (writers == here)).all(), "a race: two programs write"
        a.writers[places] = here
    assert not at.size, f"a program's {access} is outside of all arrays"


def same_value(addresses: Any, value: Any, mask: Any) -> bool:
    """Whether a store leaves all that it stores to as it is, as a flag that another program has set."""
    chosen = np.broadcast_to(mask, np.shape(addresses)).astype(bool)
    kind = np.asarray(value).dtype
    held = interpreter._interpreter.load(addresses, np.asarray(chosen), np.zeros(np.shape(addresses), kind), kind)
    return bool((held == np.broadcast_to(value, np.shape(held)))[chosen].all())


_load, _store = (getattr(interpreter.InterpreterBuilder, f"create_masked_{n}") for n in ("load", "store"))
_atomic = interpreter.InterpreterBuilder.create_atomic_rmw


def load_watched(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any) -> Any:
    """What is masked and has no other value is anything on a device: here all bits of it are set."""
    dtype = ptrs.get_element_ty()
    kind = np.dtype(numpy_dtype(dtype))
    watch(self, ptrs.data, mask.data, kind.itemsize, "load")
    if other is None:
        other = interpreter.TensorHandle(np.full(np.shape(ptrs.data), poison(kind), kind), dtype)
    return _load(self, ptrs, mask, other, *rest)


def poison(kind: Any) -> Any:
    return True if kind.kind == "b" else np.full((), 0xFF, np.uint8).repeat(kind.itemsize).view(kind)[0]


def store_watched(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
    if not same_value(ptrs.data, value.data, mask.data):
        watch(self, ptrs.data, mask.data, value.data.dtype.itemsize, "store")
    return _store(self, ptrs, value, mask, *rest)


def atomic_watched(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
    watch(self, ptr.data, mask.data, val.data.dtype.itemsize, "atomic")
    return _atomic(self, op, ptr, val, mask, *rest)


def by_assembler(text: str, constraints: str, args: Any, dtype: Any, is_pure: bool, pack: int) -> Any:
    """The instructions that generated kernels name, of which the interpreter has none."""
    x = args[0]
    if text.startswith("{"):  # several, of `pack` elements
        numbers = [np.broadcast_to(a.handle.data, x.handle.data.shape).reshape(-1, pack) for a in args]
        made = ptx_on_host.run(text, pack, [n[:, k] for n in numbers for k in range(pack)])
        data = np.stack(made, axis=1).reshape(x.handle.data.shape)
        return tl.tensor(interpreter.TensorHandle(data, dtype), x.type)
    if text.startswith("cvt.rn.bf16x2.f32"):
        return x.to(tl.bfloat16)
    if text.startswith("rcp.approx.ftz.f32"):
        return 1.0 / x
    if text.startswith("sqrt.approx.ftz.f32"):
        return tl.sqrt_rn(x)
    assert text.startswith("ex2.approx.ftz.f32"), text
    found = tl.exp2(x)
    return tl.where(found < 2.0**-126, 0.0, found)


tl.inline_asm_elementwise = by_assembler
interpreter.InterpreterBuilder.create_masked_load = load_watched
interpreter.InterpreterBuilder.create_masked_store = store_watched
interpreter.InterpreterBuilder.create_atomic_rmw = atomic_watched
interpreter._convert_float = convert_float
interpreter._get_np_dtype = numpy_dtype
interpreter._patch_lang = patch_lang_once
interpreter.InterpreterBuilder.cast_impl = cast
interpreter.InterpreterBuilder.create_splat = splat
interpreter.InterpreterBuilder.create_dot = dot
interpreter.ReduceOps.generic_reduce = folded


# ---- requests ------------------------------------------------------------------------------------

loaded: dict[str, Any] = {}


def load(name: str, source: str) -> Any:
    if source not in loaded:
        file = f"<triton {len(loaded)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        namespace: dict[str, Any] = {"__name__": f"kernels_{len(loaded)}"}
        exec(compile(source, file, "exec"), namespace)
        namespace["libdevice"] = libdevice
        loaded[source] = namespace[name]
    return loaded[source]


def answer(request: Any) -> Any:
    name, source, constants, grid, sent, written = request
    arguments = [Pointer(*a) if isinstance(a, tuple) else scalar(a) for a in sent]
    arrays = [(a, w) for a, w in zip(arguments, written, strict=True) if isinstance(a, Pointer)]
    watched[:] = [Watched(a, w) for a, w in arrays]
    with np.errstate(all="ignore"):
        load(name, source)[grid](*arguments, **constants)
    return [bytes(a.bytes) if isinstance(a, Pointer) and math.prod(a.bytes.shape) else b"" for a in arguments]


def main() -> None:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels and libraries print must not get between the answers
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result: Any = answer(request)
        except Exception:
            result = traceback.format_exc()
        pickle.dump(result, output)
        output.flush()


if __name__ == "__main__":
    main()
