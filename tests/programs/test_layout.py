"""Arrays that NumPy lays out in another order than C order: whether a reshape is a view or a copy goes by that."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import UnsupportedError, accelerate, grad

A = np.random.default_rng(0).normal(size=(4, 4))

MAKERS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x.T * 2,
    "of both orders": lambda x: x.T + x,
    "negative": lambda x: -x.T,
    "comparison": lambda x: x.T > 0,
    "column by row": lambda x: x[:, :1] * x.T[:1],
    "ufunc": lambda x: np.maximum(x.T, 0.5),
    "where": lambda x: np.where(x.T > 0, x.T, 1.0),
    "clip": lambda x: np.clip(x.T, -1, 1),
    "np.copy": lambda x: np.copy(x.T),
    "copy": lambda x: x.T.copy(),
    "copy of order K": lambda x: x.T.copy(order="K"),
    "np.array": lambda x: np.array(x.T),
    "astype": lambda x: x.T.astype(np.float32),
    "zeros_like": lambda x: np.zeros_like(x.T),
    "full_like": lambda x: np.full_like(x.T, 3.0),
    "ones in Fortran order": lambda x: np.ones((4, 4), order="F"),
    "asfortranarray": lambda x: np.asfortranarray(x) * 2,
    "ascontiguousarray": lambda x: np.ascontiguousarray(x.T * 2),
    "sort": lambda x: np.sort(x.T, axis=0),
    "cumsum": lambda x: np.cumsum(x.T, axis=0),
    "matmul": lambda x: x.T @ x,
    "channels last": lambda x: np.moveaxis(np.stack([x, x, x]), 0, -1) * 1.0,
    "columns": lambda x: x[:, [0, 2, 1]],
    "rows of columns": lambda x: np.stack([x, x])[:, [[0, 1], [1, 2]]],
    "rows": lambda x: x[[2, 0]],
    "sum": lambda x: np.stack([x, x, x]).sum(axis=0),
    "broadcast": lambda x: np.broadcast_to(x[0][:, None], (4, 4)) * 1.0,
    "reversed": lambda x: x[::-1] * 1.0,
    "part": lambda x: (x + 1j).real,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_writes_through_reshapes_of_what_was_made(make: Callable[[Any], Any]) -> None:
    def through(x):
        y = make(x)
        z = y.reshape(-1)
        z[1] = 7
        w = y.ravel()
        y[0, 1] = 9
        return y, z, w

    assert_same(accelerate(through, target="numpy")(A), through(A), "result")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["product", "np.copy", "sum", "columns", "matmul"])
def test_arguments_in_either_order(name: str, order: Any) -> None:
    make = MAKERS[name]

    def through(x):
        y = make(x)
        y.ravel()[1] = 7
        return y

    x = np.asarray(A, order=order)
    assert_same(accelerate(through, target="cpu")(x), through(x), "result")


def chosen(x, n):
    y = x * 2 if n > 1 else x.T * 2
    y.ravel()[1] += 10
    return y


def turned_in_loop(x, n):
    y = x * 1.0
    for _ in range(n):
        y.ravel()[1] += 10
        y = y.T * 1.0
    return y


def rolled(x, n):
    y = np.roll(x.T, n)
    z = y.ravel()
    y[0, 1] = 9
    return z


def turned_by_axis(x, n):
    y = np.apply_along_axis(np.sort, 0, x)
    y.reshape(-1)[n] = 3.0
    return y


@pytest.mark.parametrize("function", [chosen, turned_in_loop, rolled, turned_by_axis])
def test_what_cannot_be_told_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="share memory with a reshape of it"):
        accelerate(function)(A, 2)
    with pytest.raises(UnsupportedError, match="share memory with a reshape of it"):
        accelerate(grad(lambda x, n: function(x, n).sum()))(A, 2)


def reshaped_and_gone(u, n):
    for _ in range(n):
        u = np.roll(u.T, 1, axis=0) * 0.5 + u
        e = np.sqrt(np.sum(u.reshape(-1) ** 2))
        u[0, :] = 0
        u[:, 0] = e
    return u


def read_only(u, n):
    y = np.concatenate([u.T, u.T])
    return y.ravel() * n, y


def kept_as_copy(u, n):
    y = np.roll(u.T, n)
    z = y.ravel().copy()
    y[0] = 1
    return y, z


def in_order_again(u, n):
    y = np.ascontiguousarray(np.roll(u.T, n))
    y.ravel()[3] = 9
    return y


@pytest.mark.parametrize("function", [reshaped_and_gone, read_only, kept_as_copy, in_order_again])
def test_reshapes_that_nobody_sees_change(function: Any) -> None:
    x = copy.deepcopy(A)
    assert_same(accelerate(function)(x, 2), function(A, 2), "result")


@pytest.mark.parametrize("lay", [lambda a: a, lambda a: a.T, lambda a: a[::2], lambda a: a[:, 1]])
def test_reshapes_copy_as_they_are_told(lay: Callable[[Any], Any]) -> None:
    def copied(x):
        y = x.reshape(-1, copy=True)
        y[0] = 9
        z = np.reshape(x, x.shape, copy=True)
        z += 1
        return y, z

    def seen(x):
        y = x.reshape(-1, copy=False)
        y[0] = 9
        return y

    for fun, fails in ((copied, False), (seen, lay(A).ndim == 2 and not lay(A).flags.c_contiguous)):
        mine, others = lay(A.copy()), lay(A.copy())
        if fails:
            with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
                accelerate(fun, target="cpu")(others)
        else:
            assert_same(accelerate(fun, target="cpu")(others), fun(mine), "result")
        assert_same(others, mine, "argument")


def test_a_number_is_rolled() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accelerate(lambda x: np.roll(np.where(x > 0, 0.5, np.sum(x)), 1))(2.0) == 0.5
