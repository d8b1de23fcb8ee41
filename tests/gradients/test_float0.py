"""Tangents and cotangents of integers and bools: zeros of dtype float0, as JAX has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import untraced
from untraced import accelerate, custom_jvp, custom_vjp, float0, grad, jvp, linearize, value_and_grad, vjp, vmap

HOWS = pytest.mark.parametrize("maybe", [lambda f: f, accelerate], ids=["plain", "accelerated"])
X, N = np.arange(3.0), np.arange(3)


def scaled(x, n):
    return x * n


def total(x, n):
    return np.sum(x * n)


def is_zeros(found: Any, shape: tuple[int, ...]) -> bool:
    return type(found) is np.ndarray and found.dtype == float0 == untraced.dtypes.float0 and found.shape == shape


@HOWS
@pytest.mark.parametrize(("n", "shape"), [(N, (3,)), (2, ()), (True, ()), (np.array(True), ()), (N > 1, (3,))])
def test_gradients_by_integers(maybe, n, shape):
    d_x, d_n = maybe(grad(total, argnums=(0, 1), allow_int=True))(X, n)
    np.testing.assert_array_equal(d_x, np.broadcast_to(n, 3))
    assert is_zeros(d_n, shape)
    _, (_, d_n) = maybe(value_and_grad(total, argnums=(0, 1), allow_int=True))(X, n)
    assert is_zeros(d_n, shape)
    _, pull = vjp(maybe(scaled), X, n)
    assert is_zeros(pull(np.ones(3))[1], shape)


@HOWS
def test_each_array_is_the_callers_own(maybe):
    gradient = maybe(grad(total, argnums=1, allow_int=True))
    assert gradient(X, N) is not gradient(X, N)


@HOWS
def test_tangents_of_integers(maybe):
    (y, m, on), (d_y, d_m, d_on) = jvp(
        maybe(lambda x, n: (x * n, n + 1, x > 1)), (X, N), (np.ones(3), np.zeros(3, float0))
    )
    np.testing.assert_array_equal(d_y, N)
    assert is_zeros(d_m, (3,)) and is_zeros(d_on, (3,)) and m.dtype == int and on.dtype == bool
    _, f_jvp = linearize(maybe(scaled), X, 2)
    np.testing.assert_array_equal(f_jvp(X, np.zeros((), float0)), 2 * X)


@HOWS
@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ((X, N), r"integer or a bool is float0.* primal dtype int64 and tangent dtype int64 for primals\[1\]"),
        ((X, X), r"tangent dtype float64 for primals\[1\]"),
        ((X, np.zeros(2, float0)), r"different primal and tangent shapes: \(3,\) and \(2,\) for primals\[1\]"),
        ((np.zeros(3, float0), np.zeros(3, float0)), r"tangent dtype float0 for primals\[0\]"),
        ((X, None), r"same tree structure.* differs at primals\[1\]"),
        (((X,), N), r"same tree structure.* differs at primals\[0\]"),
    ],
)
def test_tangents_that_do_not_fit(maybe, tangents, message):
    with pytest.raises(TypeError, match=message):
        jvp(maybe(scaled), (X, N), tangents)


@HOWS
@pytest.mark.parametrize("ct", [np.zeros(3, float0), N, X, None])
def test_a_cotangent_of_an_integer_may_be_anything(maybe, ct):
    _, pull = vjp(maybe(lambda x, n: (x * n, {"n": n + 1})), X, N)
    np.testing.assert_array_equal(pull((np.ones(3), {"n": ct}))[0], N)


@HOWS
@pytest.mark.parametrize(
    ("ct", "message"),
    [
        (X, r"they differ at ct\n"),
        (({"a": X}, N), r"they differ at ct\[0\]\n"),
        ((None, N), r"they differ at ct\[0\]\n"),
        ((np.float32(X), N), r"dtype float32 was given for a result of dtype float64, at ct\[0\]"),
        ((np.ones(2), N), r"shape \(2,\) was given for a result of shape \(3,\), at ct\[0\]"),
    ],
)
def test_a_cotangent_that_does_not_fit_is_named(maybe, ct, message):
    _, pull = vjp(maybe(lambda x, n: (x * n, n + 1)), X, N)
    with pytest.raises((ValueError, TypeError), match=message):
        pull(ct)


@HOWS
@pytest.mark.parametrize(
    "zero", [lambda n: None, lambda n: np.zeros(n.shape, float0), lambda n: np.zeros_like(n, float0)]
)
def test_rules_for_cotangents(maybe, zero):
    @custom_vjp
    def f(x, n):
        return x * n, n + 1

    def backward(n, ct):
        return 2 * ct[0] * n if ct[1].dtype == float0 and ct[1].shape == (3,) else ct[0], zero(n)

    f.defvjp(lambda x, n: ((x * n, n + 1), n), backward)
    d_x, d_n = maybe(grad(lambda x, n: np.sum(f(x, n)[0]), argnums=(0, 1), allow_int=True))(X, N)
    np.testing.assert_array_equal(d_x, 2 * N)
    assert is_zeros(d_n, (3,))


@HOWS
def test_rules_for_tangents(maybe):
    @custom_jvp
    def f(x, n):
        return x * n, n + 1

    @f.defjvp
    def rule(primals, tangents):
        (x, n), (d_x, d_n) = primals, tangents
        return f(x, n), (3 * d_x * n if d_n.dtype == float0 else d_x, d_n)

    _, (d_y, d_m) = jvp(maybe(f), (X, N), (np.ones(3), np.zeros(3, float0)))
    np.testing.assert_array_equal(d_y, 3 * N)
    assert is_zeros(d_m, (3,))


def test_rules_give_no_float0_for_floats():
    @custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (x * 2, None), lambda _, ct: (np.zeros(3, float0),))
    with pytest.raises(TypeError, match="dtype float0"):
        grad(lambda x: np.sum(f(x)))(X)


@HOWS
def test_in_programs(maybe):
    """Their shape and dtype can be asked for; arithmetic raises what NumPy raises."""

    def step(params, n):
        slopes = grad(lambda p: np.sum(p["x"] * p["n"]), allow_int=True)(params)
        return untraced.tree.map(lambda p, g: p if g.dtype == float0 else p - 0.5 * g, params, slopes)

    found = maybe(step)({"x": X, "n": N}, 3)
    np.testing.assert_array_equal(found["x"], X - 0.5 * N)
    np.testing.assert_array_equal(found["n"], N)
    made = maybe(lambda x: (np.zeros(x.shape, float0), np.empty(2, float0), np.zeros_like(x, float0)))(X)
    assert [is_zeros(m, s) for m, s in zip(made, [(3,), (2,), (3,)], strict=True)] == [True] * 3
    assert is_zeros(maybe(lambda t: t)(np.zeros(3, float0)), (3,))
    with pytest.raises(TypeError, match="ufunc 'add'"):
        maybe(lambda t: t + 1)(np.zeros(3, float0))


@HOWS
@pytest.mark.parametrize(("axis", "shape"), [(0, (5, 3)), (1, (3, 5)), (-1, (3, 5))])
def test_batches(maybe, axis, shape):
    gradient = grad(total, argnums=(0, 1), allow_int=True)
    d_x, d_n = maybe(vmap(gradient, out_axes=(0, axis)))(np.ones((5, 3)), np.ones((5, 3), int))
    assert d_x.shape == (5, 3) and is_zeros(d_n, shape)


def test_the_source_runs_with_numpy_alone():
    source = grad(total, argnums=(0, 1), allow_int=True).source(X, N)
    names: dict[str, Any] = {"np": np}
    exec(source, names)
    d_x, d_n = names["total_grad"](X, N)
    np.testing.assert_array_equal(d_x, N)
    assert is_zeros(d_n, (3,))
