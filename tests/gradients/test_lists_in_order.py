"""Derivatives of sorting and searching in lists: elements are read and stored at places that the data decide."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.errors import UntracedError
from untraced.testing import check_grads

X = np.array([0.3, -0.5, 1.2, 0.7, -0.1])


def weighted(xs):
    total = 0.0
    for i, v in enumerate(xs):
        total += (i + 1) * v * v
    return total


def by_insertion(x):
    xs = list(x)
    for i in range(1, len(xs)):
        key, j = xs[i], i - 1
        while j >= 0 and xs[j] > key:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = key
    return weighted(xs)


def by_selection(x):
    xs = x.tolist()
    for i in range(len(xs)):
        least = i
        for j in range(i + 1, len(xs)):
            if xs[j] < xs[least]:
                least = j
        xs[i], xs[least] = xs[least], xs[i]
    return weighted(xs)


def by_parts(x):
    xs = [v for v in x]
    waiting = [(0, len(xs) - 1)]
    while waiting:
        low, high = waiting.pop()
        if low >= high:
            continue
        i = low
        for j in range(low, high):
            if xs[j] < xs[high]:
                xs[i], xs[j] = xs[j], xs[i]
                i += 1
        xs[i], xs[high] = xs[high], xs[i]
        waiting.append((low, i - 1))
        waiting.append((i + 1, high))
    return weighted(xs)


def by_insert(x):
    xs = []
    for v in x:
        k = 0
        while k < len(xs) and xs[k] < v:
            k += 1
        xs.insert(k, v)
    return weighted(xs)


def found_by_halves(x):
    xs = sorted(x)
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < 0.5:
            low = middle + 1
        else:
            high = middle
    return xs[low] ** 2


def largest_of_tuples(x):
    pairs = [(v, v * v) for v in x]
    best = 0
    for i in range(1, len(pairs)):
        if pairs[i][0] > pairs[best][0]:
            best = i
    return pairs[best][1]


def without_one(x):
    xs = list(x)
    k = 0
    while xs[k] < 1.0:
        k += 1
    del xs[k]
    return weighted(xs)


def of_least_edges(weights):
    """The list belongs to the function around."""
    leader, edges, total = list(range(4)), [(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)], 0.0

    def found(k):
        while leader[k] != k:
            k = leader[k]
        return k

    for e in np.argsort(weights):
        a, b = edges[e]
        if found(a) != found(b):
            leader[found(a)] = found(b)
            total += weights[e] ** 2
    return total


def yielded(x):
    def positive():
        for v in x:
            if v > 0:
                yield v * v

    total = 0.0
    for v in positive():
        total = 0.5 * total + v
    return total * sum(positive())


def filtered(x):
    limit = 0.1
    small = list(filter(lambda v: v < limit, x))
    return sum(map(lambda v: v**3, filter(lambda v: v > limit, x))) * small[0] + len(small) * x[1]


def of_entries(x):
    entries = {0: x[:2] * 2.0, 3: np.sin(x[1:3])}
    return np.sum(entries[3 * int(x[2] > 1)] ** 2) * {1: x[0], 0: x[1]}[int(x[3] > 1)]


SORTS = [by_insertion, by_selection, by_parts, by_insert]
OTHERS = [found_by_halves, of_least_edges, largest_of_tuples, without_one, yielded, filtered, of_entries]


@pytest.mark.parametrize("f", [*SORTS, *OTHERS])
def test_derivatives(f) -> None:
    check_grads(f, (X,), order=2 if f in (by_insertion, yielded, filtered) else 1)
    np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-12)


@pytest.mark.parametrize("f", SORTS)
def test_the_derivative_of_a_sum_in_order(f) -> None:
    expected = 2 * X * (np.argsort(np.argsort(X)) + 1)
    np.testing.assert_allclose(grad(f)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(f))(np.stack([X, -X]))[0], expected, rtol=1e-12)


def test_an_entry_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        grad(lambda x: {0: x[0], 2: x[1]}[int(x[2])])(X)


def test_a_generator_by_data_under_a_name_is_refused() -> None:
    """It could be consumed twice, and would be empty then."""

    def f(x):
        def positive():
            for v in x:
                if v > 0:
                    yield v

        found = positive()
        return sum(found) + sum(found)

    with pytest.raises(UntracedError, match="yields by data"):
        grad(f)(X)
