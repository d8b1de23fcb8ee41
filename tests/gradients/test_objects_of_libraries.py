"""Derivatives through objects of Python's library and NumPy's: queues, polynomials, series."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Legendre, Polynomial
from numpy.polynomial import chebyshev as C
from numpy.polynomial import polynomial as P

from untraced import accelerate, grad
from untraced.testing import check_grads

X = np.array([1.5, 2.5, 3.5, 4.1])


def last_three(x):
    q = collections.deque(maxlen=3)
    total = 0.0
    for v in x:
        q.append(v)
        total += sum(q) ** 2
    return total + np.mean(q) * len(q)


def first_in_first_out(x):
    q = collections.deque(x[:2])
    total = 0.0
    for v in x[2:]:
        total += q.popleft() * v
        q.append(v * total)
    return total + q[-1]


def turned_queue(x):
    q = collections.deque([x[0], x[1], x[2]])
    q.rotate(1)
    q.appendleft(x[3])
    q.extendleft([x[1] * x[2]])
    return np.array(q) @ np.arange(5.0) + q[0] * q.pop()


def until_it_is_empty(x):
    q = collections.deque([x[0], x[1], x[2]])
    s = 0.0
    while q:
        v = q.popleft()
        s += v * s + v
    return s


def polynomial_of_powers(x):
    p = np.poly1d(x)
    q = p * p + p - 2 * p
    return q(0.3) * q.coeffs[1] + q[0] + p.order + p.deriv()(1.3) * p.integ()(0.4) + p(x[0])


def polynomial_of_a_polynomial(x):
    p = np.poly1d(x)
    q, r = p / np.poly1d([x[0], x[1]], True)
    return p(np.poly1d([1.0, x[0]]))(0.5) + (p**2)(0.2) + (1 - p)(0.3) + q(0.3) * r(0.4) + np.polyval(p, 0.1)


def series_of_powers(x):
    p = Polynomial(x)
    slopes = p.deriv()(0.2) + p.integ(lbnd=0.1)(1.0)
    return (p * p)(0.1) + (p**2)(x[0]) + (2 * p - 1)(0.5) * slopes + p.degree() + np.sum(p.coef**2)


def other_series(x):
    c, g = Chebyshev(x), Legendre(x, domain=[0, 3])
    return (c * c)(0.3) + c.deriv()(0.2) * c.integ()(0.1) + (g * g)(0.3) + C.chebmul(x, x)[2]


def fitted_series(x):
    p = Polynomial.fit(x, np.cos(x), 2)
    return p(2.6) + p.convert().coef[1] + Polynomial.fromroots(x)(0.3) + Chebyshev.fit(np.arange(4.0), x, 2)(0.6)


def divided_series(x):
    d = Polynomial([1.0, 2.0])
    quotient, rest = divmod(Polynomial(x), d)
    return quotient(0.3) * rest(0.2) + np.sum(P.polymul(x, x) ** 2) + np.sum(P.polypow(x, 3))


def by_their_classes(x):
    q, p = collections.deque([x[0], x[1]]), np.poly1d(x)
    scale = 1.0 if isinstance(q, collections.deque) and type(q) is collections.deque else 100.0
    parts = [np.polyder(p), np.polyint(p), np.polyadd(p, 1.0), np.polysub(p, x[:2]), np.polymul(p, p)]
    parts += np.polydiv(p, np.poly1d([x[0], 2.0]))
    scale += sum(10.0 for v in parts if type(v) is not np.poly1d or isinstance(v, np.ndarray))
    return scale * (q[0] * q[1] + sum(v(0.5) for v in parts) + np.polyval(p, np.poly1d([1.0, x[0]]))(0.3))


def of_zeros_at_the_end(x):
    """Their slopes are those of the other coefficients: NumPy leaves them out."""
    p = Polynomial(x * np.array([1.0, 1.0, 1.0, 0.0]))
    return (p * p)(0.7)


OBJECTS: list[Callable[[Any], Any]] = [
    last_three,
    first_in_first_out,
    turned_queue,
    until_it_is_empty,
    polynomial_of_powers,
    polynomial_of_a_polynomial,
    series_of_powers,
    other_series,
    fitted_series,
    divided_series,
    by_their_classes,
    of_zeros_at_the_end,
]


@pytest.mark.parametrize("f", OBJECTS)
def test_derivatives(f: Callable[[Any], Any]) -> None:
    check_grads(f, (X,), order=2)


def test_compiled_derivatives() -> None:
    for f in (first_in_first_out, polynomial_of_a_polynomial, series_of_powers):
        np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-12)


def test_an_empty_queue() -> None:
    def of_nothing(x):
        q = collections.deque([x[0]])
        q.pop()
        return q.popleft()

    with pytest.raises(IndexError, match="pop from an empty deque"):
        grad(of_nothing)(X)
