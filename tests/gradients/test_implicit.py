"""Roots and solutions of linear systems, differentiated by what they solve; functions with a derivative beside them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from untraced import (
    UnsupportedError,
    accelerate,
    closure_convert,
    custom_gradient,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jvp,
    lax,
    linear_transpose,
    scipy,
    vjp,
    vmap,
)

P = np.array([1.2, 0.7])
A = np.array([[3.0, 1.0], [0.5, 2.0]])


def bisected(f, _):
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if f(middle) > 0.0:
            high = middle
        else:
            low = middle
    return (low + high) / 2.0


def cubic(p):
    return lax.custom_root(lambda x: x**3 - p * x - 2.0, 1.0, bisected, lambda g, y: y / g(1.0))


def test_a_root_that_no_derivative_goes_through_to_third_order():
    x = cubic(2.0)
    slope = x / (3.0 * x * x - 2.0)
    # x'' and x''' by differentiating x' = x / (3 x^2 - p)
    bent = (slope * (3 * x * x - 2.0) - x * (6 * x * slope - 1.0)) / (3 * x * x - 2.0) ** 2
    np.testing.assert_allclose([grad(cubic)(2.0), jvp(cubic, (2.0,), (1.0,))[1]], slope, rtol=1e-12)
    np.testing.assert_allclose(grad(grad(cubic))(2.0), bent, rtol=1e-10)
    third = (grad(grad(cubic))(2.001) - grad(grad(cubic))(1.999)) / 0.002
    np.testing.assert_allclose(grad(grad(grad(cubic)))(2.0), third, rtol=1e-4)
    np.testing.assert_allclose(accelerate(vmap(grad(cubic)))(np.array([2.0, 2.5])), [slope, grad(cubic)(2.5)])


def system(p):
    def f(x):
        return np.array([x[0] ** 2 + x[1] - p[0], x[1] ** 2 - p[1] * x[0]])

    def solve(f, x):
        for _ in range(30):
            x = x - np.linalg.solve(jacobian(f)(x), f(x))
        return x, {"trips": 30}

    x, aux = lax.custom_root(f, np.ones(2), solve, lambda g, y: np.linalg.solve(jacobian(g)(y), y), has_aux=True)
    return np.sum(x**2) * aux["trips"]


def linear(p):
    m = A * p[0] + np.outer(p, p)

    def solve(f, b):
        return np.linalg.solve(jacobian(f)(b), b)

    return np.sum(lax.custom_linear_solve(lambda v: m @ v, p, solve, solve) ** 3)


def conjugate_gradients(f, b):
    x = np.zeros_like(b)
    r = step = b
    rest = np.sum(r * r)
    while rest > 1e-28:
        moved = f(step)
        length = rest / np.sum(step * moved)
        x, r = x + length * step, r - length * moved
        before, rest = rest, np.sum(r * r)
        step = r + rest / before * step
    return x


def iterated(p):
    m = A + A.T + np.diag(p)
    return np.sum(lax.custom_linear_solve(lambda v: m @ v, p * p, conjugate_gradients, symmetric=True) ** 3)


@pytest.mark.parametrize("f", [system, linear, iterated])
def test_solutions_of_systems(f):
    steps = 1e-6 * np.eye(2)
    np.testing.assert_allclose(grad(f)(P), [(f(P + e) - f(P - e)) / 2e-6 for e in steps], rtol=1e-6)
    want = [(grad(f)(P + e) - grad(f)(P - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(hessian(f)(P), want, rtol=1e-5)
    np.testing.assert_allclose(accelerate(grad(f))(P), grad(f)(P), rtol=1e-9)


def test_solvers_that_are_not_linear_step_by_step_are_refused_where_they_would_be_transposed():
    def f(p):
        return lax.custom_root(lambda x: x * x - p, np.ones(2), lambda f, x: np.sqrt(x * P), conjugate_gradients)[0]

    np.testing.assert_allclose(jvp(f, (P,), (np.ones(2),))[1], 0.5 / np.sqrt(P[0]))
    with pytest.raises(UnsupportedError, match="linear"):
        grad(f)(P)
    with pytest.raises(TypeError, match="transpose_solve"):
        grad(lambda p: lax.custom_linear_solve(lambda v: p * v, p, lambda f, b: b / P)[0])(P)


def test_what_a_function_finds_outside_becomes_arguments():
    def outer(p, n):
        q = p * p
        g, consts = closure_convert(lambda x: x * q[0] * n + p[1], 1.0)
        return sum(np.sum(c) for c in consts) + g(3.0, *consts)

    np.testing.assert_allclose(grad(outer)(P, 2), [2 * P[0] + 1.0 + 12 * P[0], 2 * P[1] + 1.0 + 1.0])
    g, consts = closure_convert(np.sin, 1.0)
    assert g is np.sin
    assert consts == []


def test_a_function_that_gives_its_own_cotangents():
    @custom_gradient
    def product(x, y):
        return x * y, lambda ct: (10.0 * ct * y, ct * x * x)

    assert product(2.0, 3.0) == 6.0
    assert grad(product, (0, 1))(2.0, 3.0) == (30.0, 4.0)
    assert grad(grad(product, 1))(2.0, 3.0) == 4.0


def test_transposes_of_functions_of_numbers():
    assert linear_transpose(lambda x, y: 3.0 * x - y, 1.0, np.float64(2.0))(2.0) == (6.0, -2.0)


@pytest.mark.parametrize("f", [np.sin, lambda x: x + 1.0, lambda x: x * x], ids=["sin", "shift", "square"])
def test_only_what_is_linear_has_a_transpose(f):
    with pytest.raises(UnsupportedError, match="not linear"):
        linear_transpose(f, 1.0)


def test_transposes():
    (found,) = linear_transpose(lambda x: A @ x, P)(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found, A.T @ [1.0, 2.0])


def test_a_linear_function_is_transposed_in_what_is_read():
    f = lambda x: np.sum(linear_transpose(lambda v: A @ v * x, np.ones(2))(np.array([1.0, 2.0]))[0] ** 2)
    assert accelerate(f)(2.0) == f(2.0)
    assert accelerate(grad(f))(2.0) == grad(f)(2.0) == f(2.0)  # a square: x f' = 2 f


S = np.array([[3.0, 1.0], [1.0, 2.0]])
SOLVED = {
    "partial": lambda a, b: lax.custom_linear_solve(
        functools.partial(np.dot, a), b, lambda f, r: np.linalg.solve(a, r), symmetric=True
    ),
    "closure": lambda a, b: lax.custom_linear_solve(
        lambda x: a @ x, b, lambda f, r: np.linalg.solve(a, r), lambda f, r: np.linalg.solve(a.T, r)
    ),
}


@pytest.mark.parametrize("name", SOLVED)
def test_solvers_may_speak_of_what_moves(name):
    """The solution is the same however it is found, so what the solvers find outside has no derivative of its own."""
    f = SOLVED[name]

    def value(solve, t):
        return np.sum(np.sin(solve(S * t[0] + np.eye(2) * t[1], P * t[0])))

    t = np.array([1.5, 0.7])
    for order in (grad, hessian, jacfwd):
        wanted = order(lambda t: value(np.linalg.solve, t))(t)
        np.testing.assert_allclose(order(lambda t: value(f, t))(t), wanted, rtol=1e-12)
    ours = vmap(grad(lambda t: value(f, t)))(np.stack([t, t + 1]))
    np.testing.assert_allclose(ours[0], grad(lambda t: value(np.linalg.solve, t))(t), rtol=1e-12)


def test_converted_functions_of_any_arguments():
    def outer(p):
        def scaled(x, *rest, k=2.0):
            return p[0] * x * k + sum(rest) * p[1]

        g, consts = closure_convert(scaled, 1.0, 2.0, 3.0)
        h, more = closure_convert(scaled, 1.0)
        return g(1.0, 2.0, 3.0, *consts) + h(1.0, *more)

    np.testing.assert_allclose(grad(outer)(P), [4.0, 5.0])


class Babylonian:
    """A solver whose accelerated method is an attribute of its own, so that the object leads back to itself."""

    def __init__(self):
        self.step = accelerate(self.step)

    def step(self, x, a):
        return 0.5 * (x + a / x)

    def run(self, x, a):
        @custom_vjp
        def solved(a):
            found = x
            for _ in range(20):
                found = self.step(found, a)
            return found

        def backward(kept, ct):
            found, a = kept
            pull = vjp(lambda y: y - self.step(y, a), found)[1]
            u = scipy.sparse.linalg.cg(lambda v: pull(v)[0], ct)[0]
            return vjp(lambda a: self.step(found, a), a)[1](u)

        solved.defvjp(lambda a: (solved(a), (solved(a), a)), backward)
        return solved(a)


def test_a_rule_that_solves_with_the_method_of_an_object():
    a = np.array([2.0, 3.0, 4.0])
    slope = grad(lambda a: np.sum(Babylonian().run(np.ones(3), a) ** 3))(a)
    np.testing.assert_allclose(slope, 1.5 * np.sqrt(a), rtol=1e-9)
