"""Functions that draw random numbers with NumPy, and print: their derivatives draw what the functions would have."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, hessian, jvp, value_and_grad, vmap
from untraced.translator.errors import CutError

W = np.arange(3.0)
state = np.random.RandomState(0)
generator = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def begun_anew():
    state.seed(0)
    generator.bit_generator.state = np.random.default_rng(0).bit_generator.state


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
    with pytest.raises(CutError, match=r"state\.randn cannot be compiled"):
        grad(lambda w: np.sum(loss(w)) if w[0] > 0.0 else np.sum(w))(W)
    with pytest.raises(CutError, match="in a batch"):
        vmap(grad(loss))(np.ones((2, 3)))


def slope_by_differences(f, w, *given, seed):
    """By central differences of `f`, each call with generators in the same state."""
    def value(v):
        state.seed(seed)
        return f(v, *(np.random.default_rng(seed) if g is generator else g for g in given))

    return np.array([(value(w + e) - value(w - e)) / 2e-6 for e in 1e-6 * np.eye(len(w))])


def walk(w, rng, n):
    x = w
    for i in range(n):
        pushed = rng.normal()
        for k in reversed(range(1, 3)):
            x = x + 0.1 * k * np.sin(x) * rng.standard_normal(3) * rng.integers(1, 4)
        x = x + pushed * w[i]
    return np.sum(x * x)


def own(w):
    r, s, total = np.random.default_rng(5), np.random.Generator(np.random.PCG64(3)), 0.0
    for _ in range(4):
        total = total + np.sum(w**2 * r.normal(size=3)) * s.random()
    return total


def pathwise(w, rng):
    a = rng.normal(w, w**2) + rng.uniform(low=w, high=2.0 + w * w, size=(2, 3)) + rng.lognormal(w[0], 0.1 * w[1])
    return np.sum(a**2) + rng.exponential(w[2]) + rng.laplace(w[0], 2.0)


def chosen(w, rng):
    x = w * w
    rng.shuffle(x)
    picks = rng.choice(x, 4, p=[0.2, 0.3, 0.5])
    return np.sum(picks * rng.permutation(picks)) + rng.choice(np.array([2.0, 3.0])) * x[0]


def seeded(w):
    np.random.seed(3)
    return np.sum(w * w * np.random.rand(3)) + np.sum(w * np.random.multivariate_normal(np.zeros(3), np.eye(3)))


@pytest.mark.parametrize(
    ("f", "given"),
    [(walk, (generator, 3)), (own, ()), (pathwise, (generator,)), (chosen, (generator,)), (seeded, ())],
)
def test_generators_that_are_arguments_or_made_inside_in_loops_and_of_distributions_that_the_run_decides(f, given):
    w = np.array([0.5, 1.2, 0.9])
    want = slope_by_differences(f, w, *given, seed=4)
    for transformed in (grad(f), accelerate(grad(f)), lambda *a: grad(lambda v: np.sum(grad(f)(v, *a[1:]) * v))(a[0])):
        for _ in range(2):
            found = transformed(w, *(np.random.default_rng(4) if g is generator else g for g in given))
            if isinstance(transformed, type(lambda: 0)):
                want = slope_by_differences(lambda v, *a: np.sum(grad(f)(v, *a) * v), w, *given, seed=4)
            np.testing.assert_allclose(found, want, rtol=2e-6)


def test_a_generator_goes_on_from_where_a_derivative_left_it():
    rng, same = np.random.default_rng(8), np.random.default_rng(8)
    for _ in range(2):
        found = grad(lambda w, r: np.sum(w * r.normal(size=3)))(W, rng)
        np.testing.assert_array_equal(found, same.normal(size=3))
    assert rng.random() == same.random()


def guarded(w):
    noise = state.randn(3)
    if noise[0] < 0.0:
        raise ValueError(f"drawn {noise[0]}")
    return np.sum(w * noise)


@pytest.mark.parametrize("transformed", [grad(guarded), accelerate(grad(guarded))])
def test_what_is_raised_costs_no_second_draw(transformed):
    state.seed(0)
    r, raised = np.random.RandomState(0), 0
    for _ in range(12):
        noise = r.randn(3)
        if noise[0] < 0.0:
            raised += 1
            with pytest.raises(ValueError, match=str(noise[0])):
                transformed(W)
        else:
            np.testing.assert_array_equal(transformed(W), noise)
    assert raised


def test_widths_are_checked_as_numpy_does():
    for f in (lambda w: np.sum(generator.normal(0.0, w)), lambda w: np.sum(generator.uniform(w, 0.0 * w))):
        with pytest.raises(ValueError, match="< 0"):
            grad(f)(np.array([1.0, -1.0]))


def test_a_batch_shares_what_every_call_draws_alike():
    w = np.array([[0.5, 1.2, 0.9], [1.0, 2.0, -1.0]])
    for batched in (vmap(grad(own)), accelerate(vmap(grad(own)))):
        np.testing.assert_allclose(batched(w), [grad(own)(v) for v in w], rtol=1e-13)


def test_draws_that_write_or_whose_generator_is_looked_into_are_refused():
    def written(w):
        x = np.zeros(3)
        generator.standard_normal(None, np.float64, x)
        return np.sum(w * x)

    with pytest.raises(CutError, match="standard_normal cannot be compiled"):
        grad(written)(W)
    with pytest.raises(CutError, match="a generator that is an argument"):
        grad(lambda w, r: np.sum(w) * r.bit_generator.state["state"]["state"])(W, generator)


def test_a_derivative_does_not_print(capsys):
    def shown(w):
        print("at", w)
        return np.sum(w * w)

    with pytest.warns(UserWarning, match="leaves `print` out"):
        np.testing.assert_array_equal(grad(shown)(W), 2.0 * W)
    assert capsys.readouterr().out == ""


def test_what_a_derivative_does_not_print_is_evaluated(recwarn):
    def loss(w):
        s = [w, 2 * w]
        print(s.pop(), (n := w.shape[0]))
        return np.sum(s[-1] ** 2) * len(s) * n

    np.testing.assert_array_equal(grad(loss)(np.ones(3)), np.full(3, 6.0))
