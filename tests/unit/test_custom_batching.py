"""`custom_vmap` and `sequential_vmap`: what a rule says of a batch, against JAX and by itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.custom_batching import custom_vmap as jax_custom_vmap
from jax.custom_batching import sequential_vmap as jax_sequential_vmap

import untraced
from untraced import accelerate, grad, vmap
from untraced import numpy as unp
from untraced.custom_batching import custom_vmap, sequential_vmap

X, Y, M = np.arange(3.0), np.arange(3.0) + 0.5, np.arange(6.0).reshape(2, 3)


def told(decorator: Any) -> Any:
    """A function whose rule adds 1000, so that it shows where it was used."""

    @decorator
    def f(x: Any, y: Any) -> Any:
        return x + y**2

    @f.def_vmap  # type: ignore[misc]
    def rule(axis_size: int, in_batched: Any, xs: Any, ys: Any) -> Any:
        on_x, on_y = in_batched
        return 1000.0 * axis_size + xs + ys**2, on_x or on_y

    return f


def of_trees(decorator: Any, numpy: Any) -> Any:
    @decorator
    def g(d: Any, k: Any) -> Any:
        return {"k": k * 2, "s": d["a"] @ d["b"]}, d["a"]

    @g.def_vmap  # type: ignore[misc]
    def rule(axis_size: int, in_batched: Any, d: Any, k: Any) -> Any:
        on, on_k = in_batched
        s = numpy.einsum("ni,ni->n", d["a"], d["b"]) if on["a"] and on["b"] else d["a"] @ d["b"]
        return ({"k": k * 2, "s": s}, d["a"]), ({"k": on_k, "s": True}, on["a"])

    return g


def agree(got: Any, wanted: Any) -> None:
    pairs = zip(untraced.tree.leaves(got), jax.tree.leaves(wanted), strict=True)
    for x, y in pairs:
        assert np.shape(x) == np.shape(y) and np.asarray(x).dtype == y.dtype
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-12)


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def test_the_rule_says_what_a_batch_is() -> None:
    f, theirs = told(custom_vmap), told(jax_custom_vmap)
    assert np.array_equal(f(X, Y), X + Y**2)
    for m, g in ((untraced, f), (jax, theirs)):
        made = (
            m.vmap(g)(X, Y),
            m.vmap(g, (0, None))(X, 2.0),
            m.vmap(g, (None, 0))(2.0, Y),
            m.vmap(m.vmap(g, (0, None)), (None, 0))(X, Y),
            m.vmap(lambda x: g(2 * x, 3.0) + 1)(X),  # noqa: B023  # called at once
            m.jit(m.vmap(g))(X, Y),
            m.jvp(lambda x: m.vmap(g)(x, Y), (X,), (Y,)),  # noqa: B023
        )
        if m is untraced:
            ours = made
    agree(ours, made)
    assert grad(f, 1)(1.0, 2.0) == 4.0 and np.array_equal(vmap(grad(f, 1))(X, Y), 2 * Y)
    assert np.array_equal(grad(lambda x: np.sum(np.sin(vmap(f)(x, Y))))(X), np.cos(3000.0 + X + Y**2))


def test_trees_of_which_parts_are_batched() -> None:
    ours, theirs = of_trees(custom_vmap, unp), of_trees(jax_custom_vmap, jnp)
    for axes, args in (
        (({"a": 0, "b": None}, None), ({"a": M, "b": X}, 5)),
        (({"a": 0, "b": 0}, 0), ({"a": M, "b": 2 * M}, np.arange(2))),
    ):
        agree(vmap(ours, axes)(*args), jax.vmap(theirs, axes)(*args))


def test_one_element_at_a_time() -> None:
    def h(x: Any, y: Any) -> Any:
        return x * y, {"m": x.sum()}

    ours, theirs = sequential_vmap(h), jax_sequential_vmap(h)
    for axes, y in ((0, M), ((0, None), 2.0)):
        wanted = jax.vmap(theirs, axes)(M, y)
        agree(vmap(ours, axes)(M, y), wanted)
        agree(accelerate(vmap(ours, axes))(M, y), wanted)
    assert "for " in vmap(ours).source(M, M)


def test_a_rule_is_read_again_where_it_or_what_it_reads_changes() -> None:
    def f(x: Any) -> Any:
        return x

    g, more = custom_vmap(f), 1.0

    @g.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any) -> Any:
        return x + more, True

    batched = accelerate(vmap(g))
    assert batched(X).tolist() == [1, 2, 3]
    more = 5.0
    assert batched(X).tolist() == [5, 6, 7]
    g.def_vmap(lambda axis_size, in_batched, x: (-x, True))
    assert batched(X).tolist() == [0, -1, -2]


def test_a_custom_vjp_passes_rules_of_batches_on() -> None:
    @untraced.custom_vjp
    @custom_vmap
    def f(x: Any) -> Any:
        return np.sin(x)

    f.def_vmap(lambda axis_size, in_batched, xs: (np.cos(xs), True))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (7.0 * ct,))
    np.testing.assert_allclose(vmap(f)(X), np.cos(X))
    assert grad(f)(1.0) == 7.0
    with pytest.raises(AttributeError, match="no attribute 'defined'"):
        _ = f.defined


def test_a_rule_leaves_out_what_only_shows() -> None:
    @sequential_vmap
    def f(x: Any) -> Any:
        untraced.debug.print("{}", x)
        return x + 1.0

    with pytest.warns(UserWarning, match="debug.print"):
        np.testing.assert_allclose(accelerate(vmap(f))(X), X + 1.0)


def test_what_a_rule_may_not_do() -> None:
    @custom_vmap
    def f(x: Any) -> Any:
        return 2 * x

    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function f"):
        vmap(f)(X)
    for rule, error, what in (
        (lambda n, on, x: 2 * x, TypeError, "must return a pair"),
        (lambda n, on, x: (x[0], True), TypeError, r"must give the shape \(3,\), as it says, but gives \(\)"),
        (lambda n, on, x: ((x, x), True), TypeError, "like the function's"),
        (lambda n, on, x: (x, x[0] > 1), TypeError, "must say with bools"),
        (lambda n, on, x: (x + Y, True), untraced.UnsupportedError, "uses the array Y from outside"),
    ):
        f.def_vmap(rule)
        with pytest.raises(error, match=what):
            vmap(f)(X)
