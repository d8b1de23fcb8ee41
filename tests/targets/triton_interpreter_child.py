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
import triton.language as tl
from scipy import special
from triton.runtime import interpreter


class Pointer:
    """Memory in the form that Triton's launcher takes for a tensor."""

    def __init__(self, dtype: str, memory: bytes, offset: int) -> None:
        self.dtype = dtype
        self.bytes = np.frombuffer(bytearray(memory) or bytearray(8), np.uint8)
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
        converted = numbers.astype(interpreter._get_np_dtype(target))
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
    dtype = interpreter._get_np_dtype(whole.scalar)
    return interpreter.TensorHandle(np.full(whole.shape, np.asarray(x.data).flat[0], dtype), whole.scalar)


interpreter._convert_float = convert_float
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
    name, source, constants, grid, sent = request
    arguments = [Pointer(*a) if isinstance(a, tuple) else scalar(a) for a in sent]
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
