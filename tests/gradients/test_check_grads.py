"""`testing.check_grads` through the public transformations, as a user calls it."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import testing

X = np.random.default_rng(2).uniform(0.4, 1.4, 5)


def decay(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x
    return y


def layer(p, x):
    return {"h": np.tanh(p["w"] @ x) * p["s"], "total": np.sum(x), "count": 3}


def rounded(x):
    return np.sum(np.round(x) * x * x)


def test_arrays_and_integers():
    testing.check_grads(decay, (X, 4), order=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes(dtype):
    testing.check_grads(lambda x: np.exp(-x * x) / (1.0 + x), (X.astype(dtype),), order=2)


def test_trees():
    testing.check_grads(layer, ({"w": np.outer(X, X), "s": 1.3}, X), order=2)


def test_third_order():
    testing.check_grads(lambda x: np.sum(np.sin(x) * x), (X,), order=3)


def test_a_derivative_that_disagrees_is_found():
    """The checker compares with what the function computes: a stopped gradient is a wrong one."""
    from untraced import stop_gradient

    with pytest.raises(AssertionError, match="jvp of f, result 0: off by"):
        testing.check_grads(lambda x: stop_gradient(np.sin(x)) * x, (X,), order=1)
