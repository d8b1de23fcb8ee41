"""Derivatives that come back edited, derivatives checked while a program runs, and strategies for users' own tests."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import untraced
from untraced import DerivativeError, accelerate, custom_vjp, grad, hessian, jvp, use_gradient, value_and_grad, vmap
from untraced.testing import check_grads, strategies

RNG = np.random.default_rng(5)
W, X = np.abs(RNG.normal(size=(3, 2))) + 0.1, np.abs(RNG.normal(size=(4, 3))) + 0.1


def make_loss():
    """A new function each time: a gradient stays with the function that it was given to."""

    def loss(w, x):
        return np.sum(np.log(x @ w))

    return loss


def by_hand(w, x):
    return x.T @ (1.0 / (x @ w))


def wrong(w, x):
    return 1.001 * (x.T @ (1.0 / (x @ w)))


# ---- use_gradient --------------------------------------------------------------------------------


def test_the_printed_source_comes_back():
    loss = make_loss()
    space = {"np": np}
    exec(grad(loss).source(W, X), space)
    np.testing.assert_array_equal(space["loss_grad"](W, X), grad(loss)(W, X))


@pytest.mark.parametrize("accelerated", [False, True])
def test_an_edited_gradient_is_used_everywhere(accelerated):
    loss = accelerate(make_loss(), target="numpy") if accelerated else make_loss()
    want, second = grad(loss)(W, X), hessian(loss)(W, X)
    assert use_gradient(loss, by_hand) is loss
    np.testing.assert_allclose(grad(loss)(W, X), want, rtol=1e-14)
    assert "found" in grad(loss).source(W, X)
    value, gradient = value_and_grad(loss)(W, X)
    assert value == make_loss()(W, X)
    np.testing.assert_allclose(gradient, want, rtol=1e-14)
    np.testing.assert_allclose(hessian(loss)(W, X), second, rtol=1e-12)
    np.testing.assert_allclose(jvp(lambda w: loss(w, X), (W,), (W,))[1], np.sum(want * W), rtol=1e-13)
    np.testing.assert_allclose(grad(lambda w: loss(w * w, X))(W), 2 * W * by_hand(W * W, X), rtol=1e-13)
    np.testing.assert_allclose(vmap(grad(loss), (0, None))(W[None], X)[0], want, rtol=1e-13)


def test_a_wrong_gradient_is_refused():
    with pytest.raises(DerivativeError, match=r"wrong as the gradient of loss is wrong: with respect to `w`.*0\.001"):
        use_gradient(make_loss(), wrong, examples=[(W, X)])
    loss = make_loss()
    use_gradient(loss, wrong)
    with pytest.raises(AssertionError, match="relative error"):
        grad(loss)(W, X)
    with pytest.raises(DerivativeError, match="shape"):
        use_gradient(make_loss(), lambda w, x: np.sum(w), examples=[(W, X)])


def test_other_arguments_have_no_derivative_then():
    loss = make_loss()
    use_gradient(loss, by_hand)
    with pytest.raises(untraced.UnsupportedError, match="holds fixed"):
        grad(loss, 1)(W, X)
    both = make_loss()
    use_gradient(both, lambda w, x: (x.T @ (1.0 / (x @ w)), (1.0 / (x @ w)) @ w.T), argnums=(0, 1))
    np.testing.assert_allclose(grad(both, 1)(W, X), grad(make_loss(), 1)(W, X), rtol=1e-13)


def test_a_gradient_that_is_finite_nowhere_near_needs_examples():
    far = lambda x: np.sum(np.sqrt(x - 100.0))
    with pytest.raises(DerivativeError, match="give examples"):
        grad(use_gradient(far, lambda x: 0.5 / np.sqrt(x - 100.0)))(X + 200)
    near = lambda x: np.sum(np.sqrt(x - 100.0))
    use_gradient(near, lambda x: 0.5 / np.sqrt(x - 100.0), examples=[(X + 200,)])
    assert grad(near)(X + 200).shape == X.shape


# ---- the switch ----------------------------------------------------------------------------------


@custom_vjp
def sine(x):
    return np.sin(x)


sine.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x) * 1.001,))


def through_sine(x, y):
    return np.sum(sine(x) * y)


def maximum_at_zero(x):
    return np.sum(np.maximum(x, 0.0))


def writes(x):
    x[0] = 2.0
    return np.sum(x**2)


def power(x, n):
    return np.sum(np.abs(x) ** n)


def test_a_wrong_derivative_is_found_at_the_first_call():
    pattern = r"the derivative of through_sine with respect to `x` in reverse mode: off by .*relative error 0\.001"
    with pytest.raises(DerivativeError, match=pattern):
        accelerate(through_sine, check_grads=True, target="numpy")(W, W)
    with pytest.raises(DerivativeError, match=pattern):
        accelerate(grad(through_sine), check_grads=True, target="numpy")(W, W)
    with pytest.raises(DerivativeError, match=pattern):
        grad(accelerate(through_sine, check_grads=True, target="numpy"))(W, W)
    assert accelerate(grad(through_sine, argnums=1), check_grads=True, target="numpy")(W, W).shape == W.shape


def test_later_calls_are_sampled():
    calls = []

    def f(x):
        return np.sum(np.where(x > 1.0, sine(x), 0.0))

    f = accelerate(f, check_grads=True, target="numpy")
    for i in range(1, 9):
        try:
            f(W - 10.0 + (20.0 if i > 2 else 0.0))
        except DerivativeError:
            calls.append(i)
    assert calls == [4, 8]


@pytest.mark.parametrize(
    "f, args",
    [
        (power, (W, 3)),
        (maximum_at_zero, (np.zeros(3),)),
        (writes, (np.ones(3),)),
        (lambda x: x + 1, (np.arange(3),)),
        (lambda x: np.sum(np.exp(x)), (W.astype(np.float32),)),
        (lambda x: (np.round(x), np.argmax(x)), (W,)),
        (vmap(lambda x: np.sum(x * x)), (W,)),
    ],
)
def test_right_derivatives_pass_and_nothing_else_changes(f, args):
    again = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    got, want = accelerate(f, check_grads=True, target="numpy")(*args), f(*again)
    for g, w in zip(untraced.tree.leaves((got, args)), untraced.tree.leaves((want, again)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)


def test_the_environment_variable(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(
        "import numpy as np\nfrom untraced import custom_jvp, grad\n\n"
        "@custom_jvp\ndef f(x):\n    return np.sin(x)\n\n"
        "f.defjvps(lambda t, y, x: 1.001 * np.cos(x) * t)\n\n"
        "def loss(x):\n    return np.sum(f(x))\n\ngrad(loss)(np.ones(3))\n"
    )
    for value, error in (("1", "DerivativeError: the derivative of loss with respect to `x`"), ("0", "")):
        env = {**os.environ, "UNTRACED_CHECK_GRADS": value, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, file], env=env, capture_output=True, text=True, check=False)
        assert error in run.stderr and (run.returncode != 0) == bool(error)


# ---- check_grads and strategies ------------------------------------------------------------------


def test_the_complex_step_is_sharp():
    """Where the function takes complex numbers, an error of 1e-7 is noticed; a difference allows it."""

    def off_by(factor, f):
        push = lambda g, n: lambda x, t: factor * np.cos(x) * t
        check_grads(f, (W,), order=1, modes=("fwd",), pushforward=push)

    off_by(1.0, np.sin)
    with pytest.raises(DerivativeError, match="relative error 1e-07"):
        off_by(1.0 + 1e-7, np.sin)
    off_by(1.0 + 1e-7, lambda x: np.sin(np.real(x)))
    with pytest.raises(DerivativeError, match="relative error 0.001"):
        off_by(1.001, lambda x: np.sin(np.real(x)))


RANDOM = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@RANDOM
@given(strategies.programs())
def test_random_programs(program):
    check_grads(program.fun, program.args, order=1)


@RANDOM
@given(strategies.arrays(low=-1.0, high=3.0, avoid=(0.0, 1.0)))
def test_arrays_keep_away_from_kinks_and_ties(x):
    assert np.all(np.abs(x) > 0.05) and np.all(np.abs(x - 1.0) > 0.05) and np.all((x > -1.1) & (x < 3.1))
    assert len(np.unique(x)) == x.size


@RANDOM
@given(strategies.pytrees())
def test_trees(tree):
    check_grads(lambda t: sum(np.sum(np.sin(x) * x) for x in untraced.tree.leaves(t)), (tree,), order=1)


def test_strategies_without_hypothesis():
    code = "import sys; sys.modules['hypothesis'] = None\nfrom untraced import testing\ntesting.strategies"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "strategies needs Hypothesis: pip install hypothesis" in run.stderr
