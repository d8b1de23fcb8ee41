"""`type` and `isinstance` of what the reader has values of its own for; blocks of one array, dtypes with fields."""

from __future__ import annotations

import collections.abc
import functools
import types
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Arguments, Cases, check

from untraced import accelerate

CASES = Cases()
X = np.array([3.0, -1.0, 2.5])


@CASES((4.0,), (np.float64(5.0),))
def ranges_of_the_run(n: Any) -> Any:
    r = range(int(n))
    return isinstance(r, range), isinstance(r, list), isinstance(r, collections.abc.Sequence), type(r) is range


@CASES((2.0,), (np.float64(3.0),))
def lists_that_grow(x: Any) -> Any:
    y = []
    while x < 100:
        y.append(x)
        x = x * 2
    return isinstance(y, list), isinstance(y, tuple), isinstance(y, collections.abc.Sequence), type(y) is list


@CASES((X,))
def iterators_that_are_held(x: Any) -> Any:
    e, z, m, r = enumerate([1, 2]), zip([1], [2]), map(abs, [1]), reversed([1])
    listed = [isinstance(i, list) for i in (e, z, m, r, iter([1]), iter(x))]
    return listed, [isinstance(i, collections.abc.Iterator) for i in (e, z, m)], type(e) is enumerate


@CASES((X,))
def generators(x: Any) -> Any:
    def pieces() -> Any:
        yield x[0]

    g = pieces()
    return isinstance(g, types.GeneratorType), isinstance(g, list), isinstance((v for v in x), types.GeneratorType)


@CASES((X,))
def views(x: Any) -> Any:
    d = {"a": x[0]}
    found = isinstance(d.items(), collections.abc.Iterable), isinstance(d.keys(), list)
    kinds = type(d.keys()) is type({}.keys()), type(x.flat) is np.flatiter
    return found, kinds, isinstance(x.flat, np.ndarray), isinstance(np.ndindex(2), np.ndindex)


@CASES((X,))
def functions(x: Any) -> Any:
    def f(y: Any) -> Any:
        return y + x

    p = functools.partial(f, 1)
    found = isinstance(f, types.FunctionType), isinstance(f, collections.abc.Callable), isinstance(f, str)
    return found, isinstance(p, functools.partial), type(p) is functools.partial, type(f) is types.FunctionType


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_as_numpy(function: Any, arguments: Arguments, target: str) -> None:
    check(function, arguments, target)


def test_the_class_itself_is_pythons() -> None:
    kinds = accelerate(lambda x: (type(x.flat), type(zip([1], [2])), type(enumerate(x)), type((v for v in x))))(X)
    assert kinds == (np.flatiter, zip, enumerate, types.GeneratorType)


def a_block_of_one_array(x: Any) -> Any:
    return np.block(x)


@pytest.mark.parametrize("target", TARGETS)
def test_a_block_is_a_copy(target: str) -> None:
    made = accelerate(a_block_of_one_array, target=target)(X)
    assert np.array_equal(made, X) and not np.shares_memory(made, X)


def dtypes(x: Any) -> Any:
    made = np.dtype([("a", np.int16), ("b", "f8", (2,))]), np.promote_types("i4", "S8"), np.dtype("M8[ns]")
    aligned = np.dtype([("a", "f8"), ("b", "i1")], align=True)
    return *made, np.dtype("U5"), np.dtype(object), aligned, np.dtype(np.int16), x.dtype


@pytest.mark.parametrize("target", TARGETS)
def test_dtypes_with_sizes_fields_and_units(target: str) -> None:
    assert accelerate(dtypes, target=target)(X) == dtypes(X)
