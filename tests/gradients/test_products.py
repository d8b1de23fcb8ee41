"""hvp, jacobian, linearize: what they give, choose and refuse; jax's argument errors of grad."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from untraced import (
    accelerate,
    checkpoint,
    custom_jvp,
    custom_vjp,
    float0,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    testing,
    value_and_grad,
    vjp,
)

A = np.arange(6.0).reshape(2, 3) / 3 + 0.2


def cubic(x, y):
    return np.sum(x**3 * y) + np.sum(x * y * y)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: accelerate(f, target="cpu")])
def test_hvp(wrap):
    one = wrap(lambda x, t: hvp(lambda z: np.sum(z**3), (x,), (t,)))
    np.testing.assert_allclose(one(A, A), 6 * A * A)
    both = wrap(lambda x, y, t, u: hvp(cubic, (x, y), (t, u)))
    h = hessian(cubic, (0, 1))(A, A + 1)
    want = [sum(np.tensordot(h[i][j], v, 2) for j, v in enumerate((A, 2 * A))) for i in range(2)]
    for got, expected in zip(both(A, A + 1, A, 2 * A), want, strict=True):
        np.testing.assert_allclose(got, expected)
    with pytest.raises(TypeError, match="must be a tuple or list"):
        hvp(cubic, A, A)


def test_jacobian_takes_the_mode_of_the_sizes():
    tall, wide = lambda x: np.stack([x, x * x, np.sin(x)]), lambda x: np.sum(x * x, axis=0)
    for f, x in ((tall, A[0]), (wide, A), (np.sum, A), (lambda x: {"a": x, "b": x[0]}, A[0])):
        got, want = jacobian(f)(x), jacrev(f)(x)
        assert type(got) is type(want)
        if isinstance(want, np.ndarray):
            np.testing.assert_allclose(got, want)
    assert jacobian(tall).source(A[0]) == jacfwd(tall).source(A[0])
    assert jacobian(wide).source(A) == jacrev(wide).source(A)
    np.testing.assert_allclose(accelerate(lambda x: jacobian(tall)(x))(A[0]), jacfwd(tall)(A[0]))


def test_jacobian_where_only_one_mode_is_defined():
    @custom_vjp
    def f(x):
        return np.stack([x, x])

    f.defvjp(lambda x: (np.stack([x, x]), None), lambda _, ct: (3 * ct[0] + ct[1],))
    np.testing.assert_allclose(jacobian(f)(A[0]), np.stack([3 * np.eye(3), np.eye(3)]))
    np.testing.assert_allclose(jacobian(np.abs)(A[0] + 0j), np.eye(3))


def test_linearize_with_aux():
    y, push, aux = linearize(lambda x: (x**2, {"x": x}), A, has_aux=True)
    np.testing.assert_allclose(y, A**2)
    np.testing.assert_allclose(push(A), 2 * A * A)
    np.testing.assert_array_equal(aux["x"], A)


def test_errors_of_jax():
    with pytest.raises(TypeError, match="argnums=2 requires at least 3 positional arguments"):
        grad(cubic, 2)(A, A)
    with pytest.raises(TypeError, match=r"scalar-output functions. Output was \(\*,\)"):
        grad(lambda x: (np.sum(x),))(A)


def test_a_condition_on_python_numbers_is_kept_between_the_halves_of_vjp():
    def f(x, k):
        y = np.zeros_like(x)
        if k > 0:
            for i in range(3):
                y[i] = x[i] * k
        return np.sum(y * y)

    for k in (2.0, -2.0):
        d_x, d_k = vjp(f, np.arange(3.0), k)[1](1.0)
        np.testing.assert_array_equal(d_x, [0.0, 8.0, 16.0] if k > 0 else np.zeros(3))
        assert d_k == (20.0 if k > 0 else 0.0)


Loss = namedtuple("Loss", "value extra")


@pytest.mark.parametrize("pair", [list, lambda p: Loss(*p), tuple])
def test_aux_in_any_pair(pair):
    (value, extra), d = value_and_grad(lambda x: pair((np.sum(x * x), x)), has_aux=True)(A)
    assert value == np.sum(A * A)
    np.testing.assert_array_equal(extra, A)
    np.testing.assert_array_equal(d, 2 * A)


def test_tangents_and_cotangents_of_other_types():
    """Python's numbers do for any real number; what does not fit is a TypeError, of cotangents a ValueError, too."""
    double = lambda x: x * 2  # noqa: E731
    assert jvp(double, (2.0,), (1,)) == (4.0, 2.0)
    assert jvp(accelerate(double), (2.0,), (1,)) == (4.0, 2.0)
    for bad in (1j, np.ones(2)):
        with pytest.raises((TypeError, ValueError)):
            jvp(double, (2.0,), (bad,))
    with pytest.raises(TypeError, match="dtypes must be equal"):
        jvp(double, (A,), (A * 1j,))
    for bad in (A.astype(np.float32), A * 1j, A[0]):
        for error in (TypeError, ValueError):
            with pytest.raises(error, match="a cotangent of"):
                vjp(double, A)[1](bad)


def test_no_tangent_of_a_specialised_number_is_dropped():
    """int(n) decides a shape: the function is read for the value of n, so that there is nothing to move."""
    repeated = lambda x, n: x * np.sum(np.ones(int(n)))  # noqa: E731
    for derivative in (
        lambda: jvp(repeated, (2.0, 3.0), (1.0, 1.0)),
        lambda: vjp(repeated, 2.0, 3.0),
        lambda: linearize(repeated, 2.0, 3.0)[1](1.0, 1.0),
        lambda: jacfwd(repeated, (0, 1))(2.0, 3.0),
        lambda: grad(repeated, (0, 1))(2.0, 3.0),
    ):
        with pytest.raises(TypeError, match="with respect to n, .*: its value decides a shape"):
            derivative()
    assert grad(repeated)(2.0, 3.0) == 3.0
    d_x, d_n = vjp(repeated, 2.0, 3)[1](1.0)
    assert (d_x, d_n.dtype, d_n.shape) == (3.0, float0, ())


def test_rules_around_functions_of_numpy():
    sine = custom_jvp(np.sin)
    sine.defjvp(lambda primals, tangents: (np.sin(primals[0]), 5.0 * tangents[0]))
    np.testing.assert_array_equal(grad(lambda x: np.sum(sine(x)))(A), np.full_like(A, 5.0))
    np.testing.assert_allclose(grad(lambda x: np.sum(checkpoint(np.sin)(x)))(A), np.cos(A), rtol=1e-15)


def test_containers_that_are_changed_are_copies():
    def loss(p):
        p["b"] = p.pop("a") * 2.0
        return np.sum(p["b"] ** 2)

    given = {"a": A}
    found = [grad(loss)(given), accelerate(grad(loss))(given), vjp(loss, given)[1](1.0)[0], jacfwd(loss)(given)]
    for d in found:
        np.testing.assert_allclose(d["a"], 8.0 * A, rtol=1e-15)
    np.testing.assert_allclose(jvp(loss, (given,), (given,))[1], 8.0 * np.sum(A * A), rtol=1e-14)
    assert list(given) == ["a"]


def test_one_argument_that_is_a_tuple():
    """Its cotangent is a tuple in a tuple of one; the printed source once lost the parentheses between them."""
    pair = (A, 2.0 * A)
    _, back = vjp(lambda t: t[0] * t[1], pair)
    ((first, second),) = back(np.ones((2, 3)))
    np.testing.assert_array_equal(first, pair[1])
    np.testing.assert_array_equal(second, pair[0])
    testing.check_grads(lambda t: np.concatenate(t) ** 2, (pair,))
