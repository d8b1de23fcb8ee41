"""Extremes that only shift exponents have no derivative of their own; all others keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import grad
from untraced.testing import check_grads

F8 = np.ndarray[Any, np.dtype[np.float64]]

RNG = np.random.default_rng(8)
Z = RNG.uniform(-1.0, 1.0, (4, 3))
V = RNG.uniform(-1.0, 1.0, (3, 2))


def log_sum(z: F8, v: F8) -> Any:
    m = np.max(z)
    return m + np.log(np.sum(np.exp(z - m)))


def log_sums(z: F8, v: F8) -> Any:
    m = np.max(z, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(z - m), axis=1))) + np.sum(m)


def mean_of_log_sums(z: F8, v: F8) -> Any:
    m = z.max(axis=0)
    return np.mean(np.log(np.mean(np.exp(z - m), axis=0)) + m)


def softmax(z: F8, v: F8) -> Any:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return np.sum(np.sin(p / p.sum(axis=1, keepdims=True) @ v))


def softmax_divided_late(z: F8, v: F8) -> Any:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return np.sum(np.sin((p @ v) / p.sum(axis=1)[:, None]))


def masked(z: F8, v: F8) -> Any:
    p = np.where(z > -0.3, np.exp(z - z.max(axis=1, keepdims=True)), 0.0)
    return np.sum(np.sin(p / p.sum(axis=1, keepdims=True)))


def logarithms(z: F8, v: F8) -> Any:
    z = z - np.max(z, axis=1, keepdims=True)
    logp = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(4), np.array([0, 2, 1, 1])])


def forwards(z: F8, v: F8) -> Any:
    alpha = z[0]
    for row in z:
        s = alpha[:, None] + row * v[:, :1]
        m = np.max(s, axis=0)
        alpha = m + np.log(np.sum(np.exp(s - m), axis=0))
    return np.sum(np.sin(alpha))


def from_the_least(z: F8, v: F8) -> Any:
    m = np.min(z, axis=1)
    return np.sum(2.0 * (m - np.log(np.sum(np.exp(m[:, None] - z), axis=1))))


def unshifted(z: F8, v: F8) -> Any:
    return np.log(np.sum(np.exp(z - np.max(z))))


def shifted_twice(z: F8, v: F8) -> Any:
    m = np.max(z)
    return 2.0 * m + np.log(np.sum(np.exp(z - m)))


def weights_kept(z: F8, v: F8) -> Any:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return np.sum(p / p.sum(axis=1, keepdims=True)) + np.sum(p)


def along_another_axis(z: F8, v: F8) -> Any:
    p = np.exp(z - z.max(axis=0))
    return np.sum(np.sin(p / p.sum(axis=1, keepdims=True)))


def one_of_them(z: F8, v: F8) -> Any:
    m = z.max(axis=1)
    return np.sum(np.log(np.sum(np.exp(z - m[:, None]), axis=1))) + 4.0 * m[0]


def raised(z: F8, v: F8) -> Any:
    m = np.max(z)
    return (m + np.log(np.sum(np.exp(z - m)))) + m * np.sum(v)


def kept_by_a_loop(z: F8, v: F8) -> Any:
    m = np.max(z)
    s = m + np.log(np.sum(np.exp(z - m)))
    for _ in range(3):
        s = np.sin(s) + m * s
    return s


def chosen(z: F8, v: F8) -> Any:
    m = np.max(z)
    return np.sum(np.where(z > 0, np.exp(z - m), 1.0)) / np.sum(np.exp(z - m))


FREE = [log_sum, log_sums, mean_of_log_sums, softmax, softmax_divided_late, masked, logarithms, forwards]
FREE += [from_the_least]
BOUND = [unshifted, shifted_twice, weights_kept, along_another_axis, one_of_them, raised, kept_by_a_loop, chosen]


@pytest.mark.parametrize("fun", [*FREE, *BOUND], ids=lambda f: f.__name__)
def test_gradients(fun: Callable[..., Any]) -> None:
    check_grads(fun, (Z, V), order=2)


@pytest.mark.parametrize("fun", FREE, ids=lambda f: f.__name__)
def test_nothing_is_shared_among_the_greatest(fun: Callable[..., Any]) -> None:
    source = grad(fun, argnums=(0, 1)).source(Z, V)
    assert " == " not in source and "d_m" not in source, source


@pytest.mark.parametrize("fun", BOUND, ids=lambda f: f.__name__)
def test_others_have_their_derivative(fun: Callable[..., Any]) -> None:
    assert " == " in grad(fun, argnums=(0, 1)).source(Z, V)


def test_large_exponents() -> None:
    z = np.array([900.0, 1000.0, 1000.0])
    np.testing.assert_array_equal(grad(lambda z: log_sum(z, z))(z), [np.exp(-100.0) / 2.0, 0.5, 0.5])
