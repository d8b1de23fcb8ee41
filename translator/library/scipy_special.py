"""Functions of scipy.special over rows that have SciPy's values, as NumPy source, for derivatives and batches only.

Alone they are CPython's: what is around them compiles. Distribution functions are those of gamma and beta (NIST Digital
Library of Mathematical Functions, 8.2 and 8.17); the arithmetic-geometric mean 19.8.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops import foreign
from ..ops.special import erf, erfc, erfcx
from .bessel import iv, kv
from .bessel import jv as _jv
from .bessel import yv as _yv
from .distributions_common import student_cdf
from .incomplete import betainc, betaincc, gammainc, gammaincc
from .integrals import ellipkm1
from .special import zeta
from .support import is_whole, known, only_plain


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    return foreign.lambertw(np.asarray(z) + 0j, k)


def wofz(z: Any) -> Any:
    return foreign.wofz(np.asarray(z) + 0j)


def _of_reals_or_complex(name: str, of_reals: Any, of_complex: Any) -> Callable[[Any], Any]:
    def either(z: Any) -> Any:
        return of_complex(z) if np.asarray(z).dtype.kind == "c" else of_reals(z)

    either.__name__ = name
    return either


def zetac(x: Any) -> Any:
    """zeta(x) - 1, which for large x is far below 1."""
    x = np.asarray(x)
    above = x > 1.0
    return np.where(above, zeta(np.where(above, x, 2.0), 2.0), zeta(np.where(above, 0.5, x)) - 1.0)[()]


def airy(z: Any) -> Any:
    return foreign.airy_ai(z), foreign.airy_aip(z), foreign.airy_bi(z), foreign.airy_bip(z)


def sici(x: Any) -> Any:
    return foreign.sine_integral(x), foreign.cosine_integral(x)


def shichi(x: Any) -> Any:
    return foreign.sinh_integral(x), foreign.cosh_integral(x)


def fresnel(z: Any) -> Any:
    return foreign.fresnel_s(z), foreign.fresnel_c(z)


def ellipj(u: Any, m: Any) -> Any:
    return foreign.jacobi_sn(u, m), foreign.jacobi_cn(u, m), foreign.jacobi_dn(u, m), foreign.jacobi_ph(u, m)


def jv(v: Any, z: Any) -> Any:
    return _jv(v, z) if is_whole(v) else foreign.jv(v, z)


def yv(v: Any, z: Any) -> Any:
    return _yv(v, z) if is_whole(v) else foreign.yv(v, z)


def jve(v: Any, z: Any) -> Any:
    """Of real arguments jv itself."""
    only_plain("scipy.special.jve", np.asarray(z).dtype.kind != "c", "of complex numbers")
    return jv(v, z)


def yn(n: Any, z: Any) -> Any:
    """yv of a whole order: what an order has behind the point is cut off."""
    return yv(n if is_whole(n) else np.trunc(n), z)


def yve(v: Any, z: Any) -> Any:
    only_plain("scipy.special.yve", np.asarray(z).dtype.kind != "c", "of complex numbers")
    return yv(v, z)


def _slope_of(function: Any, sign: float, name: str) -> Any:
    """Derivatives of Bessel functions of order n, by n + 1 neighbours (DLMF 10.6.7 and 10.29.5)."""

    def slope(v: Any, z: Any, n: Any = 1) -> Any:
        n = known(n)
        only_plain(f"scipy.special.{name}", isinstance(n, int) and n >= 0)
        factor, total = 1.0, function(v - n, z)
        for i in tuple(range(1, n + 1)):
            factor = sign * factor * (n - i + 1) / i
            total = total + factor * function(v - n + 2 * i, z)
        return total / 2**n

    return slope


def kvp(v: Any, z: Any, n: Any = 1) -> Any:
    return (-1) ** known(n) * _slope_of(kv, 1.0, "kvp")(v, z, n)


def stdtr(df: Any, t: Any) -> Any:
    return student_cdf(t, df)


def chdtri(v: Any, p: Any) -> Any:
    return 2.0 * foreign.gammainccinv(0.5 * v, p)


def _spherical(row: Any) -> Any:
    def spherical(n: Any, z: Any, derivative: Any = False) -> Any:
        only_plain("a spherical Bessel function of scipy.special", derivative is False, "with derivative=True")
        return row(n, z)

    return spherical


def agm(a: Any, b: Any) -> Any:
    return 0.25 * np.pi * (a + b) / ellipkm1(4.0 * (a / (a + b)) * (b / (a + b)))


def chdtr(v: Any, x: Any) -> Any:
    return gammainc(0.5 * v, 0.5 * x)


def chdtrc(v: Any, x: Any) -> Any:
    return gammaincc(0.5 * v, 0.5 * x)


def gdtr(a: Any, b: Any, x: Any) -> Any:
    return gammainc(b, a * x)


def gdtrc(a: Any, b: Any, x: Any) -> Any:
    return gammaincc(b, a * x)


def pdtr(k: Any, m: Any) -> Any:
    return gammaincc(np.floor(k) + 1.0, m)


def pdtrc(k: Any, m: Any) -> Any:
    return gammainc(np.floor(k) + 1.0, m)


def bdtr(k: Any, n: Any, p: Any) -> Any:
    most = np.floor(k)
    sure = most == n
    return np.where(sure, 1.0, betaincc(most + 1.0, np.where(sure, 1.0, n - most), p))[()]


def bdtrc(k: Any, n: Any, p: Any) -> Any:
    most = np.floor(k)
    sure = most == n
    return np.where(sure, 0.0, betainc(most + 1.0, np.where(sure, 1.0, n - most), p))[()]


def nbdtr(k: Any, n: Any, p: Any) -> Any:
    return betainc(n, np.floor(k) + 1.0, p)


def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    return betaincc(n, np.floor(k) + 1.0, p)


def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    return betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    return betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))  # betaincc would round 1 - p away


def sindg(x: Any) -> Any:
    return np.sin(np.deg2rad(x))


def cosdg(x: Any) -> Any:
    return np.cos(np.deg2rad(x))


def tandg(x: Any) -> Any:
    return np.tan(np.deg2rad(x))


def cotdg(x: Any) -> Any:
    return 1.0 / np.tan(np.deg2rad(x))


def radian(d: Any, m: Any, s: Any) -> Any:
    return np.deg2rad(d + m / 60.0 + s / 3600.0)


def powm1(x: Any, y: Any) -> Any:
    above = x > 0
    return np.where(above, np.expm1(y * np.log(np.where(above, x, 1.0))), np.power(np.where(above, 1.0, x), y) - 1.0)


_OWN = ("airy_", "fresnel_", "jacobi_", "_integral", "lambert_w", "_of_any_order", "_of_complex")
TRANSFORMED: dict[str, Callable[..., Any]] = {
    **{name: row for name, row in foreign.FUNCTIONS.items() if not any(part in name for part in _OWN)},
    **{f.__name__: f for f in (lambertw, wofz, airy, sici, shichi, fresnel, ellipj, jv, yv, agm)},
    **{f.__name__: f for f in (jve, yve, kvp, stdtr, chdtri)},
    "jvp": _slope_of(jv, -1.0, "jvp"),
    "yvp": _slope_of(yv, -1.0, "yvp"),
    "ivp": _slope_of(iv, 1.0, "ivp"),
    **{f.__name__: f for f in (chdtr, chdtrc, gdtr, gdtrc, pdtr, pdtrc, bdtr, bdtrc, nbdtr, nbdtrc, fdtr, fdtrc)},
    **{f.__name__: f for f in (sindg, cosdg, tandg, cotdg, radian, powm1)},
    **{f"spherical_{kind}": _spherical(foreign.FUNCTIONS[f"spherical_{kind}"]) for kind in ("yn", "in", "kn")},
    "erf": _of_reals_or_complex("erf", erf, foreign.erf_of_complex),
    "erfc": _of_reals_or_complex("erfc", erfc, foreign.erfc_of_complex),
    "erfcx": _of_reals_or_complex("erfcx", erfcx, foreign.erfcx_of_complex),
    "zetac": zetac,
    "jn": jv,
    "yn": yn,
}
"""By SciPy's names."""
