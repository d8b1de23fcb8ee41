"""Special functions whose values are SciPy's own and whose derivatives are known: rows for derivatives and batches.

No target has them: CPython runs the programs that call them (`routines.runs_in_cpython`). What has several results in
SciPy is several rows. Derivatives: NIST Digital Library of Mathematical Functions, 4.13.4 (lambertw), 6.2 (integrals),
7.2 and 7.10 (Faddeeva, Fresnel), 9.2.1 (Airy), 10.6, 10.29 and 10.51 (Bessel), 11.4 (Struve);
13.3.22 (U), 14.10.5 (Legendre), 19.4 and 19.18 (elliptic integrals), 22.13 (Jacobi);
D. B. Owen, Tables for computing bivariate normal probabilities, 1956 (T). By an order, or a parameter for which no
closed form is at hand, there is none: such an argument is refused where it is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Aval, DType
from .beta import betaln
from .core import Elementwise, Rule, promote
from .gamma import gamma, gammaln
from .implicit import log_slope
from .special import erf

_INT, _DOUBLE = np.dtype(np.int64), np.dtype(np.float64)
_COMPLEX = np.dtype(np.complex128)
_ROOT_PI = 1.7724538509055159
_NEAR, _POWERS = 0.05, 14  # of the parameter of elliptic integrals: what is left out is 1e-17 of the sum


def _value(theirs: str, part: int | None, name: str) -> Callable[..., Any]:
    def evaluate(*args: Any) -> Any:
        made = getattr(import_module("scipy.special"), theirs)(*args)
        return made if part is None else made[part]

    evaluate.__name__ = evaluate.__qualname__ = name
    evaluate.__doc__ = f"scipy.special.{theirs}" + ("" if part is None else f", result {part}")
    return evaluate


def _reals(whole: Sequence[int]) -> Callable[[Sequence[Aval]], tuple[tuple[DType, ...], DType]]:
    """Floats of one width; integers stay what they are at the places `whole`, where SciPy has loops for them."""

    def loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
        kept = [i in whole and a.dtype.kind in "iu" for i, a in enumerate(avals)]
        dtype = promote([a for a, k in zip(avals, kept, strict=True) if not k])
        if dtype.kind == "c":
            raise DTypeError("this special function is for real numbers")
        dtype = dtype if dtype == np.float32 else _DOUBLE
        return tuple(_INT if k else dtype for k in kept), dtype

    return loop


def _complex_of_branch(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    return (_COMPLEX, _INT), _COMPLEX


def _complex(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    dtype = promote(avals)
    dtype = dtype if dtype == np.complex64 else _COMPLEX
    return (dtype,), dtype


FUNCTIONS: dict[str, Callable[..., Any]] = {}
ROWS: list[Elementwise] = []


def _row(
    name: str,
    *partials: Rule | None,
    theirs: str = "",
    part: int | None = None,
    whole: Sequence[int] = (),
    loop: Callable[[Sequence[Aval]], tuple[tuple[DType, ...], DType]] | None = None,
) -> Any:
    """Enters a row: a rule for each argument, None where there is no derivative."""
    evaluate = FUNCTIONS[name] = _value(theirs or name, part, name)
    ROWS.append(
        Elementwise(
            name=name, numpy=f"untraced.scipy.special.{name}", evaluate=evaluate, arity=len(partials), foreign=True,
            loop=loop or _reals(whole), partials=partials, samples=(),
            unknown=tuple(i for i, rule in enumerate(partials) if rule is None),
        )
    )  # fmt: skip
    return evaluate


# ---- integrals of elementary functions -----------------------------------------------------------


def d_shi(x: Any, y: Any) -> Any:
    return np.where(x == 0, 1.0 + x * x / 6.0, np.sinh(x) / np.where(x == 0, 1.0, x))


def d_ci(x: Any, y: Any) -> Any:
    return np.cos(x) / x


def d_chi(x: Any, y: Any) -> Any:
    return np.cosh(x) / x


def d_si(x: Any, y: Any) -> Any:
    return np.sinc(x / np.pi)


def d_fresnel_s(x: Any, y: Any) -> Any:
    return np.sin(0.5 * np.pi * x * x)


def d_fresnel_c(x: Any, y: Any) -> Any:
    return np.cos(0.5 * np.pi * x * x)


def d_owens_h(h: Any, a: Any, y: Any) -> Any:
    return -np.exp(-0.5 * h * h) * erf(a * h / np.sqrt(2.0)) / (2.0 * np.sqrt(2.0 * np.pi))


def d_owens_a(h: Any, a: Any, y: Any) -> Any:
    return np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * np.pi * (1.0 + a * a))


sine_integral = _row("sine_integral", d_si, theirs="sici", part=0)
cosine_integral = _row("cosine_integral", d_ci, theirs="sici", part=1)
sinh_integral = _row("sinh_integral", d_shi, theirs="shichi", part=0)
cosh_integral = _row("cosh_integral", d_chi, theirs="shichi", part=1)
fresnel_s = _row("fresnel_s", d_fresnel_s, theirs="fresnel", part=0)
fresnel_c = _row("fresnel_c", d_fresnel_c, theirs="fresnel", part=1)
owens_t = _row("owens_t", d_owens_h, d_owens_a)


# ---- inverses ------------------------------------------------------------------------------------


def d_lambertw(z: Any, k: Any, y: Any) -> Any:
    return np.exp(-y) / (1.0 + y)


def d_wofz(z: Any, y: Any) -> Any:
    return 2j / _ROOT_PI - 2.0 * z * y


def d_erf_of_complex(z: Any, y: Any) -> Any:
    return 2.0 / _ROOT_PI * np.exp(-z * z)


def d_erfc_of_complex(z: Any, y: Any) -> Any:
    return -2.0 / _ROOT_PI * np.exp(-z * z)


def d_erfcx_of_complex(z: Any, y: Any) -> Any:
    return 2.0 * z * y - 2.0 / _ROOT_PI


def d_wrightomega(z: Any, y: Any) -> Any:
    return y / (1.0 + y)


def d_gammaincinv_a(a: Any, p: Any, y: Any) -> Any:
    return y * log_slope(a, np.log(y))


def d_gammaincinv(a: Any, p: Any, y: Any) -> Any:
    return np.exp(y + gammaln(a)) * np.power(y, 1.0 - a)


def d_gammainccinv(a: Any, p: Any, y: Any) -> Any:
    return -np.exp(y + gammaln(a)) * np.power(y, 1.0 - a)


def d_betaincinv(a: Any, b: Any, p: Any, y: Any) -> Any:
    return np.exp(betaln(a, b)) * np.power(y, 1.0 - a) * np.power(1.0 - y, 1.0 - b)


def _student(df: Any, t: Any) -> Any:
    """The density of Student's distribution."""
    scale = np.exp(gammaln(0.5 * df + 0.5) - gammaln(0.5 * df)) / np.sqrt(np.pi * df)
    return scale * np.power(1.0 + t * t / df, -0.5 * df - 0.5)


def d_stdtrit(df: Any, p: Any, y: Any) -> Any:
    return 1.0 / _student(df, y)


lambertw = _row("lambert_w", d_lambertw, None, theirs="lambertw", loop=_complex_of_branch)
wofz = _row("wofz", d_wofz, loop=_complex)
erf_of_complex = _row("erf_of_complex", d_erf_of_complex, theirs="erf", loop=_complex)
erfc_of_complex = _row("erfc_of_complex", d_erfc_of_complex, theirs="erfc", loop=_complex)
erfcx_of_complex = _row("erfcx_of_complex", d_erfcx_of_complex, theirs="erfcx", loop=_complex)
wrightomega = _row("wrightomega", d_wrightomega)
gammaincinv = _row("gammaincinv", d_gammaincinv_a, d_gammaincinv)
gammainccinv = _row("gammainccinv", d_gammaincinv_a, d_gammainccinv)
betaincinv = _row("betaincinv", None, None, d_betaincinv)
stdtrit = _row("stdtrit", None, d_stdtrit)


# ---- hypergeometric and Bessel functions ---------------------------------------------------------


def d_hyp0f1(v: Any, z: Any, y: Any) -> Any:
    return hyp0f1(v + 1.0, z) / v


def d_hyperu(a: Any, b: Any, x: Any, y: Any) -> Any:
    return -a * hyperu(a + 1.0, b + 1.0, x)


def d_airy_ai(x: Any, y: Any) -> Any:
    return airy_aip(x)


def d_airy_bi(x: Any, y: Any) -> Any:
    return airy_bip(x)


def d_airy_aip(x: Any, y: Any) -> Any:
    return x * airy_ai(x)


def d_airy_bip(x: Any, y: Any) -> Any:
    return x * airy_bi(x)


def d_jv(v: Any, z: Any, y: Any) -> Any:
    return 0.5 * (jv(v - 1.0, z) - jv(v + 1.0, z))


def d_yv(v: Any, z: Any, y: Any) -> Any:
    return 0.5 * (yv(v - 1.0, z) - yv(v + 1.0, z))


def d_struve(v: Any, x: Any, y: Any) -> Any:
    rest = np.power(0.5 * x, v) / (_ROOT_PI * gamma(v + 1.5))
    return 0.5 * (struve(v - 1.0, x) - struve(v + 1.0, x) + rest)


def d_modstruve(v: Any, x: Any, y: Any) -> Any:
    rest = np.power(0.5 * x, v) / (_ROOT_PI * gamma(v + 1.5))
    return 0.5 * (modstruve(v - 1.0, x) + modstruve(v + 1.0, x) + rest)


def d_spherical_in(n: Any, z: Any, y: Any) -> Any:
    return (n * spherical_in(np.maximum(n - 1, 0), z) + (n + 1) * spherical_in(n + 1, z)) / (2 * n + 1)


def d_spherical_yn(n: Any, z: Any, y: Any) -> Any:
    return n * y / z - spherical_yn(n + 1, z)


def d_spherical_kn(n: Any, z: Any, y: Any) -> Any:
    return n * y / z - spherical_kn(n + 1, z)


hyp0f1 = _row("hyp0f1", None, d_hyp0f1)
hyperu = _row("hyperu", None, None, d_hyperu)
airy_ai = _row("airy_ai", d_airy_ai, theirs="airy", part=0)
airy_aip = _row("airy_aip", d_airy_aip, theirs="airy", part=1)
airy_bi = _row("airy_bi", d_airy_bi, theirs="airy", part=2)
airy_bip = _row("airy_bip", d_airy_bip, theirs="airy", part=3)
jv = _row("jv_of_any_order", None, d_jv, theirs="jv")
yv = _row("yv_of_any_order", None, d_yv, theirs="yv")
struve = _row("struve", None, d_struve)
modstruve = _row("modstruve", None, d_modstruve)
spherical_in = _row("spherical_in", None, d_spherical_in, whole=(0,))
spherical_yn = _row("spherical_yn", None, d_spherical_yn, whole=(0,))
spherical_kn = _row("spherical_kn", None, d_spherical_kn, whole=(0,))


# ---- Kelvin's functions, DLMF 10.61 ------------------------------------------------------------------


def d_ber(x: Any, y: Any) -> Any:
    return berp(x)


def d_bei(x: Any, y: Any) -> Any:
    return beip(x)


def d_ker(x: Any, y: Any) -> Any:
    return kerp(x)


def d_kei(x: Any, y: Any) -> Any:
    return keip(x)


def d_berp(x: Any, y: Any) -> Any:
    return -bei(x) - y / x


def d_beip(x: Any, y: Any) -> Any:
    return ber(x) - y / x


def d_kerp(x: Any, y: Any) -> Any:
    return -kei(x) - y / x


def d_keip(x: Any, y: Any) -> Any:
    return ker(x) - y / x


ber = _row("ber", d_ber)
bei = _row("bei", d_bei)
ker = _row("ker", d_ker)
kei = _row("kei", d_kei)
berp = _row("berp", d_berp)
beip = _row("beip", d_beip)
kerp = _row("kerp", d_kerp)
keip = _row("keip", d_keip)


# ---- elliptic integrals and functions ------------------------------------------------------------


def d_kinc_phi(phi: Any, m: Any, y: Any) -> Any:
    return 1.0 / np.sqrt(1.0 - m * np.sin(phi) ** 2)


def d_kinc_m(phi: Any, m: Any, y: Any) -> Any:
    near = np.absolute(m) < _NEAR
    far = np.where(near, 0.5, m)
    rest = np.sin(2.0 * phi) / (4.0 * (1.0 - far) * np.sqrt(1.0 - far * np.sin(phi) ** 2))
    slope = ellipeinc(phi, far) / (2.0 * far * (1.0 - far)) - ellipkinc(phi, far) / (2.0 * far) - rest
    return np.where(near, _by_powers(phi, np.where(near, m, 0.0), -0.5), slope)


def _by_powers(phi: Any, m: Any, power: float) -> Any:
    """The derivative by m of the integral of (1 - m sin(t) ** 2) ** power from 0 to phi, by the binomial series."""
    s, c = np.sin(phi), np.cos(phi)
    integral, moved, factor, total = phi, s * c, 1.0, 0.0
    for k in tuple(range(1, _POWERS)):
        integral = (moved * -1.0 + (2.0 * k - 1.0) * integral) / (2.0 * k)  # of sin(t) ** (2 k)
        moved = moved * s * s
        factor = factor * (k - 1.0 - power) / k
        total = total + k * factor * m ** (k - 1) * integral
    return total


def d_einc_phi(phi: Any, m: Any, y: Any) -> Any:
    return np.sqrt(1.0 - m * np.sin(phi) ** 2)


def d_einc_m(phi: Any, m: Any, y: Any) -> Any:
    near = np.absolute(m) < _NEAR
    far = np.where(near, 0.5, m)
    slope = (ellipeinc(phi, far) - ellipkinc(phi, far)) / (2.0 * far)
    return np.where(near, _by_powers(phi, np.where(near, m, 0.0), 0.5), slope)


def d_elliprf(x: Any, y: Any, z: Any, value: Any) -> Any:
    return -elliprd(y, z, x) / 6.0


def d_elliprf_y(x: Any, y: Any, z: Any, value: Any) -> Any:
    return -elliprd(z, x, y) / 6.0


def d_elliprf_z(x: Any, y: Any, z: Any, value: Any) -> Any:
    return -elliprd(x, y, z) / 6.0


def d_sn_u(u: Any, m: Any, y: Any) -> Any:
    return jacobi_cn(u, m) * jacobi_dn(u, m)


def d_cn_u(u: Any, m: Any, y: Any) -> Any:
    return -jacobi_sn(u, m) * jacobi_dn(u, m)


def d_dn_u(u: Any, m: Any, y: Any) -> Any:
    return -m * jacobi_sn(u, m) * jacobi_cn(u, m)


def d_ph_u(u: Any, m: Any, y: Any) -> Any:
    return jacobi_dn(u, m)


ellipkinc = _row("ellipkinc", d_kinc_phi, d_kinc_m)
ellipeinc = _row("ellipeinc", d_einc_phi, d_einc_m)
elliprd = _row("elliprd", None, None, None)
elliprf = _row("elliprf", d_elliprf, d_elliprf_y, d_elliprf_z)
jacobi_sn = _row("jacobi_sn", d_sn_u, None, theirs="ellipj", part=0)
jacobi_cn = _row("jacobi_cn", d_cn_u, None, theirs="ellipj", part=1)
jacobi_dn = _row("jacobi_dn", d_dn_u, None, theirs="ellipj", part=2)
jacobi_ph = _row("jacobi_ph", d_ph_u, None, theirs="ellipj", part=3)


# ---- Legendre functions ----------------------------------------------------------------------


def d_lpmv(m: Any, v: Any, x: Any, y: Any) -> Any:
    return (v * x * y - (v + m) * lpmv(m, v - 1, x)) / (x * x - 1.0)  # SciPy takes degrees below 0 as 14.9.5 does


lpmv = _row("lpmv", None, None, d_lpmv)
