"""Derivatives of functions that have SciPy's own values: differences to order 2, printed source, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import untraced
from untraced import accelerate, grad, hessian, value_and_grad, vmap
from untraced.testing import check_grads
from untraced.translator.library.scipy_special import TRANSFORMED

X = np.array([0.35, 0.8])

CASES = {
    "owens_t": lambda x: special.owens_t(x, 2.0 * x),
    "sici": lambda x: special.sici(x),
    "shichi": lambda x: special.shichi(x),
    "fresnel": lambda x: special.fresnel(x),
    "lambertw": lambda x: special.lambertw(x).real + special.lambertw(x + 0.3j, -1).imag,
    "wofz": lambda x: special.wofz(x + 0.5j).real,
    "complex error functions": lambda x: (
        special.erf(x + 0.5j).imag, special.erfc(x * 1j).imag, np.abs(special.erfcx(x + 1j * x)), special.erf(x),
    ),
    "wrightomega": lambda x: special.wrightomega(x),
    "inverses": lambda x: (special.gammaincinv(2.0, x), special.gammainccinv(2.0, x), special.betaincinv(2.0, 3.0, x)),
    "inverses by a shape": lambda x: (special.gammaincinv(3.0 * x, x), special.gammainccinv(2.0 * x, 0.4)),
    "kelvin": lambda x: (special.ber(x), special.bei(x), special.ker(x), special.kei(x), special.kerp(x)),
    "slopes": lambda x: (
        special.jvp(2, x), special.yvp(1.5, x, 2), special.ivp(1, x, 3), special.kvp(0, x), special.jve(1, x)
    ),
    "quantiles": lambda x: (special.chdtri(3.0, x), special.stdtr(4.0 * x, x), special.stdtr(2.5, -x)),
    "stdtr": lambda x: (special.stdtr(3.0, x), special.stdtrit(3.0, x)),
    "hypergeometric": lambda x: (
        special.hyp0f1(1.2, x), special.hyperu(0.5, 1.2, x)
    ),
    "airy": lambda x: special.airy(x),
    "bessel": lambda x: (special.jv(2.5, x), special.yv(1.5, x), special.jv(2, x)),
    "struve": lambda x: (special.struve(1, x), special.modstruve(0.5, x)),
    "spherical": lambda x: (
        special.spherical_yn(2, x), special.spherical_in(0, x), special.spherical_kn(1, x)
    ),
    "elliptic": lambda x: (special.ellipkinc(x, 0.5 * x), special.ellipeinc(x, 0.5 * x), special.ellipj(x, 0.4)),
    "elliptic by a small parameter": lambda x: (special.ellipkinc(1.2, 0.01 * x), special.ellipeinc(1.2, 0.01 * x)),
    "legendre": lambda x: (special.lpmv(1, 2, x), special.lpmv(0, 0.5, x), special.lpmv(1, 0, x)),
    "agm": lambda x: special.agm(x, 2.0),
    "distributions": lambda x: (
        special.chdtr(3.0, x), special.gdtr(1.5, 2.0, x), special.pdtr(2, x), special.bdtr(2, 5, x),
        special.nbdtr(2, 5, x), special.fdtr(3.0, 4.0, x),
    ),
}  # fmt: skip


LONG = "quantiles", "slopes", "distributions"  # whose second derivatives take seconds to compile


@pytest.mark.parametrize("name", LONG)
def test_to_order_1(name):
    check_grads(CASES[name], (X,), order=1)


@pytest.mark.parametrize("name", [n if n not in LONG else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
def test_to_order_2(name):
    check_grads(CASES[name], (X,), order=2)


def test_zeta_less_one():
    x = np.array([2.4, -0.6, 40.0])

    def scaled(x):
        return np.sum(special.zetac(x) * np.array([1.0, 1.0, 1e12]))

    value, slope = value_and_grad(scaled)(x)
    assert value == pytest.approx(scaled(x), rel=1e-13)
    steps = 1e-5 * np.eye(3)
    np.testing.assert_allclose(slope, [(scaled(x + h) - scaled(x - h)) / 2e-5 for h in steps], rtol=1e-8)


def test_values_are_scipys():
    for name in ("chdtr", "gdtr", "pdtr", "bdtr", "nbdtr", "fdtr", "agm", "powm1", "sindg", "cotdg", "stdtr", "chdtri"):
        theirs, own = getattr(special, name), TRANSFORMED[name]
        args = (2.0, 5.0, 0.6)[-theirs.nin :]
        np.testing.assert_allclose(own(*args), theirs(*args), rtol=1e-12, err_msg=name)
    for name in ("jvp", "yvp", "ivp", "kvp"):
        np.testing.assert_allclose(TRANSFORMED[name](2, X, 2), getattr(special, name)(2, X, 2), rtol=1e-12)


@pytest.mark.parametrize(
    "name, args",
    [
        ("agm", (1.0, 1e-12)),
        ("powm1", (-2.0, 2.0)),
        ("bdtr", (5, 5, 0.3)),
        ("bdtrc", (5, 5, 0.3)),
        ("fdtrc", (3.0, 4.0, 1e12)),
    ],
)
def test_values_at_the_ends_of_their_range(name, args):
    value, slope = value_and_grad(lambda x: getattr(special, name)(*args[:-1], x))(args[-1])
    assert value == pytest.approx(getattr(special, name)(*args), rel=1e-12, abs=0.0)
    assert np.isfinite(slope) or name == "powm1"  # by an exponent of -2 there is none


@pytest.mark.parametrize("n", [0, 1, 2])
def test_spherical_functions_at_zero(n):
    """i_n = z**n / (2 n + 1)!! (1 + z**2 / (4 n + 6) + ...), j_n with a minus."""
    first, second = [0.0, 1 / 3, 0.0][n], [1 / 3, 0.0, 2 / 15][n]
    slope = grad(lambda z: special.spherical_in(n, z))
    np.testing.assert_allclose([slope(0.0), grad(slope)(0.0)], [first, second], rtol=1e-14)
    value, bend = value_and_grad(lambda z: special.spherical_jn(n, z, True))(0.0)
    np.testing.assert_allclose([value, bend], [first, -second if n == 0 else second], rtol=1e-14)


def test_elliptic_integrals_at_parameter_0():
    slope = grad(lambda m: special.ellipkinc(1.2, m))
    near = (slope(1e-3) - slope(-1e-3)) / 2e-3
    np.testing.assert_allclose(slope(0.0), 0.25 * 1.2 - 0.125 * np.sin(2.4), rtol=1e-14)
    np.testing.assert_allclose(grad(slope)(0.0), near, rtol=1e-5)


def test_compiled_batched_and_read_again():
    def loss(x):
        return np.sum(special.airy(x)[0] * special.jv(2.5, x))

    gradient = grad(loss)
    want = gradient(X)
    compiled = accelerate(gradient, target="cpu")
    np.testing.assert_allclose(compiled(X), want, rtol=1e-14)
    np.testing.assert_allclose(vmap(gradient)(np.stack([X, X])), [want, want], rtol=1e-14)
    space = {}
    exec(compiled.inspect(X).source, space)
    again = space[next(k for k in space if k.startswith("loss"))]
    np.testing.assert_allclose(again(X), want, rtol=1e-14)
    np.testing.assert_allclose(hessian(loss)(X), untraced.jacfwd(gradient)(X), rtol=1e-12)


def test_arguments_without_a_rule_are_refused():
    with pytest.raises(untraced.UnsupportedError, match="no derivative by argument 1") as refused:
        grad(lambda a: special.hyperu(a, 1.2, 0.3))(0.5)
    assert "special.hyperu(a, 1.2, 0.3)" in str(refused.value)
