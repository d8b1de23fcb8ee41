"""The checker itself: it accepts right derivatives, and notices those that are wrong by 0.1 %."""

from __future__ import annotations

import numpy as np
import pytest

from untraced.runtime.transforms.testing import check_grads

X = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4))


def f(x):
    return np.sin(x) * np.sum(x * x)


def linear(x, t):
    return np.cos(x) * t * np.sum(x * x) + np.sin(x) * np.sum(2 * x * t)


def transposed(ct, x):
    return ct * np.cos(x) * np.sum(x * x) + 2 * x * np.sum(ct * np.sin(x))


def with_error(forward=1.0, reverse=1.0):
    return {
        "pushforward": lambda g, n: lambda x, t: forward * linear(x, t),
        "pullback": lambda g, n: lambda ct, x: (reverse * transposed(ct, x),),
    }


def test_right_derivatives_pass():
    check_grads(f, (X,), order=1, **with_error())
    check_grads(f, (X.astype(np.float32),), order=1, **with_error())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_one_in_a_thousand_is_noticed(mode, dtype):
    with pytest.raises(AssertionError, match="off by"):
        check_grads(f, (X.astype(dtype),), order=1, **with_error(**{mode: 1.001}))


def test_only_the_modes_asked_for_are_checked():
    check_grads(f, (X,), order=1, modes=("fwd",), **with_error(reverse=1.001))
    check_grads(f, (X,), order=1, modes="rev", **with_error(forward=1.001))
    with pytest.raises(ValueError, match="modes"):
        check_grads(f, (X,), modes=("forward",))


def test_a_wrong_second_derivative_is_noticed():
    """Right at order one; the derivative of the derivative misses a term."""

    def derive(g, n):
        if n == 1:
            return lambda x, t: t * x * x
        return lambda x, t, dx, dt: dt * x * x + t * x * dx  # 2 * x * dx is right

    cubic = lambda x: x * x * x / 3  # noqa: E731
    check_grads(cubic, (X,), order=1, modes=("fwd",), pushforward=derive)
    with pytest.raises(AssertionError, match="jvp of jvp of f"):
        check_grads(cubic, (X,), order=2, modes=("fwd",), pushforward=derive)


def test_a_missing_result_or_a_nan_is_noticed():
    with pytest.raises(AssertionError, match="0 tangents for 1 results"):
        check_grads(f, (X,), order=1, modes=("fwd",), pushforward=lambda g, n: lambda x, t: ())
    with pytest.raises(AssertionError, match="NaN"):
        check_grads(f, (X,), order=1, modes=("fwd",), pushforward=lambda g, n: lambda x, t: np.full_like(x, np.nan))


def test_trees_and_integers():
    def g(p, k):
        return {"y": p["a"] * p["b"] ** k, "n": k}

    def push(fun, n):
        return lambda p, k, t, _: {"y": t["a"] * p["b"] ** k + p["a"] * k * p["b"] ** (k - 1) * t["b"]}

    check_grads(g, ({"a": X, "b": 1.3}, 3), order=1, modes=("fwd",), pushforward=push)


JUMP = X[0, 0] + 1e-4  # within the reach of the first difference


def jumping(x):
    return np.where(x > JUMP, x * 0.5, x * x)


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (1.001, False)])
def test_a_jump_beside_the_point_is_no_error_and_hides_none(factor, right):
    derive = {
        "pushforward": lambda g, n: lambda x, t: factor * np.where(x > JUMP, 0.5, 2 * x) * t,
        "pullback": lambda g, n: lambda ct, x: (factor * np.where(x > JUMP, 0.5, 2 * x) * ct,),
    }
    if right:
        return check_grads(jumping, (X,), order=1, **derive)
    with pytest.raises(AssertionError, match="off by"):
        check_grads(jumping, (X,), order=1, **derive)
