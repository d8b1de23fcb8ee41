"""Writes StableHLO text: typed values, fresh names, constants, and the operations that every emitter needs.

    w = Writer()
    y = w.op("tanh", x)                       # %t = stablehlo.tanh %x : tensor<4xf64>
    z = w.add(y, w.splat(1.0, y))             # constants are written once a region
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...translator.errors import NOWHERE, DTypeError, Span
from ...translator.ir import DType, Shape

BOOL = np.dtype(np.bool_)
_U8 = np.dtype(np.uint8)
I32 = np.dtype(np.int32)
I64 = np.dtype(np.int64)
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)

_ELEMENTS = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}
_LITERAL_LIMIT = 64  # elements: larger constant arrays are written as bytes


class Value(NamedTuple):
    """A value of the text: its SSA name and its type."""

    name: str
    shape: Shape
    dtype: DType


@cache
def element_type(dtype: DType) -> str:
    """`f64`, `i1`, `complex<f32>`. Raises DTypeError for what XLA does not know."""
    found = _ELEMENTS.get(dtype.name)
    if found is None or not dtype.isnative:
        raise DTypeError(f"XLA has no type for NumPy's {dtype}")
    return found


@lru_cache(maxsize=4096)
def tensor_type(shape: Shape, dtype: DType) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type(dtype)}>"


def is_float(dtype: DType) -> bool:
    """Whether the dtype is a real floating type; bfloat16 is one."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def real_dtype(dtype: DType) -> DType:
    """The type of the parts of a complex number; the dtype itself otherwise."""
    if dtype.kind != "c":
        return dtype
    return F32 if dtype.itemsize == 8 else F64


def literal(value: Any, dtype: DType) -> str:
    """One element of a `dense<...>`."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        z, part = complex(value), real_dtype(dtype)
        return f"({literal(z.real, part)}, {literal(z.imag, part)})"
    x = float(value)
    if not math.isfinite(x):
        bits = np.asarray(x).astype(dtype).view(f"u{dtype.itemsize}")
        return f"0x{int(bits):0{2 * dtype.itemsize}X}"
    text = repr(x)
    if "." not in text:  # MLIR wants a point in front of the exponent
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}.0e{exponent}" if exponent else f"{mantissa}.0"
    return text


def dense(array: np.ndarray[Any, Any]) -> str:
    """The body of `dense<...>` for an array of the right dtype."""
    dtype = array.dtype
    if array.size and (array.ndim == 0 or (array == array.flat[0]).all()) and not _mixed_zeros(array):
        return literal(array.flat[0], dtype)
    if array.size == 0:
        return ""
    if array.size <= _LITERAL_LIMIT:
        return _nested(array)
    return f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"'


def _mixed_zeros(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "fcV" and array.ndim > 0 and not array.flat[0] and len(set(array.tobytes())) > 1


def _nested(array: np.ndarray[Any, Any]) -> str:
    if array.ndim == 0:
        return literal(array[()], array.dtype)
    return f"[{', '.join(_nested(a) for a in array)}]"


class Writer:
    """The text of one function, line by line. Names are unique in it; constants are written once a region."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.span = NOWHERE  # the statement that is written
        self.spans: list[Span] = []  # that of each line
        self.indent = "    "
        self._used: dict[str, int] = {}
        self._constants: dict[tuple[object, ...], Value] = {}
        self.host = False  # whether NumPy's functions may be called (`host_calls`)
        self.loses_nan = False  # whether large `maximum` and `minimum` reductions may lose NaN, as on CPUs
        self.bounded: dict[str, tuple[str, Value, Value]] = {}  # name -> the comparison of integers with a scalar it is
        self.shifted: dict[str, tuple[Value, int]] = {}  # name -> (parameter, elements in front) that it is the rest of
        self.arguments: set[str] = set()  # names of arrays that lie in memory as the caller gave them
        self.made: dict[tuple[object, ...], list[Value]] = {}  # what this region, or one around it, need not make again
        self.lower: dict[str, bool] = {}  # of triangular matrices: whether their numbers are below the diagonal

    def fresh(self, hint: str = "t") -> str:
        hint = hint if hint.isidentifier() and hint.isascii() else "t"
        count = self._used.get(hint, 0)
        name = hint if count == 0 else f"{hint}_{count}"
        while count and name in self._used:
            count += 1
            name = f"{hint}_{count}"
        self._used[hint] = count + 1
        self._used.setdefault(name, 1)
        return f"%{name}"

    def several(self, hint: str, types: Sequence[tuple[Shape, DType]]) -> list[Value]:
        """The results of one operation: one name, with `#k` behind it where there are several."""
        base = self.fresh(hint)
        if len(types) == 1:
            return [Value(base, *types[0])]
        return [Value(f"{base}#{k}", shape, dtype) for k, (shape, dtype) in enumerate(types)]

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)
        self.spans.append(self.span)

    @contextmanager
    def region(self) -> Iterator[None]:
        """Constants of a region are written inside it: captured from outside they would be carried through loops."""
        outer, self._constants = self._constants, {}
        outer_made, self.made = self.made, dict(self.made)
        outer_indent, self.indent = self.indent, self.indent + "  "
        try:
            yield
        finally:
            self._constants, self.indent, self.made = outer, outer_indent, outer_made

    # ---- values ---------------------------------------------------------------------------------

    def op(
        self, name: str, *args: Value, shape: Shape | None = None, dtype: DType | None = None, attrs: str = ""
    ) -> Value:
        """One operation of StableHLO or another dialect (`chlo.erf`); its type is the first argument's by default."""
        first = args[0]
        if name == "multiply" and first.dtype.kind in "iu" and args[1] is first:
            args = (first, self.op("optimization_barrier", first))  # XLA takes squares for positive, though they wrap
        out_shape = first.shape if shape is None else shape
        out_dtype = first.dtype if dtype is None else dtype
        result = Value(self.fresh(), out_shape, out_dtype)
        out = tensor_type(out_shape, out_dtype)
        types = [tensor_type(a.shape, a.dtype) for a in args]
        full = name if "." in name else f"stablehlo.{name}"
        names = ", ".join([a.name for a in args])
        signature = f"({', '.join(types)}) -> {out}"
        if full.startswith("chlo."):
            signature = f"{', '.join(types)} -> {out}"
        elif not attrs and all(t == out for t in types):
            signature = out
        self.line(f"{result.name} = {full} {names}{', ' + attrs if attrs else ''} : {signature}")
        return result

    def constant(self, value: Any, shape: Shape, dtype: DType) -> Value:
        """A scalar spread over a shape, or an array of that shape."""
        array = cast_constant(value, dtype)
        if 0 in shape:
            text = ""
        elif array.shape == shape:
            if array.dtype == BOOL and array.size > _LITERAL_LIMIT and not (array == array.flat[0]).all():
                return self._truths(array)
            text = dense(array)
        elif array.ndim == 0:
            text = literal(array[()], dtype)
        else:
            return self.broadcast(self.constant(array, array.shape, dtype), shape)
        key = (text, shape, dtype)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Value(self.fresh("c"), shape, dtype)
            self.line(f"{found.name} = stablehlo.constant dense<{text}> : {tensor_type(shape, dtype)}")
        return found

    def _truths(self, array: np.ndarray[Any, Any]) -> Value:
        """Truth values have no hexadecimal form: they are written as bytes, which XLA shall not convert at once."""
        key = (array.tobytes(), array.shape, BOOL)
        found = self._constants.get(key)
        if found is None:
            given = self.op("optimization_barrier", self.constant(array.view(np.uint8), array.shape, _U8))
            found = self._constants[key] = self.compare("NE", given, self.splat(0, given))
        return found

    def splat(self, value: Any, like: Value) -> Value:
        return self.constant(value, like.shape, like.dtype)

    def integer(self, value: int) -> Value:
        return self.constant(value, (), I64)

    # ---- the operations that are used everywhere --------------------------------------------------

    def add(self, x: Value, y: Value) -> Value:
        return self.op("add", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        return self.op("subtract", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        return self.op("multiply", x, y)

    def divide(self, x: Value, y: Value) -> Value:
        return self.op("divide", x, y)

    def both(self, x: Value, y: Value) -> Value:
        return self.op("and", x, y)

    def either(self, x: Value, y: Value) -> Value:
        return self.op("or", x, y)

    def is_infinite(self, x: Value) -> Value:
        return self.compare("EQ", self.op("abs", x), self.splat(np.inf, x))

    def invert(self, x: Value) -> Value:
        return self.op("not", x)

    def compare(self, direction: str, x: Value, y: Value) -> Value:
        """`direction`: EQ NE LT LE GT GE."""
        result = Value(self.fresh(), x.shape, BOOL)
        kind = tensor_type(x.shape, x.dtype)
        self.line(
            f"{result.name} = stablehlo.compare {direction}, {x.name}, {y.name} "
            f": ({kind}, {kind}) -> {tensor_type(x.shape, BOOL)}"
        )
        return result

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        result = Value(self.fresh(), x.shape, x.dtype)
        self.line(
            f"{result.name} = stablehlo.select {condition.name}, {x.name}, {y.name} "
            f": {tensor_type(condition.shape, BOOL)}, {tensor_type(x.shape, x.dtype)}"
        )
        return result

    def is_nan(self, x: Value) -> Value:
        return self.compare("NE", x, x)

    def nonzero(self, x: Value) -> Value:
        """The value as a bool; NaN is true."""
        return x if x.dtype == BOOL else self.compare("NE", x, self.splat(0, x))

    def convert(self, x: Value, dtype: DType) -> Value:
        """NumPy's astype: to bool is `!= 0`, complex to real drops the imaginary part.

        A bool becomes a float by a choice: products with its `convert` XLA makes choices, so that inf * 0 were 0.
        """
        if x.dtype == dtype:
            return x
        if x.dtype == BOOL and (is_float(dtype) or dtype.kind == "c"):
            return self.select(x, self.constant(1, x.shape, dtype), self.constant(0, x.shape, dtype))
        if dtype == BOOL:
            return self.nonzero(x)
        if x.dtype.kind == "c" and dtype.kind != "c":
            return self.convert(self.op("real", x, dtype=real_dtype(x.dtype)), dtype)
        if is_float(x.dtype) and dtype.kind in "iu":
            return self._truncated(x, dtype)
        return self.op("convert", x, dtype=dtype)

    def _truncated(self, x: Value, dtype: DType) -> Value:
        """A float as an integer. Out of range NumPy gives what the processor gives: through 32 or 64 bits, of which nan
        and what is too large have only the sign bit, and then the low bits.
        """
        if x.dtype.itemsize == 2:
            x = self.op("convert", x, dtype=np.dtype(np.float32))
        if dtype == np.uint64:
            beyond = self.compare("GE", x, self.splat(2.0**63, x))
            return self.select(beyond, self.op("convert", x, dtype=dtype), self.convert(self._truncated(x, I64), dtype))
        wide = np.dtype(np.int32) if dtype.itemsize < 4 or dtype == np.int32 else I64
        inside = self.compare("LT", x, self.splat(2.0 ** (8 * wide.itemsize - 1), x))
        least = self.constant(int(np.iinfo(wide).min), x.shape, wide)
        return self.convert(self.select(inside, self.op("convert", x, dtype=wide), least), dtype)

    def reshape(self, x: Value, shape: Shape) -> Value:
        if x.shape == shape:
            return x
        result = self.op("reshape", x, shape=shape)
        if x.name in self.shifted:
            self.shifted[result.name] = self.shifted[x.name]
        if x.name in self.arguments:
            self.arguments.add(result.name)
        return result

    def broadcast(self, x: Value, shape: Shape) -> Value:
        """NumPy's broadcast_to."""
        if x.shape == shape:
            return x
        offset = len(shape) - len(x.shape)
        return self.broadcast_in(x, shape, range(offset, len(shape)))

    def broadcast_in(self, x: Value, shape: Shape, dims: Sequence[int]) -> Value:
        """Axis k of `x` becomes axis dims[k]; sizes of one are spread."""
        listed = ", ".join(map(str, dims))
        return self.op("broadcast_in_dim", x, shape=shape, attrs=f"dims = [{listed}]")

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        if tuple(axes) == tuple(range(len(axes))):
            return x
        shape = tuple(x.shape[a] for a in axes)
        result = self.op("transpose", x, shape=shape, attrs=f"dims = [{', '.join(map(str, axes))}]")
        if x.name in self.lower and tuple(axes[-2:]) == (len(axes) - 1, len(axes) - 2):
            self.lower[result.name] = not self.lower[x.name]
        return result

    def slice(self, x: Value, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> Value:
        """A static slice with positive steps."""
        shape = tuple(max(0, -(-(b - a) // s)) for a, b, s in zip(starts, stops, steps, strict=True))
        if shape == x.shape:
            return x
        if x.name in self.shifted and shape[1:] == x.shape[1:] and steps[0] == 1:  # a part of the parameter itself
            whole, front = self.shifted[x.name]
            row = math.prod(shape[1:])
            part = self.slice(whole, [front + starts[0] * row], [front + stops[0] * row], [1])
            return self.reshape(part, shape)
        ranges = ", ".join(
            f"{a}:{b}" if s == 1 else f"{a}:{b}:{s}" for a, b, s in zip(starts, stops, steps, strict=True)
        )
        result = Value(self.fresh(), shape, x.dtype)
        types = f"({tensor_type(x.shape, x.dtype)}) -> {tensor_type(shape, x.dtype)}"
        self.line(f"{result.name} = stablehlo.slice {x.name} [{ranges}] : {types}")
        return result

    def without_front(self, x: Value, count: int, shape: Shape) -> Value:
        """A flat array without its first elements, in another shape; remembered as such in `shifted`."""
        result = self.reshape(self.slice(x, [count], x.shape, [1]), shape)
        self.shifted[result.name] = x, count
        return result

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        if not axes:
            return x
        return self.op("reverse", x, attrs=f"dims = [{', '.join(map(str, axes))}]")

    def iota(self, shape: Shape, dtype: DType, axis: int) -> Value:
        result = Value(self.fresh("iota"), shape, dtype)
        self.line(f"{result.name} = stablehlo.iota dim = {axis} : {tensor_type(shape, dtype)}")
        return result

    def pad(self, x: Value, fill: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Value:
        shape = tuple(
            a + b + n + max(0, n - 1) * i for a, b, n, i in zip(low, high, x.shape, interior, strict=True)
        )
        texts = [", ".join(map(str, p)) for p in (low, high, interior)]
        attrs = f"low = [{texts[0]}], high = [{texts[1]}], interior = [{texts[2]}]"
        return self.op("pad", x, fill, shape=shape, attrs=attrs)

    def reduce(self, x: Value, init: Value, combine: str, axes: Sequence[int]) -> Value:
        """`combine` names an operation of StableHLO: add, maximum, and, ..."""
        if not axes:
            return x
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        result = Value(self.fresh(), shape, x.dtype)
        kinds = f"({tensor_type(x.shape, x.dtype)}, {tensor_type((), x.dtype)}) -> {tensor_type(shape, x.dtype)}"
        self.line(
            f"{result.name} = stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{combine} "
            f"across dimensions = [{', '.join(map(str, axes))}] : {kinds}"
        )
        return result

    def concatenate(self, xs: Sequence[Value], axis: int) -> Value:
        if len(xs) == 1:
            return xs[0]
        first = xs[0]
        shape = (*first.shape[:axis], sum(x.shape[axis] for x in xs), *first.shape[axis + 1 :])
        return self.op("concatenate", *xs, shape=shape, attrs=f"dim = {axis}")


def cast_constant(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """A number or an array in a dtype, as NumPy would cast it."""
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if dtype.kind in "iu" and array.dtype.kind == "O":
        return np.asarray(int(value) & ((1 << (8 * dtype.itemsize)) - 1)).astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(all="ignore"):
        return array.real.astype(dtype) if array.dtype.kind == "c" and dtype.kind != "c" else array.astype(dtype)
