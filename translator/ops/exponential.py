"""Exponentials and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise
from .samples import REALS, Domain

LN_2 = 0.6931471805599453
LN_10 = 2.302585092994046
NEAR = Domain(kinds="fiuc")
LOGARITHM = Domain(kinds="fiuc", low=0.1)


def d_exp(x: Any, y: Any) -> Any:
    return y


EXP = Elementwise(
    name="exp", numpy="np.exp", evaluate=np.exp, partials=(d_exp,),
    stablehlo="exponential", cuda="exp{f}({0})", triton="libdevice.exp({0})", samples=(NEAR,),
    cuda_bfloat="__expf({0})", triton_bfloat="tl.exp({0})",
)


def d_exp2(x: Any, y: Any) -> Any:
    return LN_2 * y


def by_exp2(x: Any) -> Any:
    return np.power(2.0, x)


EXP2 = Elementwise(
    name="exp2", numpy="np.exp2", evaluate=np.exp2, partials=(d_exp2,), decompose=by_exp2,
    cuda="exp2{f}({0})", triton="libdevice.exp2({0})", samples=(NEAR,),
)


def d_expm1(x: Any, y: Any) -> Any:
    return y + 1.0


EXPM1 = Elementwise(
    name="expm1", numpy="np.expm1", evaluate=np.expm1, partials=(d_expm1,),
    stablehlo="exponential_minus_one", cuda="expm1{f}({0})", triton="libdevice.expm1({0})", samples=(NEAR,),
)


def d_log(x: Any, y: Any) -> Any:
    return 1.0 / x


def c_log(t: Any, x: Any, y: Any) -> Any:
    return t / x


LOG = Elementwise(
    name="log", numpy="np.log", evaluate=np.log, partials=(d_log,), jvps=(c_log,), vjps=(c_log,),
    stablehlo="log", cuda="log{f}({0})", triton="libdevice.log({0})", samples=(LOGARITHM,),
)


def d_log2(x: Any, y: Any) -> Any:
    return 1.0 / (LN_2 * x)


def by_log2(x: Any) -> Any:
    if x.dtype.kind == "c":
        z = np.log(x)  # its parts apart: infinity has a finite angle
        return np.real(z) / LN_2 + 1j * (np.imag(z) / LN_2)
    return np.log(x) / LN_2


LOG2 = Elementwise(
    name="log2", numpy="np.log2", evaluate=np.log2, partials=(d_log2,), decompose=by_log2,
    cuda="log2{f}({0})", triton="libdevice.log2({0})", samples=(LOGARITHM,),
)


def d_log10(x: Any, y: Any) -> Any:
    return 1.0 / (LN_10 * x)


def by_log10(x: Any) -> Any:
    if x.dtype.kind == "c":
        z = np.log(x)
        return np.real(z) / LN_10 + 1j * (np.imag(z) / LN_10)
    return np.log(x) / LN_10


LOG10 = Elementwise(
    name="log10", numpy="np.log10", evaluate=np.log10, partials=(d_log10,), decompose=by_log10,
    cuda="log10{f}({0})", triton="libdevice.log10({0})", samples=(LOGARITHM,),
)


def d_log1p(x: Any, y: Any) -> Any:
    return 1.0 / (1.0 + x)


def c_log1p(t: Any, x: Any, y: Any) -> Any:
    return t / (1.0 + x)


LOG1P = Elementwise(
    name="log1p", numpy="np.log1p", evaluate=np.log1p, partials=(d_log1p,), jvps=(c_log1p,), vjps=(c_log1p,),
    stablehlo="log_plus_one", cuda="log1p{f}({0})", triton="libdevice.log1p({0})",
    samples=(Domain(kinds="fiuc", low=-0.8),),
)


def d_logaddexp_x(x: Any, y: Any, z: Any) -> Any:
    return np.exp(np.where(x == z, 0.0, x - z))  # equal infinities would subtract to nan


def d_logaddexp_y(x: Any, y: Any, z: Any) -> Any:
    return np.exp(np.where(y == z, 0.0, y - z))


def by_logaddexp(x: Any, y: Any) -> Any:
    d = np.where(x == y, 0.0, x - y)
    return np.where(x == y, x + LN_2, np.maximum(x, y) + np.log1p(np.exp(-np.absolute(d))))


LOGADDEXP = Elementwise(
    name="logaddexp", numpy="np.logaddexp", evaluate=np.logaddexp, arity=2,
    partials=(d_logaddexp_x, d_logaddexp_y), decompose=by_logaddexp, samples=(REALS, REALS),
)


def d_logaddexp2_x(x: Any, y: Any, z: Any) -> Any:
    return np.exp2(np.where(x == z, 0.0, x - z))


def d_logaddexp2_y(x: Any, y: Any, z: Any) -> Any:
    return np.exp2(np.where(y == z, 0.0, y - z))


def by_logaddexp2(x: Any, y: Any) -> Any:
    d = np.where(x == y, 0.0, x - y)
    return np.where(x == y, x + 1.0, np.maximum(x, y) + np.log1p(np.exp2(-np.absolute(d))) / LN_2)


LOGADDEXP2 = Elementwise(
    name="logaddexp2", numpy="np.logaddexp2", evaluate=np.logaddexp2, arity=2,
    partials=(d_logaddexp2_x, d_logaddexp2_y), decompose=by_logaddexp2, samples=(REALS, REALS),
)
