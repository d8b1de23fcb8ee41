"""x.at[i].set(v) and its kin inside functions: JAX's values, and NumPy's where an index is out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, device_put, grad, jit, vmap
from untraced import numpy as unp

X = np.arange(1.0, 7.0)
M = np.arange(12.0).reshape(3, 4)
I = np.array([1, 1, 2])
V = np.array([2.0, 3.0, 4.0])

UPDATES: list[tuple[np.ndarray, Callable[[Any], Any]]] = [
    (X, lambda x: x.at[3].set(7.0)),
    (X, lambda x: x.at[-1].add(1.0)),
    (X, lambda x: x.at[1:4].multiply(2.0)),
    (X, lambda x: x.at[::2].set(x[:3])),
    (X, lambda x: x.at[I].add(V)),
    (X, lambda x: x.at[I].subtract(V)),
    (X, lambda x: x.at[I].multiply(V)),
    (X, lambda x: x.at[I].divide(V)),
    (X, lambda x: x.at[I].min(V)),
    (X, lambda x: x.at[I].max(V)),
    (X, lambda x: x.at[np.array([0, 3])].power(2.0)),
    (X, lambda x: x.at[2].get() + x.at[1:3].get()),
    (X, lambda x: x.at[0].set(1.0).at[1].set(2.0)),
    (M, lambda x: x.at[:, 1].set(0.0)),
    (M, lambda x: x.at[0, np.array([0, 2])].add(1.0)),
    (M, lambda x: x.at[np.array([0, 0]), np.array([1, 1])].multiply(3.0)),
    (M, lambda x: x.at[...].set(1.0)),
    (M, lambda x: x.at[1].max(x[0])),
    (M.astype(np.float32), lambda x: x.at[1].add(1.0)),
    (M, lambda x: x.at[I].multiply(2.0, unique_indices=False)),
    (M, lambda x: x.at[1].mul(2.0)),
]


@pytest.mark.parametrize("case", range(len(UPDATES)))
def test_as_in_jax(case: int) -> None:
    jax = pytest.importorskip("jax")
    x, f = UPDATES[case]
    with jax.enable_x64(True):
        expected = np.asarray(f(jax.numpy.asarray(x)))
    before = x.copy()
    for got in (jit(f)(x), accelerate(f, target="numpy")(x), f(device_put(x))):
        assert np.asarray(got).dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6 if x.dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(x, before)


def test_masks() -> None:
    np.testing.assert_array_equal(jit(lambda x: x.at[x > 3].set(0.0))(X), np.where(X > 3, 0.0, X))
    np.testing.assert_array_equal(jit(lambda x: x.at[x > 3].multiply(2.0))(X), np.where(X > 3, X * 2, X))


def test_under_transformations() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.sum(x.at[i].set(2.0).at[np.array([0, 0])].multiply(3.0) ** 2)

    expected = 2 * X * np.where(np.arange(6) == 2, 0.0, 1.0) * np.where(np.arange(6) == 0, 81.0, 1.0)
    np.testing.assert_allclose(grad(f)(X, 2), expected)
    np.testing.assert_allclose(jit(grad(f))(X, 2), expected)
    lanes = jit(vmap(lambda x, i: x.at[i].add(1.0)))(M, np.array([0, 3, 3]))
    np.testing.assert_array_equal(lanes, M + np.eye(4)[[0, 3, 3]])


def test_ufunc_at_accumulates_in_all_operations() -> None:
    def f(x: Any, ufunc: Any) -> Any:
        x = x.copy()
        ufunc.at(x, I, V)
        return x

    for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.power):
        np.testing.assert_allclose(jit(f)(X, ufunc), f(X, ufunc))


def test_negative_indices_that_do_not_count_from_the_end() -> None:
    """They are out of range: dropped, filled, clipped to the first place, or an error."""
    places, options = np.array([-1, 2, -7]), {"wrap_negative_indices": False}
    for x, f in ((X, jit), (unp.array(X), jit), (unp.array(X), lambda f: f)):
        for i in (-1, places):
            inside = np.arange(6) == 2 if i is places else np.zeros(6, bool)
            stored = f(lambda x: x.at[i].set(9.0, mode="drop", **options))(x)
            np.testing.assert_array_equal(stored, np.where(inside, 9.0, X))
            read = f(lambda x: x.at[i].get(mode="fill", fill_value=0.0, **options))(x)
            np.testing.assert_array_equal(read, [0.0, X[2], 0.0] if i is places else 0.0)
            clipped = f(lambda x: x.at[i].get(mode="clip", **options))(x)
            np.testing.assert_array_equal(clipped, [X[0], X[2], X[0]] if i is places else X[0])
            with pytest.raises(IndexError):
                f(lambda x: x.at[i].set(9.0, **options))(x)


def test_what_is_refused() -> None:
    with pytest.raises(IndexError):
        jit(lambda x: x.at[9].set(1.0))(X)
    with pytest.raises(ValueError, match="mode must be one of"):
        jit(lambda x: x.at[0].set(1.0, mode="sideways"))(X)
    with pytest.raises(AttributeError, match="nothing"):
        jit(lambda x: x.at[0].nothing(1.0))(X)


@pytest.mark.filterwarnings("ignore:store of an Array runs on the host")
def test_updates_of_arrays_that_no_program_makes() -> None:
    """Outside functions, as in JAX: what a mask selects, and new axes beside index arrays."""
    mask, cube = np.array([True, False, True]), np.zeros((3, 4, 5))
    for x in (device_put(np.arange(3.0)), unp.arange(3.0)):
        np.testing.assert_array_equal(x.at[mask].set(np.array([5.0, 7.0])), [5.0, 1.0, 7.0])
        np.testing.assert_array_equal(x.at[x > 0].set(unp.array([5.0, 7.0])), [0.0, 5.0, 7.0])
        assert type(x.at[mask].set(np.array([5.0, 7.0]))) is type(x)
        with pytest.raises(ValueError, match="3 input values to the 2 output values"):
            x.at[mask].set(np.ones(3))
    index, values = (None, np.array([0, 2, 0]), np.array([1, 3, 1])), np.arange(15.0).reshape(1, 3, 5)
    for name, ufunc in (("add", np.add), ("max", np.maximum)):
        want = cube.copy()
        ufunc.at(want, index, values)
        np.testing.assert_array_equal(getattr(unp.asarray(cube).at[index], name)(values), want)
