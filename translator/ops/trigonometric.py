"""Circular and hyperbolic functions, their inverses, and angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import Elementwise
from .samples import REALS, Domain

NEAR = Domain(kinds="fiuc")
INSIDE = Domain(kinds="fiuc", low=-0.9, high=0.9)
OUTSIDE = Domain(kinds="fiuc", low=1.1, high=4.0)
DEGREE = 0.017453292519943295  # in radians
RADIAN = 57.29577951308232  # in degrees


def d_sin(x: Any, y: Any) -> Any:
    return np.cos(x)


SIN = Elementwise(
    name="sin", numpy="np.sin", evaluate=np.sin, partials=(d_sin,),
    stablehlo="sine", cuda="sin{f}({0})", triton="libdevice.sin({0})", samples=(NEAR,),
)


def d_cos(x: Any, y: Any) -> Any:
    return -np.sin(x)


COS = Elementwise(
    name="cos", numpy="np.cos", evaluate=np.cos, partials=(d_cos,),
    stablehlo="cosine", cuda="cos{f}({0})", triton="libdevice.cos({0})", samples=(NEAR,),
)


def d_tan(x: Any, y: Any) -> Any:
    return 1.0 + y * y


TAN = Elementwise(
    name="tan", numpy="np.tan", evaluate=np.tan, partials=(d_tan,),
    stablehlo="tan", cuda="tan{f}({0})", triton="libdevice.tan({0})",
    samples=(Domain(kinds="fiuc", low=-1.2, high=1.2),),
)


def d_arcsin(x: Any, y: Any) -> Any:
    return 1.0 / np.sqrt(1.0 - x * x)


ARCSIN = Elementwise(
    name="arcsin", numpy="np.arcsin", evaluate=np.arcsin, partials=(d_arcsin,),
    stablehlo="chlo.asin", cuda="asin{f}({0})", triton="libdevice.asin({0})", samples=(INSIDE,),
)


def d_arccos(x: Any, y: Any) -> Any:
    return -1.0 / np.sqrt(1.0 - x * x)


ARCCOS = Elementwise(
    name="arccos", numpy="np.arccos", evaluate=np.arccos, partials=(d_arccos,),
    stablehlo="chlo.acos", cuda="acos{f}({0})", triton="libdevice.acos({0})", samples=(INSIDE,),
)


def d_arctan(x: Any, y: Any) -> Any:
    return 1.0 / (1.0 + x * x)


ARCTAN = Elementwise(
    name="arctan", numpy="np.arctan", evaluate=np.arctan, partials=(d_arctan,),
    stablehlo="chlo.atan", cuda="atan{f}({0})", triton="libdevice.atan({0})", samples=(NEAR,),
)


def d_arctan2_x(x: Any, y: Any, z: Any) -> Any:
    r = x * x + y * y
    return y / np.where(r == 0, 1.0, r)


def d_arctan2_y(x: Any, y: Any, z: Any) -> Any:
    r = x * x + y * y
    return -x / np.where(r == 0, 1.0, r)


ARCTAN2 = Elementwise(
    name="arctan2", numpy="np.arctan2", evaluate=np.arctan2, arity=2, partials=(d_arctan2_x, d_arctan2_y),
    stablehlo="atan2", cuda="atan2{f}({0}, {1})", triton="libdevice.atan2({0}, {1})", samples=(REALS, REALS),
)


# ---- hyperbolic ----------------------------------------------------------------------------------


def d_sinh(x: Any, y: Any) -> Any:
    return np.cosh(x)


SINH = Elementwise(
    name="sinh", numpy="np.sinh", evaluate=np.sinh, partials=(d_sinh,),
    stablehlo="chlo.sinh", cuda="sinh{f}({0})", triton="libdevice.sinh({0})", samples=(NEAR,),
)


def d_cosh(x: Any, y: Any) -> Any:
    return np.sinh(x)


COSH = Elementwise(
    name="cosh", numpy="np.cosh", evaluate=np.cosh, partials=(d_cosh,),
    stablehlo="chlo.cosh", cuda="cosh{f}({0})", triton="libdevice.cosh({0})", samples=(NEAR,),
)


def d_tanh(x: Any, y: Any) -> Any:
    return 1.0 - y * y


TANH = Elementwise(
    name="tanh", numpy="np.tanh", evaluate=np.tanh, partials=(d_tanh,),
    stablehlo="tanh", cuda="tanh{f}({0})", triton="libdevice.tanh({0})", samples=(NEAR,),
    triton_single="single_tanh({0})", cuda_bfloat="quick_tanh({0})", triton_bfloat="quick_tanh({0})",
)


def d_arcsinh(x: Any, y: Any) -> Any:
    return 1.0 / np.sqrt(x * x + 1.0)


ARCSINH = Elementwise(
    name="arcsinh", numpy="np.arcsinh", evaluate=np.arcsinh, partials=(d_arcsinh,),
    stablehlo="chlo.asinh", cuda="asinh{f}({0})", triton="libdevice.asinh({0})", samples=(NEAR,),
)


def d_arccosh(x: Any, y: Any) -> Any:
    return 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))  # the product of roots keeps the branch of complex numbers


ARCCOSH = Elementwise(
    name="arccosh", numpy="np.arccosh", evaluate=np.arccosh, partials=(d_arccosh,),
    stablehlo="chlo.acosh", cuda="acosh{f}({0})", triton="libdevice.acosh({0})", samples=(OUTSIDE,),
)


def d_arctanh(x: Any, y: Any) -> Any:
    return 1.0 / (1.0 - x * x)


ARCTANH = Elementwise(
    name="arctanh", numpy="np.arctanh", evaluate=np.arctanh, partials=(d_arctanh,),
    stablehlo="chlo.atanh", cuda="atanh{f}({0})", triton="libdevice.atanh({0})", samples=(INSIDE,),
)


# ---- angles --------------------------------------------------------------------------------------


def d_deg2rad(x: Any, y: Any) -> Any:
    return DEGREE


def by_deg2rad(x: Any) -> Any:
    return x * DEGREE


DEG2RAD = Elementwise(
    name="deg2rad", numpy="np.deg2rad", evaluate=np.deg2rad, partials=(d_deg2rad,), decompose=by_deg2rad,
)


def d_rad2deg(x: Any, y: Any) -> Any:
    return RADIAN


def by_rad2deg(x: Any) -> Any:
    return x * RADIAN


RAD2DEG = Elementwise(
    name="rad2deg", numpy="np.rad2deg", evaluate=np.rad2deg, partials=(d_rad2deg,), decompose=by_rad2deg,
)
