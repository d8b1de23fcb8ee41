"""Functions that draw random numbers with NumPy, and print: their derivatives draw what the functions would have."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, hessian, jvp, value_and_grad, vmap
from untraced.translator.errors import CutError

W = np.arange(3.0)
state = np.random.RandomState(0)
generator = np.random.default_rng(0)


def loss(w):
    noise = state.randn(3)
    noise *= 2.0
    return np.sum((w + noise) ** 3) * state.rand()


def slopes(seed, count):
    r = np.random.RandomState(seed)
    return [3.0 * (W + 2.0 * r.randn(3)) ** 2 * r.rand() for _ in range(count)]


@pytest.mark.parametrize("transformed", [grad(loss), accelerate(grad(loss)), lambda w: value_and_grad(loss)(w)[1]])
def test_every_call_draws_anew_and_in_order(transformed):
    state.seed(7)
    found = [transformed(W) for _ in range(3)]
    np.testing.assert_allclose(found, slopes(7, 3), rtol=1e-13)


def test_looking_at_the_source_draws_nothing():
    state.seed(7)
    assert "drawn" in grad(loss).source(W)
    np.testing.assert_allclose(grad(loss)(W), slopes(7, 1)[0], rtol=1e-13)


def test_values_tangents_and_second_derivatives_share_one_draw():
    state.seed(3)
    value = loss(W)
    state.seed(3)
    assert value_and_grad(loss)(W)[0] == value
    state.seed(3)
    assert jvp(loss, (W,), (W,))[0] == value
    state.seed(3)
    found = hessian(loss)(W)
    r = np.random.RandomState(3)
    np.testing.assert_allclose(found, np.diag(6.0 * (W + 2.0 * r.randn(3)) * r.rand()), rtol=1e-13)


def test_each_derivative_inside_a_function_draws_its_own():
    state.seed(6)
    found = grad(lambda w: np.sum(grad(loss)(w) * grad(loss)(w)))(W)
    r = np.random.RandomState(6)
    (a, p), (b, q) = ((2.0 * r.randn(3), r.rand()) for _ in range(2))
    want = grad(lambda w: np.sum(9.0 * (w + a) ** 2 * (w + b) ** 2) * p * q)(W)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_training_keeps_the_order_of_draws():
    def train(w):
        for _ in range(3):
            w = w - 0.01 * grad(loss)(w)
        return w

    state.seed(4)
    want, after = train(W), state.rand()
    state.seed(4)
    np.testing.assert_allclose(accelerate(train)(W), want, rtol=1e-13)
    assert state.rand() == after


def test_other_generators():
    np.random.seed(1)
    found = grad(lambda w: np.sum(w * w * np.random.normal(size=3)))(W)
    np.random.seed(1)
    np.testing.assert_allclose(found, 2.0 * W * np.random.normal(size=3), rtol=1e-15)
    found = grad(lambda w: np.sum(w * w * generator.normal(size=3)))(W)
    np.testing.assert_allclose(found, 2.0 * W * np.random.default_rng(0).normal(size=3), rtol=1e-15)

    def own(w, seed):
        r = np.random.RandomState(seed)
        return np.sum(w * w * r.randn(3) * r.randn(3))

    for seed in (5, 5, 6):
        r = np.random.RandomState(seed)
        np.testing.assert_allclose(grad(own)(W, seed), 2.0 * W * r.randn(3) * r.randn(3), rtol=1e-15)


def test_draws_that_not_every_call_comes_to_are_refused():
    with pytest.raises(CutError, match=r"state\.randn is left to CPython"):
        grad(lambda w: np.sum(loss(w)) if w[0] > 0.0 else np.sum(w))(W)
    with pytest.raises(CutError, match="in a batch"):
        vmap(grad(loss))(np.ones((2, 3)))


def test_a_derivative_does_not_print(capsys):
    def shown(w):
        print("at", w)
        return np.sum(w * w)

    with pytest.warns(UserWarning, match="`print`"):
        np.testing.assert_array_equal(grad(shown)(W), 2.0 * W)
    assert capsys.readouterr().out == ""


def test_what_a_derivative_does_not_print_is_evaluated(recwarn):
    def loss(w):
        s = [w, 2 * w]
        print(s.pop(), (n := w.shape[0]))
        return np.sum(s[-1] ** 2) * len(s) * n

    np.testing.assert_array_equal(grad(loss)(np.ones(3)), np.full(3, 6.0))
