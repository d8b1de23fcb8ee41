"""Bessel functions of order 0 and 1 of both kinds, the oscillating ones.

Up to 8 interpolants in x * x; from there on modulus and phase, NIST Digital Library of Mathematical Functions, 10.18,
whose two parts are interpolants in (8 / x) ** 2. Absolute errors are a few units in the last place of 1 / sqrt(x).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .bessel import over
from .core import Elementwise
from .samples import REALS, Domain
from .special import evaluated, float_loop, horner

_SWITCH = 8.0
_TWO_OVER_PI = 0.6366197723675814
_ROOT_OF_ONE_OVER_PI = 0.5641895835477563

# J0(x), J1(x) / x, and what is left of Y0(x) and Y1(x) / x without their logarithm and pole, for x * x = 32 (1 + t)
_J0 = (
    0.04582966485981377, 0.9303012472958572, -0.6484692830871837, -0.808088807669687, 1.0383794611437211,
    -0.507468045847102, 0.14598884856759273, -0.028472718610869575, 0.00405807898914049, -0.00044354592247272207,
    3.84731978573911e-05, -2.717749145023612e-06, 1.59561088590422e-07, -7.915407738244705e-09, 3.363471859731152e-10,
    -1.2384637259799405e-11, 3.9908134608982205e-13, -1.1382224219729955e-14, 2.8777379277817493e-16,
)  # fmt: skip
_J1 = (
    -0.05814382795599107, 0.08105866038589796, 0.15151665143806634, -0.2595948652859303, 0.15858376432721938,
    -0.054745818212847276, 0.01245681439225544, -0.002029039494570245, 0.0002494945813908964, -2.4045748660869658e-05,
    1.8684525372339864e-06, -1.1967081644236786e-07, 6.431268732317326e-09, -2.9430378824414127e-10,
    1.1610655460712977e-11, -3.990810305586612e-13, 1.2060729354963575e-14, -3.2382440004784723e-16,
    7.737468840824268e-18,
)  # fmt: skip
_Y0 = (
    -0.382250654459425, -0.8284358903604587, 1.6470964788745466, 0.14412632369302442, -1.0775477338215995,
    0.6721770783431723, -0.2189574709617165, 0.0463670476813471, -0.007025741057269826, 0.0008061586060550644,
    -7.279541882784614e-05, 5.321318633735118e-06, -3.2185077885089357e-07, 1.6391065268257768e-08,
    -7.130516933709929e-10, 2.6818221380030414e-11, -8.810528980336584e-13, 2.558039399850299e-14,
    -6.574025715773563e-16,
)  # fmt: skip
_Y1 = (
    0.07075985882118005, -0.24337743079193114, 0.023367571720993584, 0.23507209206669755, -0.19639839859930425,
    0.07854786922242545, -0.01962875683309943, 0.0034224907399180455, -0.00044381734351146775, 4.467433012914413e-05,
    -3.6009998744473716e-06, 2.3804929913660285e-07, -1.3153322399152461e-08, 6.169742613332336e-10,
    -2.4887660208109366e-11, 8.728810135194375e-13, -2.687122706001865e-14, 7.339060890229824e-16,
    -1.7813894174933314e-17,
)  # fmt: skip
# the two parts of sqrt(pi x / 2) (J + i Y) exp(-i phase), the second times x / 8, for (8 / x) ** 2 = (1 + t) / 2
_P0 = (
    0.9994572757882519, -0.0005363673192130046, 6.13741608016085e-06, -2.0527448156495066e-07, 1.2803760619529231e-08,
    -1.2121181917899886e-09, 1.5501058085561605e-10, -2.488275527812745e-11, 4.772925905800956e-12,
    -1.0635980595216018e-12, 2.659486692682967e-13, -6.423863317028666e-14, 1.839323047121498e-14,
    -1.1778137922744418e-14, 4.285344320644563e-15,
)  # fmt: skip
_Q0 = (
    -0.015555113879513518, 6.833149099344075e-05, -1.4771388326473744e-06, 7.106214852432276e-08,
    -5.668716091144362e-09, 6.432789309241135e-10, -9.470386229469955e-11, 1.702943915933753e-11,
    -3.5891751531936186e-12, 8.68860563656614e-13, -2.330636917551769e-13, 5.765391531338497e-14,
    -1.7256018173230505e-14, 1.2703337763959492e-14, -4.832460403369333e-15,
)  # fmt: skip
_P1 = (
    1.0009070262780821, 0.0008988049416705578, -7.959694698492521e-06, 2.453676622286961e-07, -1.4708512124130545e-08,
    1.3603057890123779e-09, -1.713159495740877e-10, 2.7204123552148816e-11, -5.176302123326507e-12,
    1.1461306026400314e-12, -2.851410619022524e-13, 6.871916868892792e-14, -1.961627571558179e-14,
    1.2466964342989236e-14, -4.5247520559705565e-15,
)  # fmt: skip
_Q1 = (
    0.04677687402744898, -9.621458822054624e-05, 1.8212018512285427e-06, -8.291960701565042e-08,
    6.4201325429831086e-09, -7.151113407635711e-10, 1.0395068460328534e-10, -1.8520806488547767e-11,
    3.876268151236579e-12, -9.33020006505065e-13, 2.4914316871937574e-13, -6.154174237314398e-14,
    1.8370749899635615e-14, -1.3419652685122838e-14, 5.093381730784018e-15,
)  # fmt: skip


def _near(a: Any, coefficients: Any) -> Any:
    return horner(a * a / 32.0 - 1.0, coefficients)


def _far(a: Any, p: Any, q: Any) -> Any:
    """Both parts, divided by sqrt(pi a)."""
    w = _SWITCH / a
    t = 2.0 * w * w - 1.0
    r = _ROOT_OF_ONE_OVER_PI / np.sqrt(a)
    return horner(t, p) * r, horner(t, q) * w * r


def _two(v: Any) -> Any:
    """Where |v| is up to 8, |v| there, and |v| elsewhere. At infinity the functions are NaN, as SciPy's."""
    a = np.absolute(v)
    near = a <= _SWITCH
    return near, np.where(near, a, 0.0), np.where(near, _SWITCH, np.where(np.isinf(a), _SWITCH, a))


def j0_source(x: Any) -> Any:
    """The Bessel function of the first kind, of order 0."""
    v = x.astype(np.float64)
    near, small, far = _two(v)
    p, q = _far(far, _P0, _Q0)
    c, s = np.cos(far), np.sin(far)
    y = np.where(near, _near(small, _J0), p * (c + s) - q * (s - c))
    return np.where(np.isinf(v), np.nan, y).astype(x.dtype)


def j1_source(x: Any) -> Any:
    """The Bessel function of the first kind, of order 1."""
    v = x.astype(np.float64)
    near, small, far = _two(v)
    p, q = _far(far, _P1, _Q1)
    c, s = np.cos(far), np.sin(far)
    wave = p * (s - c) + q * (s + c)
    y = np.where(near, np.where(near, v, 0.0) * _near(small, _J1), np.where(v < 0, -wave, wave))
    return np.where(np.isinf(v), np.nan, y).astype(x.dtype)


def y0_source(x: Any) -> Any:
    """The Bessel function of the second kind, of order 0; -inf at 0, NaN below."""
    v = x.astype(np.float64)
    near, small, far = _two(v)
    p, q = _far(far, _P0, _Q0)
    c, s = np.cos(far), np.sin(far)
    inner = _near(small, _Y0) + _TWO_OVER_PI * np.log(np.where(v > 0, v, 1.0)) * _near(small, _J0)
    y = np.where(near, inner, p * (s - c) + q * (c + s))
    return _on_the_right(v, np.where(np.isinf(v), np.nan, y)).astype(x.dtype)


def y1_source(x: Any) -> Any:
    """The Bessel function of the second kind, of order 1; -inf at 0, NaN below."""
    v = x.astype(np.float64)
    near, small, far = _two(v)
    p, q = _far(far, _P1, _Q1)
    c, s = np.cos(far), np.sin(far)
    safe = np.where(v > 0, v, 1.0)
    inner = small * (_near(small, _Y1) + _TWO_OVER_PI * np.log(safe) * _near(small, _J1)) - _TWO_OVER_PI / safe
    y = np.where(near, inner, -p * (s + c) + q * (s - c))
    return _on_the_right(v, np.where(np.isinf(v), np.nan, y)).astype(x.dtype)


def _on_the_right(v: Any, y: Any) -> Any:
    """Functions of the second kind have a pole at 0 and no values below."""
    return np.where(v > 0, y, np.where(v == 0, -np.inf, np.nan))


j0 = evaluated(j0_source)
j1 = evaluated(j1_source)
y0 = evaluated(y0_source)
y1 = evaluated(y1_source)


def d_j0(x: Any, y: Any) -> Any:
    return -j1(x)


J0 = Elementwise(
    name="j0", numpy="untraced.scipy.special.j0", evaluate=j0, loop=float_loop, partials=(d_j0,), decompose=j0_source,
    samples=(REALS,),
)


def d_j1(x: Any, y: Any) -> Any:
    return j0(x) - over(y, x, -1.0)


J1 = Elementwise(
    name="j1", numpy="untraced.scipy.special.j1", evaluate=j1, loop=float_loop, partials=(d_j1,), decompose=j1_source,
    samples=(REALS,),
)


def d_y0(x: Any, y: Any) -> Any:
    return -y1(x)


Y0 = Elementwise(
    name="y0", numpy="untraced.scipy.special.y0", evaluate=y0, loop=float_loop, partials=(d_y0,), decompose=y0_source,
    samples=(Domain(low=0.3, high=20.0),),
)


def d_y1(x: Any, y: Any) -> Any:
    return y0(x) - y / x


Y1 = Elementwise(
    name="y1", numpy="untraced.scipy.special.y1", evaluate=y1, loop=float_loop, partials=(d_y1,), decompose=y1_source,
    samples=(Domain(low=0.3, high=20.0),),
)
