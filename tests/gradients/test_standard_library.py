"""Derivatives of functions that use Python's library: heaps, caches, tuples in order, one of two lists."""

from __future__ import annotations

import functools
import heapq
import math

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads

X = np.array([0.7, 0.5, 0.9, 1.2, 0.8, 0.4])
LENGTHS = np.array([[0, 1.0, 4.0, 0], [1.0, 0, 2.0, 6.0], [4.0, 2.0, 0, 3.0], [0, 6.0, 3.0, 0]])


def heap_operations(x):
    heap = []
    s = 0.0
    for i, v in enumerate(x):
        heapq.heappush(heap, (np.sin(3 * v), i))
        if i % 3 == 2:
            a, j = heapq.heappop(heap)
            s += a * (j + 1.0)
    other = [v * 2 for v in x]
    heapq.heapify(other)
    s += heapq.heappushpop(other, x[0]) ** 3 + heapq.heapreplace(other, x[1]) * 5
    for k, v in enumerate(other):  # how it lies in the list
        s += v * v * (k + 1)
    return s + 2 * heapq.nsmallest(2, x)[1] + heapq.nlargest(3, x)[2] ** 2


def shortest_path(x):
    lengths = LENGTHS * np.outer(x[:4], x[:4])
    found = [np.inf] * 4
    found[0] = 0.0
    waiting = [(0.0, 0)]
    while waiting:
        d, u = heapq.heappop(waiting)
        if d > found[u]:
            continue
        for v in range(4):
            if LENGTHS[u, v] > 0 and d + lengths[u, v] < found[v]:
                found[v] = d + lengths[u, v]
                heapq.heappush(waiting, (found[v], v))
    return found[3]


def order_of_tuples(x):
    best = (x[0], 0.0)
    for k in range(1, 6):
        if (np.floor(2 * x[k]), x[k]) > best:
            best = (np.floor(2 * x[k]), x[k] ** 2)
    return best[1]


def remembered(x):
    @functools.lru_cache(maxsize=None)
    def c(k):
        return x[k] if k < 2 else c(k - 1) * x[2] + c(k - 2)

    @functools.cache
    def best(i, j):
        if i == 0 or j == 0:
            return 0.0
        return max(best(i - 1, j) + x[i % 4], best(i, j - 1) * x[j % 4])

    return c(24) + best(6, 6)


def remembered_in_a_branch(x):
    @functools.cache
    def f(k):
        return np.sin(x[k])

    s = f(1) * f(1) if x[0] > 0 else f(2)
    for _ in range(3):
        s += f(1) * f(3)
    return s + f(1)


def one_of_two_lists(x):
    low, high = [], []
    for v in x:
        (low if v < 0.75 else high).append(v)
    return sum(v * v for v in low) + 3 * sum(high)


def functions_of_math(x):
    total = math.fsum(v * v for v in x) * math.dist(x[:2], (x[2], 1.0)) ** 2
    for v in x:
        total += 0.0 if math.isclose(v, x[1], abs_tol=1e-3) or math.isclose(v, math.inf) else v**3
    return total + (math.sumprod(x, x[::-1]) if hasattr(math, "sumprod") else 0.0)


PROGRAMS = [
    functions_of_math,
    heap_operations,
    shortest_path,
    order_of_tuples,
    remembered,
    remembered_in_a_branch,
    one_of_two_lists,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    check_grads(f, (X,), order=1)
    np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-12)


def test_the_second_derivative_of_a_shortest_path():
    check_grads(shortest_path, (X,), order=2)


def test_an_empty_heap():
    def f(x):
        heap = [x[0]]
        heapq.heappop(heap)
        return heapq.heappop(heap)

    with pytest.raises(IndexError, match="index out of range"):
        grad(f)(X)
