"""What JAX scripts call beside the transformations: debug, disable_jit, minimize, odeint, lu."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from typing import Any

import jax
import jax.experimental.ode
import jax.lax.linalg
import jax.scipy.optimize
import numpy as np
import pytest
import scipy.signal
import scipy.special

import untraced
from untraced import accelerate, grad, jit, lax, vmap
from untraced.experimental import checkify
from untraced.experimental.ode import odeint
from untraced.scipy.optimize import minimize


def rosenbrock(x: Any, a: Any = 1.0) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def test_minimize() -> None:
    x0 = np.array([-1.2, 1.0, 0.5])
    for solve in (minimize, accelerate(lambda f, x: minimize(f, x)), lambda f, x: minimize(f, x, method="bfgs")):
        found = solve(rosenbrock, x0)
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-5)
        assert bool(found.success) and int(found.status) == 0 and found.fun < 1e-10
    theirs = jax.scipy.optimize.minimize(lambda x: ((x - 2.0) ** 4).sum(), np.zeros(2), method="BFGS")
    ours = minimize(lambda x: np.sum((x - 2.0) ** 4), np.zeros(2), method="BFGS")
    np.testing.assert_allclose(ours.x, theirs.x, atol=0.05)  # flat there: both stop where the gradient is 1e-5
    found = minimize(rosenbrock, x0, (1.0,), options={"maxiter": 2})
    assert int(found.status) == 1 and int(found.nit) == 2 and not found.success
    assert int(minimize(lambda x: -np.sum(x), x0, options={"line_search_maxiter": 3}).status) == 5
    with pytest.raises(ValueError, match="the method is 'BFGS'"):
        minimize(rosenbrock, x0, method="Nelder-Mead")


def test_odeint_of_trees_and_its_gradient() -> None:
    def rate(state: Any, t: Any, k: Any) -> Any:
        return {"x": state["v"], "v": -k * state["x"]}

    times = np.linspace(0.0, 2.0, 5)
    y0 = {"x": np.array([1.0, 0.5]), "v": np.zeros(2)}
    for solve in (odeint, accelerate(lambda f, y, t, k: odeint(f, y, t, k))):
        got = solve(rate, y0, times, 4.0)
        np.testing.assert_allclose(got["x"], np.outer(np.cos(2 * times), y0["x"]), atol=1e-6)
        np.testing.assert_allclose(got["v"], np.outer(-2 * np.sin(2 * times), y0["x"]), atol=1e-6)

    def last(k: Any) -> Any:
        return odeint(lambda y, t, k: -k * y, 1.0, times, k)[-1]

    np.testing.assert_allclose(grad(last)(0.7), -2 * np.exp(-1.4), rtol=1e-6)
    theirs = jax.experimental.ode.odeint(lambda y, t: -y, 1.0, times)
    np.testing.assert_allclose(odeint(lambda y, t: -y, 1.0, times), theirs, rtol=1e-5)  # JAX's is float32
    with pytest.raises(ValueError, match="mxstep"):
        odeint(lambda y, t: -y, 1.0, times, mxstep=10)


def test_lu() -> None:
    a = np.random.default_rng(0).normal(size=(4, 4))
    theirs = jax.lax.linalg.lu(a)
    for f in (lax.linalg.lu, accelerate(lax.linalg.lu)):
        for got, want in zip(f(a), theirs, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)  # JAX's is float32


def test_a_breakpoint_stops_at_the_line_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("pdb.Pdb.set_trace", lambda self, frame: seen.append(frame.f_locals["y"]))

    def f(x: Any) -> Any:
        y = np.sin(x)
        untraced.debug.breakpoint()
        return y * 2

    assert f(0.5) == accelerate(f)(0.5)
    assert seen[0] == np.sin(0.5)
    monkeypatch.setattr("sys.breakpointhook", lambda: seen.append("hook"))
    stopped = accelerate(lambda x: (breakpoint(), np.cos(x))[1])
    assert [stopped(0.5), stopped(0.5), seen[2:]] == [np.cos(0.5), np.cos(0.5), ["hook", "hook"]]
    with pytest.raises(ValueError, match="the debugger is Python's"):
        untraced.debug.breakpoint(backend="web")


def test_a_program_over_named_axes_is_shown() -> None:
    shown = untraced.make_jaxpr(lambda x: untraced.lax.psum(x, "i") / untraced.lax.axis_size("i"), axis_env=[("i", 4)])
    assert 'lax.psum(x, "i") / 4' in shown(np.ones(3)).source


def test_debug_prints_in_the_middle(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    @jit
    def f(x: Any) -> Any:
        y = np.sin(x) * 2
        untraced.debug.print("y = {y:.3f}, {}", x, y=y)
        untraced.debug.callback(lambda v: seen.append(float(v)), y)
        return y + 1

    assert f(0.0) == 1.0 and f(np.pi / 2) == 3.0
    assert capsys.readouterr().out.splitlines() == ["y = 0.000, 0.0", f"y = 2.000, {np.pi / 2}"]
    assert seen == [0.0, 2.0]
    with pytest.warns(UserWarning) as left_out:
        assert grad(f)(0.0) == 2.0
        np.testing.assert_allclose(vmap(f)(np.zeros(3)), np.ones(3))
        assert accelerate(grad(f))(0.0) == 2.0
    left = {f"a derivative or a batch leaves `debug.{name}` out" for name in ("print", "callback")}
    assert {str(w.message) for w in left_out} == left and len(seen) == 2


def test_disable_jit() -> None:
    def twice(x: Any) -> Any:
        return np.tanh(x) * 2

    f = jit(twice)

    def is_run_by_cpython(x: Any) -> bool:
        codes: set[Any] = set()
        sys.setprofile(lambda frame, event, argument: codes.add(frame.f_code))
        got = f(x)
        sys.setprofile(None)
        np.testing.assert_allclose(got, np.tanh(np.ones(3)) * 2)
        return twice.__code__ in codes

    for x in (np.ones(3), untraced.device_put(np.ones(3))):
        f(x)
        assert not is_run_by_cpython(x)
        with untraced.disable_jit():
            assert untraced.config.jax_disable_jit and is_run_by_cpython(x)
            with untraced.disable_jit(False):
                assert not is_run_by_cpython(x)
        assert not is_run_by_cpython(x)


def test_namespaces_are_modules() -> None:
    for name in ("debug", "experimental", "experimental.ode", "scipy.optimize", "scipy.signal"):
        importlib.import_module(f"untraced.{name}")
    np.testing.assert_allclose(untraced.scipy.signal.convolve(np.ones(3), np.ones(2)), [1, 2, 2, 1])


def test_spectra_and_integrals_of_the_namespaces_are_scipys() -> None:
    x = np.cos(np.arange(64.0) ** 1.5)
    arrays = untraced.device_put(x)
    mine, own = untraced.scipy, scipy
    for function, theirs in (
        (lambda v: mine.signal.welch(v, nperseg=16)[1], lambda v: own.signal.welch(v, nperseg=16)[1]),
        (lambda v: mine.signal.stft(v, nperseg=16)[2], lambda v: own.signal.stft(v, nperseg=16)[2]),
        (mine.signal.hilbert, own.signal.hilbert),
        (mine.special.dawsn, own.special.dawsn),
        (lambda v: mine.special.hyp2f1(0.5, 1, 1.5, v / 2), lambda v: own.special.hyp2f1(0.5, 1, 1.5, v / 2)),
    ):
        np.testing.assert_allclose(function(x), theirs(x), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(untraced.jit(function)(arrays), theirs(x), rtol=1e-10, atol=1e-12)


def test_disable_jit_inside_a_program() -> None:
    @accelerate(target="numpy", fallback="error")
    def f(x: Any) -> Any:
        with untraced.disable_jit():
            y = np.sin(x)
        with untraced.disable_jit(disable=False):
            return y + 1

    assert f.inspect(np.ones(2)).source.count("np.sin") == 1
    np.testing.assert_array_equal(f(np.ones(2)), np.sin(np.ones(2)) + 1)
    with untraced.disable_jit():
        assert untraced.config.jax_disable_jit
    assert not untraced.config.jax_disable_jit

    @untraced.disable_jit()
    def by_cpython() -> bool:
        return untraced.config.jax_disable_jit

    assert by_cpython() and not untraced.config.jax_disable_jit


def test_none_of_jits_arguments() -> None:
    nothing: Any = {"static_argnums": None, "static_argnames": None, "donate_argnums": None, "donate_argnames": None}
    assert jit(lambda x, n=3: x * n, target="numpy", **nothing)(2.0) == 6


def scaled(x: Any, power: int = 2, *, scale: float = 1.0) -> Any:
    return scale * x**power


def called_with_scale(f: Any, x: Any) -> Any:
    names = inspect.signature(f).parameters
    options = [p for p in names.values() if p.kind is p.KEYWORD_ONLY and p.default is not p.empty]
    return f(x, **{p.name: 3.0 for p in options}) * len(names)


class Scaled:
    def __call__(self, x: Any, *, scale: float = 2.0) -> Any:
        return x * scale

    def squared(self, x: Any, *, scale: float = 1.0) -> Any:
        return x * x * scale


@pytest.mark.parametrize("f", [scaled, functools.partial(scaled, power=3), Scaled(), Scaled().squared])
def test_signatures_of_what_is_called(f: Any) -> None:
    """Functions that ask which parameters another one takes, as optimisers do, are differentiated and batched."""
    xs = np.array([1.0, 2.0])
    want = [called_with_scale(f, x) for x in xs]
    np.testing.assert_allclose(untraced.vmap(called_with_scale, in_axes=(None, 0))(f, xs), want)
    slope = (called_with_scale(f, 2.0 + 1e-6) - called_with_scale(f, 2.0 - 1e-6)) / 2e-6
    np.testing.assert_allclose(grad(called_with_scale, 1)(f, 2.0), slope, rtol=1e-6)


def test_signatures_of_functions_made_inside() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any, *rest: Any, scale: Any = x) -> Any:
            return y * scale

        default = inspect.signature(inner).parameters["scale"].default
        return called_with_scale(inner, x) + called_with_scale(functools.partial(inner, scale=x), x) * default

    x = 2.0
    assert accelerate(f)(x) == f(x)
    np.testing.assert_allclose(grad(f)(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6)


def array_by_default(x: Any, w: Any = np.ones(2)) -> Any:  # noqa: B008
    return x * w


def test_signatures_have_defaults_that_may_change_as_they_are() -> None:
    def f(x: Any) -> Any:
        names = inspect.signature(array_by_default).parameters
        return np.sum(array_by_default(x) * names["w"].default) * len(names)

    g = accelerate(grad(f))
    for w in (np.ones(2), np.array([2.0, 3.0])):
        array_by_default.__defaults__ = (w,)
        assert g(1.0) == grad(f)(1.0) == 2 * np.sum(w * w)
    array_by_default.__defaults__[0][:] = 5.0
    assert g(1.0) == grad(f)(1.0) == 100.0


def test_signatures_of_objects_with_defaults_that_may_change_are_refused() -> None:
    wrapped = functools.wraps(array_by_default)(lambda *args: array_by_default(*args))
    with pytest.raises(untraced.UnsupportedError, match="a default that may change"):
        grad(lambda x: np.sum(wrapped(x)) * len(inspect.signature(wrapped).parameters))(1.0)


def bound(x: Any) -> Any:
    signature = inspect.signature(called_with_scale)
    parameters = list(signature.parameters.values())
    extra = inspect.Parameter("extra", inspect.Parameter.KEYWORD_ONLY, default=x)
    found = inspect.Signature([*parameters, extra]).bind(np.sin, x * 2.0)
    found.apply_defaults()
    return np.sum(found.args[0](found.args[1])) * found.kwargs["extra"] * len(parameters)


def test_arguments_are_bound_to_signatures() -> None:
    assert accelerate(bound)(2.0) == bound(2.0)
    np.testing.assert_allclose(grad(bound)(2.0), 2.0 * (np.sin(4.0) + 4.0 * np.cos(4.0)))


def checked_log(x: Any, i: Any) -> Any:
    checkify.check(i >= 0, "i must not be negative, got {i} of {}", x.size, i=i)
    return np.log(x[i])


def test_checkify() -> None:
    checked = checkify.checkify(checked_log, errors=checkify.all_checks)
    x = np.arange(5.0) - 1
    wanted = [(3, None), (-1, "got -1 of 5"), (9, "out of bounds"), (0, "invalid value"), (1, "divide by zero")]
    for f in (checked, jit(checked)):
        for i, message in wanted:
            for given in (x, untraced.device_put(x)):
                error, y = f(given, i)
                assert (error.get() is None) == (message is None) and (message or "") in (error.get() or "")
                assert y is None if message else np.isclose(y, np.log(2.0))
    with pytest.raises(untraced.errors.JaxRuntimeError, match="divide by zero"):
        error.throw()
    with pytest.raises(IndexError):
        checkify.checkify(checked_log)(x, 9)
    np.testing.assert_allclose(untraced.vmap(checked_log, in_axes=(None, 0))(x, np.array([2, 3])), np.log([1.0, 2.0]))
    assert grad(checked_log)(x, 3)[3] == 0.5
    batched = untraced.vmap(checked_log, in_axes=(None, 0))
    for g, i in ((jit(checked_log), -1), (batched, np.array([2, -1])), (grad(checked_log), -1)):
        with pytest.raises(RuntimeError, match="i must not be negative, got -1 of 5"):
            g(x, i)


def test_stages() -> None:
    stepped = jit(lambda x: x + 1)
    lowered = stepped.trace(np.ones(2)).lower()
    assert isinstance(lowered, untraced.stages.Lowered) and lowered.compiler_ir() == lowered.as_text()
    compiled = lowered.compile()
    assert compiled.in_tree == lowered.in_tree and compiled.out_info == stepped.eval_shape(np.ones(2))
    assert lowered.cost_analysis() == compiled.cost_analysis()
    assert "x + 1" in str(stepped.trace(np.ones(2)).jaxpr)


def test_policies_by_names() -> None:
    policies = untraced.checkpoint_policies
    both = policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("h"))
    for policy in (both, policies.save_anything_except_these_names("h"), policies.save_any_names_but_these("h")):

        @functools.partial(untraced.checkpoint, policy=policy)
        def layer(x: Any) -> Any:
            return np.sum(untraced.ad_checkpoint.checkpoint_name(np.sin(x), "h") ** 2)

        assert np.isclose(grad(layer)(0.5), np.sin(1.0))


def moved(x: Any) -> Any:
    """Arrays put on their device where they are, as scripts do."""
    try:
        x = untraced.device_put({"x": x}, untraced.devices()[0])["x"]
    except TypeError:
        pass
    return np.sum(np.sin(x) * x)


@untraced.custom_gradient
def tried(x: Any) -> Any:
    try:
        y = np.sum(np.sin(x) * x)
    except ValueError as error:
        raise RuntimeError("a value") from error
    return y, lambda ct: ct * np.sign(x)


def test_device_put_and_try_where_derivatives_are_taken() -> None:
    x = np.array([0.5, -2.0, 3.0])
    for f in (moved, jit(moved)):
        np.testing.assert_allclose(grad(f)(x), np.sin(x) + x * np.cos(x))
        np.testing.assert_allclose(untraced.vmap(f)(x[:, None]), np.sin(x) * x)
    np.testing.assert_allclose(grad(tried)(x), np.sign(x))
    np.testing.assert_allclose(untraced.vmap(tried)(x[:, None]), np.sin(x) * x)
