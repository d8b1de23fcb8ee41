"""`x is y`: names of one array, views, arguments passed twice, bools of Python; containers that contain themselves."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, assert_same, check

from untraced import accelerate

X = np.array([1.0, -2.0, 3.0])


@dataclass
class Point:
    v: int
    left: Any = None
    right: Any = None


CASES = Cases()


def twice() -> tuple[Any, ...]:
    x = X.copy()
    return x, x


@CASES(twice, (X, X.copy()), lambda: (X, X[:]), (3, 3), (2.0, 3.0), (X, 1.0))
def two_arguments(a, b):
    return a is b, a is not b


@CASES(
    *(lambda v=v: (v, v) for v in ([1, 2], {"a": X}, (X, 1), Point(1, None), {1, 2})), ([1], [1]), (Point(1), Point(1))
)
def two_containers(a, b):
    return a is b, [a][0] is not b, a is not None and (a == b) is True


@CASES(lambda: (Point(1, Point(2), Point(3)),))
def common_ancestor(root):
    return ancestor(root, root.left, root.right) is root, ancestor(root, root.left, root.left) is root.left


def ancestor(root, p, q):
    if root is None or root is p or root is q:
        return root
    left, right = ancestor(root.left, p, q), ancestor(root.right, p, q)
    return root if left is not None and right is not None else left or right


@CASES(twice, (X, X.copy()))
def pairwise(a, b):
    if a is b:
        return np.sum(a * a)
    return np.sum(np.abs(a - b))


@CASES((X,))
def views(a):
    b, c = a, a[:]
    z = np.zeros(3)
    same = a is b, np.asarray(a) is a, z is z, a is not None
    return same, a is c, a.T is a, a.view() is a, z is a, a[1:] is a[1:], a.reshape(3) is a, np.squeeze(a) is a


@CASES((X, 3), (X, 1))
def behind_a_branch(a, n):
    b = a
    if n > 2:
        b = a * 2
    return 1 if b is a else 0


@CASES((X,))
def behind_a_loop(a):
    b = a
    for i in range(3):
        b = b + 1 if i > 5 else b
    return b is a


@CASES((1.0, 2.0), (2.0, 1.0), (np.float64(1.0), 2.0))
def of_comparisons(a, b):
    return (a < b) is True, (a < b) is False, (a < b) is not True


@CASES((0,), (True,), (1.5,))
def of_numbers(n):
    zero = 0
    return n is zero, n is None, n is True


@CASES((1.5,), (2,), (X,), (np.float32(2),))
def of_kinds(x):
    return isinstance(x, ((int, (float,)), np.ndarray)), isinstance(x, int | float), isinstance(x, (object, "no class"))


@CASES((2,))
def of_no_class(x):
    return isinstance(x, (float, "no class"))


@CASES(lambda: (X.copy(), np.eye(3)), lambda: (X.copy(), X), lambda: (np.eye(3), np.ones((3, 3))))
def product_in_place(a, b):
    a @= b
    return a


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function, arguments", CASES.found)
def test_as_numpy(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def contains_itself(x):
    x.append(x)
    return x


@pytest.mark.parametrize("target", TARGETS)
def test_a_list_that_contains_itself(target: str) -> None:
    found = accelerate(contains_itself, target=target)([X])
    assert found[1] is found and len(found) == 2


def twice_itself(x):
    return x.extend(x) or [v * 2 for v in x]


@pytest.mark.parametrize("target", TARGETS)
def test_a_list_beside_itself(target: str) -> None:
    given = [X, X + 1]
    assert_same(accelerate(twice_itself, target=target)(copy.deepcopy(given)), twice_itself(given), "result")


def _written_and_returned(a, b):
    a[0] = 7.0
    return a, b * 2.0, a * 2.0


def _written_through_a_name(a, b):
    c = b
    c += a
    return c


def _written_in_a_branch(a, b):
    if a.sum() > 1.0:
        a *= 2.0
    return a


def _with_a_list(a, b, found=None):
    found = [] if found is None else found
    found.append(b.sum())
    a[a > 1.0] -= 1.0
    return a


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fun", [_written_and_returned, _written_through_a_name, _written_in_a_branch, _with_a_list])
def test_arrays_that_are_written_and_returned_are_the_callers(fun: Any, target: str) -> None:
    fast = accelerate(fun, target=target)
    for lay in (lambda x: x, lambda x: x[::-1], lambda x: np.tile(x, 5000)):
        mine, others = ([lay(X.copy()), lay(X + 1.0)] for _ in range(2))
        for _ in range(3):
            expected, found = fun(*mine), fast(*others)
            for one, other in zip(*((r if type(r) is tuple else (r,)) for r in (expected, found)), strict=True):
                assert [one is x for x in mine] == [other is x for x in others]
            assert_same(found, expected, "result")
            assert_same(others, mine, "arguments")


def _in_containers(a, b):
    a[0] = 5.0
    b += a
    return [a, {"b": b, "sum": a + b}, (b, [a])]


def _in_the_callers_own(a, found):
    a *= 2.0
    found["a"] = a
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_that_are_returned_in_containers_are_the_callers(target: str) -> None:
    a, b = X.copy(), X + 1.0
    first, named, (last, (inner,)) = accelerate(_in_containers, target=target)(a, b)
    assert first is a and inner is a and named["b"] is b and last is b
    np.testing.assert_array_equal(named["sum"], a + b)
    found: dict[str, Any] = {}
    assert accelerate(_in_the_callers_own, target=target)(a, found) is found and found["a"] is a


OUTSIDE = [[1.0, 2.0], [3.0]]
NAMED = {"a": OUTSIDE[0], "b": X}


@pytest.mark.parametrize("target", TARGETS)
def test_containers_outside_that_are_returned_are_themselves(target: str) -> None:
    def part(x: Any) -> Any:
        return OUTSIDE[0], x * 2.0

    def dicts(x: Any) -> Any:
        return {"of": NAMED, "x": x, "rows": [r for r in OUTSIDE]}

    def whole(x: Any) -> Any:
        return OUTSIDE if x is not None else None

    assert accelerate(part, target=target)(1.5)[0] is OUTSIDE[0]
    made = accelerate(dicts, target=target)(1.5)
    assert made["of"] is NAMED
    assert [a is b for a, b in zip(made["rows"], OUTSIDE, strict=True)] == [True, True]
    assert accelerate(whole, target=target)(1.5) is OUTSIDE
