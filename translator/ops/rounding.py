"""Rounding and the classes of floating-point numbers. None of them has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise
from .samples import NUMBERS, REALS, Domain

HALVES = Domain(kinds="fiub", low=-4.0, high=4.0)


def by_floor(x: Any) -> Any:
    return x  # of integers


FLOOR = Elementwise(
    name="floor", numpy="np.floor", evaluate=np.floor, decompose=by_floor,
    stablehlo="floor", cuda="floor{f}({0})", triton="libdevice.floor({0})", stablehlo_kinds="f", kernel_kinds="f",
    samples=(HALVES,),
)

CEIL = Elementwise(
    name="ceil", numpy="np.ceil", evaluate=np.ceil, decompose=by_floor,
    stablehlo="ceil", cuda="ceil{f}({0})", triton="libdevice.ceil({0})", stablehlo_kinds="f", kernel_kinds="f",
    samples=(HALVES,),
)


def by_trunc(x: Any) -> Any:
    if x.dtype.kind in "biu":
        return x
    return np.where(x < 0, np.ceil(x), np.floor(x))


TRUNC = Elementwise(
    name="trunc", numpy="np.trunc", evaluate=np.trunc, decompose=by_trunc,
    cuda="trunc{f}({0})", triton="libdevice.trunc({0})", kernel_kinds="f", samples=(HALVES,),
)


def by_rint(x: Any) -> Any:
    return np.rint(np.real(x)) + 1j * np.rint(np.imag(x))


RINT = Elementwise(
    name="rint", numpy="np.rint", evaluate=np.rint, decompose=by_rint,
    stablehlo="round_nearest_even", cuda="rint{f}({0})", triton="libdevice.rint({0})", stablehlo_kinds="f",
    samples=(Domain(kinds="fiuc", low=-4.0, high=4.0),),
)


def by_isnan(x: Any) -> Any:
    return x != x


ISNAN = Elementwise(name="isnan", numpy="np.isnan", evaluate=np.isnan, decompose=by_isnan, samples=(NUMBERS,))


def by_isinf(x: Any) -> Any:
    if x.dtype.kind in "biu":
        return x != x
    if x.dtype.kind == "c":
        return np.isinf(np.real(x)) | np.isinf(np.imag(x))
    return np.absolute(x) == np.inf


ISINF = Elementwise(name="isinf", numpy="np.isinf", evaluate=np.isinf, decompose=by_isinf, samples=(NUMBERS,))


def by_isfinite(x: Any) -> Any:
    if x.dtype.kind in "biu":
        return x == x
    if x.dtype.kind == "c":
        return np.isfinite(np.real(x)) & np.isfinite(np.imag(x))
    return np.absolute(x) < np.inf


ISFINITE = Elementwise(
    name="isfinite", numpy="np.isfinite", evaluate=np.isfinite, decompose=by_isfinite,
    stablehlo="is_finite", stablehlo_kinds="f", samples=(NUMBERS,),
)


def by_signbit(x: Any) -> Any:
    """The first bit, which a NaN has too."""
    x = np.asarray(x)  # a Python number has no view
    return x.view(np.int16 if x.dtype.itemsize == 2 else np.int32 if x.dtype.itemsize == 4 else np.int64) < 0


SIGNBIT = Elementwise(
    name="signbit", numpy="np.signbit", evaluate=np.signbit, decompose=by_signbit,
    cuda="(signbit({0}) != 0)", triton="(libdevice.signbit({0}) != 0)", samples=(REALS,),
)
