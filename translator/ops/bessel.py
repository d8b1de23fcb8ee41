"""Modified Bessel functions of the first kind, of order 0 and 1, and both divided by exp(|x|).

Up to 8 the power series, whose terms have one sign: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.6.10;
an interpolant of sqrt(x) exp(-x) I(x) over 1 / x from there on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .core import Elementwise
from .samples import REALS
from .special import evaluated, float_loop, horner

# sqrt(x) exp(-x) I(x) for x = 16 / (1 + t), t from -1 to 1: relative errors 7e-18
_I0 = (
    0.4021765094450081, 0.003360551983667854, 0.00013621607439232746, 1.1143033791556743e-05,
    1.4838475473607391e-06, 2.973598432479169e-07, 8.87225351128584e-08, 3.932602459703109e-08,
    2.1545177650836005e-08, 7.553516470355896e-09, -6.729724111923548e-09, -1.3404241991980871e-08,
    -5.4685974495866e-09, 7.540601378890834e-09, 7.58022133915272e-09, -3.4857887470034955e-09,
    -6.188265090497361e-09, 1.497880830187091e-09, 3.881151253996067e-09, -5.562201990080394e-10,
    -1.7789375042917173e-09, 1.4672236659214398e-10, 5.181936971288284e-10, -1.9216763724933513e-11,
    -7.06893851181878e-11,
)  # fmt: skip
_I1 = (
    0.38939845902587233, -0.009749577193235728, -0.00021923576383430274, -1.5038547201176271e-05,
    -1.8349101134666435e-06, -3.483855609009937e-07, -1.0001323461066435e-07, -4.312935369971356e-08,
    -2.337059627111857e-08, -8.426622829598154e-09, 6.715795128085017e-09, 1.4029693589852716e-08,
    6.040877342160988e-09, -7.630751970065577e-09, -8.044231276166508e-09, 3.406636130196794e-09,
    6.4870195719816896e-09, -1.4171698018664596e-09, -4.047785403711858e-09, 5.146498826087142e-10,
    1.8513716745511988e-09, -1.342266320082222e-10, -5.388285995923524e-10, 1.7502497778701306e-11,
    7.347992441734663e-11,
)  # fmt: skip
_SWITCH = 8.0
_TERMS = 28  # at 8 the first one left out is 1e-22 of the sum
_SERIES_0 = tuple(1 / math.factorial(k) ** 2 for k in range(_TERMS))
_SERIES_1 = tuple(1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(_TERMS))


def _near(a: Any, series: Any) -> Any:
    return horner(0.25 * a * a, series)


def _far(a: Any, coefficients: Any) -> Any:
    return horner(2.0 * _SWITCH / a - 1.0, coefficients) / np.sqrt(a)


def i0_source(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0."""
    a = np.absolute(x.astype(np.float64))
    near = a <= _SWITCH
    far = np.where(near, _SWITCH, a)
    half = np.exp(0.5 * far)  # exp(far) may be infinite where the product is not
    return np.where(near, _near(np.where(near, a, 0.0), _SERIES_0), half * _far(far, _I0) * half).astype(x.dtype)


def i0e_source(x: Any) -> Any:
    """exp(-|x|) i0(x). Element by element, of any shape; floats keep their dtype, integers become float64."""
    a = np.absolute(x.astype(np.float64))
    near = a <= _SWITCH
    small = np.where(near, a, 0.0)
    y = np.where(near, np.exp(-small) * _near(small, _SERIES_0), _far(np.where(near, _SWITCH, a), _I0))
    return y.astype(x.dtype)


def i1_source(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 1."""
    v = x.astype(np.float64)
    a = np.absolute(v)
    near = a <= _SWITCH
    small, far = np.where(near, v, 0.0), np.where(near, _SWITCH, a)
    half = np.exp(0.5 * far)
    y = np.where(near, 0.5 * small * _near(small, _SERIES_1), np.copysign(half * _far(far, _I1) * half, v))
    return y.astype(x.dtype)


def i1e_source(x: Any) -> Any:
    """exp(-|x|) i1(x). Element by element, of any shape; floats keep their dtype, integers become float64."""
    v = x.astype(np.float64)
    a = np.absolute(v)
    near = a <= _SWITCH
    small = np.where(near, v, 0.0)
    series = np.exp(-np.absolute(small)) * (0.5 * small * _near(small, _SERIES_1))
    return np.where(near, series, np.copysign(_far(np.where(near, _SWITCH, a), _I1), v)).astype(x.dtype)


i0 = evaluated(i0_source)
i0e = evaluated(i0e_source)
i1 = evaluated(i1_source)
i1e = evaluated(i1e_source)


def over(y: Any, x: Any, sign: float, factor: Any = 1.0) -> Any:
    """y / x for y = factor * I1(x) (sign 1) or J1(x) (sign -1); around 0 the series, whose derivatives are right."""
    small = np.absolute(x) < 0.02
    q = sign * 0.25 * (x * x)
    series = 0.5 * (1.0 + q * (1 / 2 + q * (1 / 12 + q * (1 / 144 + q / 2880))))
    return np.where(small, factor * series, y / np.where(small, 1.0, x))


def d_i0(x: Any, y: Any) -> Any:
    return i1(x)


I0 = Elementwise(
    name="i0", numpy="untraced.scipy.special.i0", evaluate=i0, loop=float_loop, partials=(d_i0,), decompose=i0_source,
    samples=(REALS,),
)


def d_i1(x: Any, y: Any) -> Any:
    return i0(x) - over(y, x, 1.0)


I1 = Elementwise(
    name="i1", numpy="untraced.scipy.special.i1", evaluate=i1, loop=float_loop, partials=(d_i1,), decompose=i1_source,
    samples=(REALS,),
)


def d_i0e(x: Any, y: Any) -> Any:
    return i1e(x) - np.sign(x) * y


I0E = Elementwise(
    name="i0e", numpy="untraced.scipy.special.i0e", evaluate=i0e, loop=float_loop, partials=(d_i0e,),
    decompose=i0e_source, samples=(REALS,), kinks=(0.0,),
)


def d_i1e(x: Any, y: Any) -> Any:
    return i0e(x) - over(y, x, 1.0, np.exp(-np.absolute(x))) - np.sign(x) * y


I1E = Elementwise(
    name="i1e", numpy="untraced.scipy.special.i1e", evaluate=i1e, loop=float_loop, partials=(d_i1e,),
    decompose=i1e_source, samples=(REALS,), kinks=(0.0,),
)
