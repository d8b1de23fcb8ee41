"""Choices (`where`), parts of complex numbers, and the mark that stops a derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import Aval, DType
from .core import Elementwise, promote, promote_loop
from .samples import BOOLS, NUMBERS, Domain

COMPLEX = Domain(kinds="cf")


def where_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    dtype = promote(avals[1:])
    return (np.dtype(np.bool_), dtype, dtype), dtype


def c_where_x(t: Any, condition: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(condition, t, 0.0)


def c_where_y(t: Any, condition: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(condition, 0.0, t)


WHERE = Elementwise(
    name="where", numpy="np.where", evaluate=np.where, arity=3, loop=where_loop,
    jvps=(None, c_where_x, c_where_y), vjps=(None, c_where_x, c_where_y),
    stablehlo="select", cuda="({0} ? {1} : {2})", triton="tl.where({0}, {1}, {2})", samples=(BOOLS, NUMBERS, NUMBERS),
)


def part_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    dtype = avals[0].dtype
    return (dtype,), np.empty((), dtype).real.dtype if dtype.kind == "c" else dtype


def j_real(t: Any, x: Any, y: Any) -> Any:
    return np.real(t)


def v_real(t: Any, x: Any, y: Any) -> Any:
    return t + 0j if x.dtype.kind == "c" else t


def by_real(x: Any) -> Any:
    return x  # of real numbers


REAL = Elementwise(
    name="real", numpy="np.real", evaluate=np.real, loop=part_loop, jvps=(j_real,), vjps=(v_real,), decompose=by_real,
    stablehlo="real", stablehlo_kinds="c", samples=(COMPLEX,),
)


def j_imag(t: Any, x: Any, y: Any) -> Any:
    return np.imag(t)


def v_imag(t: Any, x: Any, y: Any) -> Any:
    return t * -1j if x.dtype.kind == "c" else 0.0 * t


def by_imag(x: Any) -> Any:
    return np.zeros_like(x)  # of real numbers


IMAG = Elementwise(
    name="imag", numpy="np.imag", evaluate=np.imag, loop=part_loop, jvps=(j_imag,), vjps=(v_imag,), decompose=by_imag,
    stablehlo="imag", stablehlo_kinds="c", samples=(COMPLEX,),
)


def parts_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    dtype = promote(avals)
    if dtype.kind == "c":
        raise TypeError("the parts of a complex number are real numbers")
    whole = _complex_dtype(dtype)
    part = whole.type(0).real.dtype
    return (part, part), whole


def _complex_dtype(dtype: DType) -> DType:
    """Of numbers whose parts have this dtype: complex64 of float32 and less, else complex128."""
    small = dtype.kind in "fV" and dtype.itemsize <= 4
    return np.dtype(np.complex64 if small else np.complex128)


def of_parts(re: Any, im: Any) -> Any:
    """The complex numbers of these parts, bit for bit: `re + im * 1j` makes NaN beside an infinity, and loses the sign
    of a zero.
    """
    dtype = np.result_type(re, im)
    if dtype.kind == "c":
        raise TypeError("the parts of a complex number are real numbers")
    z = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), _complex_dtype(dtype))
    z.real, z.imag = re, im
    return z[()]


def j_of_parts_re(t: Any, re: Any, im: Any, z: Any) -> Any:
    return of_parts(t, np.zeros_like(t))


def j_of_parts_im(t: Any, re: Any, im: Any, z: Any) -> Any:
    return of_parts(np.zeros_like(t), t)


def v_of_parts_re(t: Any, re: Any, im: Any, z: Any) -> Any:
    return np.real(t)


def v_of_parts_im(t: Any, re: Any, im: Any, z: Any) -> Any:
    return -np.imag(t)


OF_PARTS = Elementwise(
    name="of_parts", numpy="untraced.lax.complex", evaluate=of_parts, arity=2, loop=parts_loop,
    jvps=(j_of_parts_re, j_of_parts_im), vjps=(v_of_parts_re, v_of_parts_im),
    stablehlo="complex", stablehlo_kinds="f", cuda="of_parts({0}, {1})", kernel_kinds="f",
    samples=(Domain(kinds="fiu"), Domain(kinds="fiu")),
)


def c_conjugate(t: Any, x: Any, y: Any) -> Any:
    return np.conjugate(t)


CONJUGATE = Elementwise(
    name="conjugate", numpy="np.conjugate", evaluate=np.conjugate, jvps=(c_conjugate,), vjps=(c_conjugate,),
    decompose=by_real, stablehlo="chlo.conj", stablehlo_kinds="c", samples=(COMPLEX,),
)


def stop_gradient(x: Any) -> Any:
    """`x`, whose derivative is taken to be zero."""
    return x


STOP_GRADIENT = Elementwise(
    name="stop_gradient", numpy="untraced.stop_gradient", evaluate=stop_gradient, loop=promote_loop, decompose=by_real,
    samples=(NUMBERS,),
)
