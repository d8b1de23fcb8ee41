"""What the derivative does about sums: terms added up in loops and summed behind them, sums taken inside products."""

from __future__ import annotations

import re

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import check_source

import untraced
from untraced.translator.derive import trips

RNG = Drawn(5)
X = RNG.uniform(0.3, 0.9, 4)


def one_sum(q, k):
    for _ in range(3):
        q = q + 0.1 * np.sin(k * q)
    return np.sum(q)


def sums_and_more(q, k):
    for i in range(3):
        q = q + 0.1 * np.sin(k * q) - k * 0.01 * q * q
        if i == 1:
            q = q * k
    return np.sum(q)


def along_an_axis(q, k):
    for _ in range(3):
        q = np.tanh(q * k)
    return np.sum(q * q)


def nested(q, k):
    for i in range(3):
        for _ in range(i + 1):
            q = np.tanh(q * k)
    return np.sum(q * q)


def no_trips(q, k):
    for _ in range(0):
        q = q * k
    return np.sum(q * k)


CASES = [
    (one_sum, (X, 0.7)),
    (sums_and_more, (X, 0.7)),
    (along_an_axis, (RNG.uniform(size=(3, 4)), X)),
    (nested, (X, 0.7)),
    (no_trips, (X, 0.7)),
]


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives(fun, args):
    check_source(fun, *args, order=2)


@pytest.mark.parametrize(("fun", "args"), [CASES[0], CASES[2], CASES[3]], ids=lambda v: getattr(v, "__name__", ""))
def test_no_sum_is_taken_inside_a_loop(fun, args):
    source = untraced.grad(fun, argnums=1).source(*args)
    assert "np.sum(" in source
    assert not re.findall(r"^ {8,}.*np\.sum\(", source, re.MULTILINE)


def test_terms_stay_as_small_as_what_the_loop_holds_anyway():
    def long(q, k):
        for _ in range(3):
            q = q + np.sum(k * X_LONG * q[0]) * q
        return np.sum(q)

    assert "_terms" not in untraced.grad(long, argnums=1).source(X, 0.5)


X_LONG = RNG.standard_normal(10_000)


def test_a_product_that_is_only_summed_is_not_computed():
    def loss(mean, w, x):
        return np.sum(((x - mean) @ w) ** 2)

    mean, w, x = X[:3], RNG.standard_normal((3, 2)), RNG.standard_normal((50, 3))
    residual = (x - mean) @ w
    np.testing.assert_allclose(untraced.grad(loss)(mean, w, x), -np.sum(2.0 * residual @ w.T, axis=0), rtol=1e-12)
    assert "np.sum(d_t, axis=0) @ w.T" in untraced.grad(loss).source(mean, w, x)
    check_source(loss, mean, w, x)


def test_loops_of_unknown_length_cost_a_fixed_number_of_passes(monkeypatch):
    monkeypatch.setattr(trips, "WINDOW", 32)

    def decay(x):
        y = x
        while y > 0.5:
            y = y - 0.001 * np.sin(x * y)
        return y

    class Counting:
        sines = 0

        def __getattr__(self, name):
            return getattr(np, name)

        def sin(self, x):
            self.sines += 1
            return np.sin(x)

    counting = Counting()
    scope = {"np": counting}
    exec(untraced.grad(decay).source(0.8), scope)
    got = scope["decay_grad"](0.8)
    np.testing.assert_allclose(got, untraced.grad(decay)(0.8))
    n, y = 0, 0.8
    while y > 0.5:
        y, n = y - 0.001 * np.sin(0.8 * y), n + 1
    assert 32 * 8 < n < 32 * 32
    assert counting.sines < 4 * n  # forwards, once to keep the starts of windows, once to fill their tapes
