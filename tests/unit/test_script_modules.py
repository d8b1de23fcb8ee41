"""Modules and rules that JAX scripts ask for: `jet`, `dlpack`, `multihost_utils`, symbolic zeros, against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.experimental.jet
import numpy as np
import pytest

import untraced
import untraced.dlpack
import untraced.experimental.jet
import untraced.experimental.multihost_utils
from untraced import custom_jvp, custom_vjp, grad, jit, jvp, lax, vmap
from untraced import numpy as unp
from untraced.custom_derivatives import SymbolicZero, custom_vjp_primal_tree_values, zero_from_primal

X = np.array([0.3, -1.2])


def same(got: Any, want: Any) -> None:
    found, wanted = jax.tree.leaves(got), jax.tree.leaves(want)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_jet() -> None:
    ours, theirs = untraced.experimental.jet.jet, jax.experimental.jet.jet
    series = ((X, np.ones(2), X * X), (np.ones(2), X, np.zeros(2)))

    def f(m: Any) -> Any:
        return lambda x, y: {"p": m.tanh(x) * m.exp(y), "s": x + y}

    with jax.enable_x64(True):
        want = theirs(f(jax.numpy), (X, X + 1), series)
    same(ours(f(unp), (X, X + 1), series), want)
    same(jit(lambda x: ours(f(unp), (x, x + 1), series))(X), want)
    same(vmap(lambda x: ours(unp.sin, (x,), ((1.0, 0.0),))[1][1])(X), -np.sin(X))
    same(grad(lambda x: ours(unp.sin, (x,), ((1.0, 0.0),))[1][1])(2.0), -np.cos(2.0))
    with pytest.raises(ValueError, match="series of"):
        ours(f(unp), (X, X), ((X,), (X, X)))


def test_symbolic_zeros_of_forward_rules() -> None:
    @custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        moved = unp.zeros_like(x)
        if type(dx) is not SymbolicZero:
            moved = moved + 5 * dx * y
        if type(dy) is not SymbolicZero:
            moved = moved + 7 * dy * x
        return f(x, y), moved

    f.defjvp(rule, symbolic_zeros=True)
    assert grad(f)(2.0, 3.0) == 15.0 and grad(f, 1)(2.0, 3.0) == 14.0
    assert jvp(f, (2.0, 3.0), (1.0, 1.0)) == (6.0, 29.0) and grad(lambda x: f(x, 3))(2.0) == 15.0
    np.testing.assert_array_equal(jit(vmap(grad(lambda x: f(x, 3))))(X), [15.0, 15.0])
    assert zero_from_primal(X, symbolic_zeros=True) == SymbolicZero((2,), np.dtype(float))


def test_symbolic_zeros_of_reverse_rules() -> None:
    @custom_vjp
    def f(tree: Any, y: Any) -> Any:
        return tree["a"] * y

    def forward(tree: Any, y: Any) -> Any:
        assert y.perturbed
        tree = custom_vjp_primal_tree_values(tree)
        return f(tree, y.value), (tree, y.value)

    f.defvjp(forward, lambda kept, ct: ({"a": 2 * ct * kept[1]}, 3 * ct * kept[0]["a"]), symbolic_zeros=True)
    for run in (lambda g: g, jit):
        same(run(grad(f, (0, 1)))({"a": 2.0}, 3.0), ({"a": 6.0}, 6.0))
    same(vmap(grad(f, 1), in_axes=(None, 0))({"a": 2.0}, X), np.full(2, 6.0))


def test_dlpack() -> None:
    host = np.arange(3.0)
    taken = untraced.dlpack.from_dlpack(host)
    host[0] = 9.0
    assert type(taken) is untraced.Array and taken.tolist() == [0.0, 1.0, 2.0]
    assert "dltensor" in repr(untraced.dlpack.to_dlpack(taken)) and untraced.dlpack.is_supported_dtype(np.float32)
    with pytest.raises(ValueError, match="is a copy"):
        untraced.dlpack.from_dlpack(host, copy=False)


def test_one_process_among_itself() -> None:
    utils = untraced.experimental.multihost_utils
    utils.sync_global_devices("start")
    utils.assert_equal({"w": X})
    same(utils.process_allgather({"w": unp.array(X)}), {"w": X[None]})
    same(utils.process_allgather(unp.array(X), tiled=True), X)
    same(utils.broadcast_one_to_all({"w": X}), {"w": X})


def test_slopes_of_the_incomplete_gamma_function() -> None:
    a, x = np.array([0.5, 2.0, 30.0]), np.array([1.0, 3.0, 25.0])
    with jax.enable_x64(True):
        slope, draw = jax.lax.igamma_grad_a(a, x), jax.lax.random_gamma_grad(a, x)
    for run in (lambda f: f, jit, vmap):
        np.testing.assert_allclose(run(lax.igamma_grad_a)(a, x), slope, rtol=1e-6)
        np.testing.assert_allclose(run(lax.random_gamma_grad)(a, x), draw, rtol=1e-6)


def test_a_function_of_windows() -> None:
    def f(m: Any) -> Any:
        rows = m.ScatterDimensionNumbers((1,), (0,), (0,))
        return lambda x, i: m.scatter_apply(x, i, lambda v: 2 * v + 1, rows, update_shape=(3, 2))

    x, i = np.arange(6.0).reshape(3, 2), np.array([[1], [1], [7]])
    with jax.enable_x64(True):
        want = f(jax.lax)(jax.numpy.array(x), i)
    for got in (f(lax)(x, i), jit(f(lax))(x, i), f(lax)(unp.array(x), i), vmap(f(lax))(x[None], i[None])[0]):
        np.testing.assert_array_equal(got, want)


def test_one_level_of_a_tree() -> None:
    registry = untraced.tree_util.default_registry
    assert registry.flatten_one_level({"b": 1, "a": [2]})[0] == ([2], 1) and registry.flatten_one_level(3) is None
