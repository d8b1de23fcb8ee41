"""Arrays of shape (): they are arrays, not numbers, where NumPy says so, and are written in place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap

X = np.array([3.0, -1.0, 2.0, 0.5])
M = np.arange(6.0).reshape(2, 3)
S = np.float64(2.5)
B = np.array(2.5)
I = np.array(2)
OUTSIDE = np.array(4.0)


def updated(x: Any) -> Any:
    y = x
    y += 1
    return x * 2, y


def stored(x: Any) -> Any:
    x[...] = 3
    y = x + 1
    x[()] = y
    return y


def total(x: Any) -> Any:
    acc = np.zeros(())
    for i in range(x.shape[0]):
        acc += x[i]
    return acc


def total_if(x: Any) -> Any:
    acc = np.zeros(())
    for i in range(x.shape[0]):
        if x[i] > 0:
            acc += x[i]
    return acc


def becomes_a_number(x: Any) -> Any:
    acc = np.array(0.0)
    for v in x:
        acc = acc + v
    return acc


def counts_down(x: Any) -> Any:
    err = np.asarray(x.sum())
    n = 0
    while err > 0.1:
        err /= 2
        n += 1
    return err, n


def out(x: Any) -> Any:
    acc = np.empty(())
    r = np.add(x[0], x[1], out=acc)
    np.multiply(r, 2, out=acc)
    return r, acc


def two_names(x: Any) -> Any:
    a = np.zeros(())
    a += x.sum()
    b = a
    b += 1
    return a


def element_views(x: Any) -> Any:
    v = x[0, 1, ...]
    w = x[:1, :1].squeeze()
    v[...] = 9
    w += 5
    return v, w, x[1, 2], x[1, 2, ...]


def reshaped(x: Any) -> Any:
    v = x[:1].reshape(())
    v *= 10
    return v.copy(), v.astype(int), v.T, v.real, v.view(np.int64)


def queries(x: Any) -> Any:
    s = np.asarray(x.sum())
    return s.shape, s.ndim, s[()], s.item(), float(s), isinstance(s, np.ndarray), np.isscalar(s), type(s) is np.ndarray


def indices(x: Any, i: Any) -> Any:
    return x[i], x[i:], x[: np.array(3)], [x[j] for j in range(np.array(2))], x[np.array([0, 1])[i - 2]]


def decides(x: Any) -> Any:
    if np.array(True) and np.asarray(x.sum() > 0):
        return np.asarray(x.sum())
    return np.zeros(())


def number_or_array(x: Any) -> Any:
    y = np.array(1.0) if x.sum() > 0 else np.float64(2.0)
    return y + 1


def contained(x: Any) -> Any:
    d = {"a": np.asarray(x[0]), "b": [np.copy(x[1]), x[2]]}
    d["a"] += 1
    return d


def from_outside(x: Any) -> Any:
    return OUTSIDE, x * OUTSIDE, OUTSIDE.copy()


def made(x: Any) -> Any:
    return np.where(x > 0, x, 0), np.full((), x), np.zeros_like(x), np.array(x), np.round(x), np.clip(x, 0, 1), -x


def given_back(x: Any) -> Any:
    return x, np.transpose(x), np.squeeze(x), x[...], x[None], x[()], np.conj(x)


def not_iterable(x: Any) -> Any:
    return [v for v in x]  # noqa: C416


def largest(x: Any) -> Any:
    return max(x, 1.0) * 2, max(1.0, x), min([x, x + 1])


def without_length(x: Any) -> Any:
    return len(x)


def written_and_old(x: Any) -> Any:
    old = x.copy()
    y = x * 3
    x[...] = y
    return old, y


def products(x: Any) -> Any:
    total = np.einsum("ij,ij->", x, x, optimize=True)
    total += 1
    of_list = np.einsum("ij,j->", x, [1, 2, 3], optimize=True)
    return total, of_list, np.einsum("ij,ij->", x, x), np.einsum("ij->", x, optimize=True)


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((f, (x,)) for f in (updated, made, given_back, largest, not_iterable, without_length) for x in (B, S, I)),
    *((f, (B,)) for f in (stored, written_and_old)),
    (products, (M,)),
    *((f, (X,)) for f in (total, total_if, becomes_a_number, two_names, counts_down, out, reshaped, queries, decides)),
    *((f, (X,)) for f in (number_or_array, contained, from_outside)),
    (element_views, (M,)),
    (indices, (X, I)),
]


def same(mine: Any, theirs: Any) -> None:
    assert type(mine) is type(theirs)
    if isinstance(theirs, tuple | list):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b)
    elif isinstance(theirs, dict):
        assert list(mine) == list(theirs)
        for k in theirs:
            same(mine[k], theirs[k])
    else:
        np.testing.assert_array_equal(mine, theirs, strict=isinstance(theirs, np.ndarray))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize(("f", "args"), PROGRAMS)
def test_as_numpy(f: Callable[..., Any], args: tuple[Any, ...], target: str) -> None:
    given, theirs = copy.deepcopy(args), copy.deepcopy(args)
    compiled = accelerate(f, target=target)
    try:
        expected = f(*theirs)
    except Exception as error:
        with pytest.raises(type(error)):
            compiled(*given)
        return
    same(compiled(*given), expected)
    same(given, theirs)
    same(compiled(*copy.deepcopy(args)), expected)  # the shortened call


def test_source_says_so() -> None:
    assert "return np.asarray(" in accelerate(lambda x: np.asarray(np.sum(x))).source(X)
    assert "asarray" not in accelerate(lambda x: np.sum(x)).source(X)


def test_transformations() -> None:
    same(grad(lambda x: x * x)(B), np.array(5.0))
    same(vmap(lambda x: np.asarray(np.sum(x)))(M), M.sum(1))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_returned_argument_is_that_array(target: str) -> None:
    f = accelerate(lambda x: (x, x[...], x + 0), target=target)
    x = B.copy()
    itself, view, other = f(x)
    assert itself is x and view is not x and type(other) is np.float64
    view[...] = 0
    assert x == 0 and other == B
