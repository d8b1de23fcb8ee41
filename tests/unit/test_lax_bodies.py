"""What `lax` gives to bodies and branches: JAX's arrays for numbers, of whose comparisons `~` is the other one; and
arrays that nothing writes into.
"""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import untraced
from untraced import accelerate, grad, jit, vmap

CASES: list[Callable[[Any, Any, Any], Any]] = [
    lambda lax, jnp, n: lax.fori_loop(0, n, lambda i, c: c + lax.cond(~(i > 2), lambda: 1, lambda: 0), 0),
    lambda lax, jnp, n: lax.fori_loop(0, n, lambda i, c: c + jnp.where(~(i + 1 > 2) & ~(c < 0), 2, 1), 0),
    lambda lax, jnp, n: lax.while_loop(lambda s: ~(s > n), lambda s: s + 1, 0),
    lambda lax, jnp, n: lax.cond(~(lax.cond(n > 1, lambda x: x * 2, lambda x: x, 3) > 5), lambda: 1.0, lambda: 2.0),
    lambda lax, jnp, n: lax.scan(lambda c, x: (c + 1, x * ~(c > 1)), 0, jnp.arange(4) > 0),
    lambda lax, jnp, n: lax.switch(n, [lambda x: ~(x > 2), lambda x: ~(x < 2)], n * 1.0),
    lambda lax, jnp, n: lax.fori_loop(0, n, lambda i, x: x + i.astype(x.dtype) + i.ndim + i.reshape(1)[0], jnp.ones(2)),
    lambda lax, jnp, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * s[0].real), (0, 1)),
]


@pytest.mark.filterwarnings("ignore:.* runs as it is")  # a constant carry beside an argument
@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_in_jax(case: int) -> None:
    f = CASES[case]
    with jax.enable_x64(True):
        want = [jax.tree.map(np.asarray, f(jax.lax, jax.numpy, n)) for n in (6, 1)]
    ours: Callable[[Any], Any] = lambda n: f(untraced.lax, untraced.numpy, n)  # noqa: E731
    stacked = jax.tree.map(lambda *parts: np.stack(parts), *want)
    for got, expected in ((ours(6), want[0]), (jit(ours)(6), want[0]), (vmap(ours)(np.array([6, 1])), stacked)):
        jax.tree.map(np.testing.assert_array_equal, got, expected)


def test_results_are_numbers_with_an_arrays_attributes() -> None:
    total = untraced.lax.fori_loop(0, 3, lambda i, c: c + i, 0)
    assert isinstance(total, int) and total == 3 and repr(total) == "3" and f"{total:03d}" == "003"
    assert total.shape == () and total.astype(np.float32).dtype == np.float32 and total.item() == 3
    assert total.block_until_ready() == 3 and [4, 5, 6, 7][total] == 7 and list(range(total)) == [0, 1, 2]
    half = untraced.lax.cond(True, lambda x: x / 2, lambda x: x, 3.0)
    assert isinstance(half, float) and half.dtype == np.float64 and half.at[...].add(1) == 2.5
    for same in (pickle.loads(pickle.dumps(half)), copy.deepcopy(half)):
        assert same == 1.5
    assert {total: "found"}[3] == "found" and divmod(total, 2) == (1, 1) and 2 ** total == 8 and -half == -1.5


def test_they_are_weak_as_pythons_numbers_are() -> None:
    half = untraced.lax.cond(True, lambda: 0.5, lambda: 1.0)
    single = np.ones(2, np.float32)
    for made in (single * half, half - single, np.maximum(half, single), np.where(single > 0, half, single)):
        assert made.dtype == np.float32
    assert (untraced.device_put(single) * half).dtype == np.float32 and (np.float32(1) * half).dtype == np.float32
    assert untraced.lax.fori_loop(0, 2, lambda i, x: x * i + 1.0 / (i + 1), single).dtype == np.float32


def test_transformations_in_bodies_that_cpython_runs() -> None:
    def body(i: Any, c: Any) -> Any:
        lanes = vmap(lambda y: y * i + c)(np.ones(2))
        return c + untraced.grad(lambda y: (y * i + 1) ** 2)(c) + jit(lambda a, k: a * k)(c, i) + lanes[0]

    want = 1.0
    for i in range(3):
        want = want + 2 * (want * i + 1) * i + want * i + i + want
    np.testing.assert_allclose(untraced.lax.fori_loop(0, 3, body, 1.0), want)


def _accumulated(lax: Any, c: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        before = c
        c += x
        x *= 2.0
        return c, (before, x)

    return lax.scan(step, c, xs), c, xs


def _doubled(lax: Any, c: Any, xs: Any) -> Any:
    def body(s: Any) -> Any:
        i, x = s
        before = x
        x *= 2.0
        return i + 1, x + before

    return lax.while_loop(lambda s: s[0] < 3, body, (0, c)), c


def _chosen(lax: Any, c: Any, xs: Any) -> Any:
    def one(x: Any) -> Any:
        x += 1.0
        return x

    def other(x: Any) -> Any:
        x -= 1.0
        return x

    return lax.cond(c.sum() > 0, one, other, c), lax.switch(1, [one, other], c), lax.map(one, xs), c, xs


@pytest.mark.parametrize("f", [_accumulated, _doubled, _chosen])
def test_bodies_that_change_what_they_are_given(f: Any) -> None:
    """x += y makes a new array there, whatever the array came from; what it came from stays."""
    c, xs = np.ones(2), np.arange(6.0).reshape(3, 2)
    with jax.enable_x64(True):
        want = f(jax.lax, jax.numpy.array(c), jax.numpy.array(xs))
    within: Callable[..., Any] = lambda c, xs: f(untraced.lax, c + 0.0, xs + 0.0)  # noqa: E731
    for got in (jit(within)(c, xs), f(untraced.lax, untraced.numpy.array(c), untraced.numpy.array(xs))):
        jax.tree.map(np.testing.assert_array_equal, got, want)
    batched = vmap(within)(np.stack([c, c]), np.stack([xs, xs]))
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[1], b), batched, want)


def test_counters_may_be_floats() -> None:
    def total(x: Any) -> Any:
        return untraced.lax.fori_loop(x, x + 2.5, lambda i, c: c + i * x, 0.0)

    assert total(1.0) == accelerate(total)(1.0) == vmap(total)(np.ones(2))[1] == 6.0
    np.testing.assert_allclose(grad(total)(1.0), 9.0)


def test_arrays_without_axes_are_updated_whole() -> None:
    update = lambda x: untraced.lax.dynamic_update_slice(x, 7, [])  # noqa: E731
    assert vmap(update)(np.arange(3)).tolist() == [7, 7, 7]
    assert update(np.array(1.0)).dtype == np.float64


def test_dimension_numbers_that_a_partial_holds() -> None:
    numbers = untraced.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    rows = functools.partial(untraced.lax.gather, dimension_numbers=numbers, slice_sizes=(1, 3))
    x, places = np.arange(24.0).reshape(2, 4, 3), np.array([[0], [2]])
    np.testing.assert_array_equal(vmap(rows, (0, None))(x, places), x[:, [0, 2]])
