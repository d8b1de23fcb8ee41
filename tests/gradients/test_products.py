"""hvp, jacobian, linearize: what they give, choose and refuse; jax's argument errors of grad."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, custom_vjp, grad, hessian, hvp, jacfwd, jacobian, jacrev, linearize, vjp

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
