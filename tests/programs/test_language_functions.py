"""Control flow, logic, closures and constants in small functions."""

from __future__ import annotations

import bisect
import heapq
import math
import pickle
import string
import typing
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate, grad, vmap

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)

I = np.arange(8)


@CASES((5,))
def fact_rec(n):
    return 1 if n <= 1 else n * fact_rec(n - 1)


@CASES((12345,))
def digitsum(n):
    s = 0
    while n > 0:
        s += n % 10
        n //= 10
    return s


@CASES((30,))
def sieve(n):
    is_p = np.ones(n + 1, dtype=bool)
    is_p[:2] = False
    i = 2
    while i * i <= n:
        if is_p[i]:
            is_p[i * i :: i] = False
        i += 1
    return is_p


@CASES((np.frombuffer(b"hello world", dtype=np.uint8).copy(),))
def crc(data):
    c = 4294967295
    for b in data:
        c ^= int(b)
        for _ in range(8):
            if c & 1:
                c = c >> 1 ^ 3988292384
            else:
                c >>= 1
    return c ^ 4294967295


@CASES((A,))
def for_else(x):
    for i in range(len(x)):
        if x[i] > 3.5:
            r = i
            break
    else:
        r = -1
    return r


@CASES((A,), (A - 10,))
def while_else(x):
    i = 0
    while i < len(x):
        if x[i] > 2:
            break
        i += 1
    else:
        return -1
    return i


@CASES((A, 3))
def walrus(x, n):
    if (m := len(x)) > n:
        return x * m
    return x


@CASES((A,))
def walrus2(x):
    while (s := x.sum()) > 1:
        x = x / 2
    return (s, x)


@CASES((A,), (-A,))
def walrus_behind_and(x):
    n = k = 0
    while np.sum(x * x) > 0.1 and (n := n + 1) < 5:
        x = x * 0.7
    if np.sum(x) > 0 and (n := n + 1) < 50:
        x = x + 1
    while (k := k + 1) < 10 and (n := n + k) < 20:
        x = x - 1
    return x, n, k


@CASES((A,), (-A,))
def walrus_in_branches(x):
    n = 0
    for i in range(4):
        y = x if x[i] > 0 or (n := n + 1) < 3 else x * 2
        x = y * 0.9
    z = (m := n + 1) if x[1] > 1 else (m := n - 1)
    if not (x[0] < 0.1 or (n := n + 1) > 4):
        n = n + 10
    return x, n, z, m, x[2] < 100 and (n := n + 5)


@CASES((A,), (-A,))
def walrus_that_may_not_run(x):
    if x[1] > 0:
        n = 1.0
    else:
        n = 2.0
    if x[2] > 1.5 and (n := x[2] * 3.0) > 0:
        x = x + 1
    t = 0.0
    for v in x:
        if 0.1 < v < (t := t + 1.0):
            n = n + t
    return float(n), x, float(t)


@CASES((A, 6), (A, 5), (A, 7))
def zip_strict(x, n):
    s = 0.0
    for a, b in zip(x, range(n), strict=True):
        s += a * b
    return s, [a for a, _ in zip((v for v in x), x[:n], strict=True)]


@CASES((1, 2), (0, 5), (0, 0))
def andor(a, b):
    return (a and b, a or b, not a, a and b or 7)


@CASES((A, "sum"), (A, "mean"))
def modes(x, mode):
    if mode in ("sum", "total"):
        return x.sum()
    elif mode == "mean":
        return x.mean()
    raise ValueError(f"unknown mode {mode!r}")


@CASES((A, "bad"))
def modes2(x, mode):
    if mode == "sum":
        return x.sum()
    raise ValueError(f"unknown mode {mode!r}")


@CASES((A, None), (A, A))
def opt(x, y=None):
    if y is None:
        y = np.ones_like(x)
    return x + y


@CASES((A,))
def kwonly(x, /, *, scale=2.0):
    return x * scale


@CASES((A, 2.0, 3.0))
def varargs(x, *cs):
    r = x
    for c in cs:
        r = r * c
    return (r, len(cs))


@CASES((A,))
def kwargs_fn(x):

    def inner(a, *args, b=1, **kw):
        return a + b + sum(args) + kw.get("c", 0) + sum(kw.values())

    return inner(x, 1, 2, b=3, c=4, d=5)


@CASES((A,))
def nonloc(x):
    count = 0
    total = 0.0

    def add(v):
        nonlocal count, total
        count += 1
        total = total + v

    for i in range(3):
        add(x[i])
    return (count, total)


@CASES((A,))
def closure_state(x):
    acc = []

    def push(v):
        acc.append(v)
        return len(acc)

    push(x)
    push(x * 2)
    return (acc, sum(acc))


@CASES((2.5,))
def mathc(a):
    return (
        math.pi * a,
        math.e,
        math.tau,
        math.inf,
        math.floor(a),
        math.ceil(a),
        math.gcd(12, 18),
        math.comb(5, 2),
        math.factorial(5),
        math.prod([1, 2, 3]),
        math.fsum([0.1, 0.2]),
        math.hypot(a, 1.0),
        math.isclose(1.0, 1.0),
        string.ascii_lowercase[:3],
        math.sqrt(a),
        math.isqrt(10),
        math.log(a),
        math.log(a, 2),
        math.copysign(1, -a),
        math.modf(2.5),
        math.trunc(a),
        math.degrees(a),
        math.dist([0.0, 0.0], [3.0, 4.0]),
    )


@CASES((M,))
def slices(m):
    s = slice(1, None)
    e = ...
    n = np.newaxis
    t = (s, slice(None, None, 2))
    return (m[s], m[e, 0], m[n].shape, m[t], m[s, n, :].shape, m[:, None, :, None].shape, m[-1, ::-1], m[s.start :])


GK = 3.0

GA = np.arange(6.0)


@CASES((A,))
def globs(x):
    global GK
    return x * GK + GA


@CASES((A,))
def asserts(x):
    assert x.ndim == 1, "need 1d"
    assert len(x) > 2
    if x.ndim != 1:
        raise ValueError("no")
    return x


@CASES((M,))
def asserts2(x):
    assert x.ndim == 1, "need 1d"
    return x


@CASES((5,), (0,))
def fn_none(n):
    if n:
        return
    return None


@CASES((3,))
def sizes(n):
    return (np.zeros(n), np.arange(n), np.eye(n), np.ones((n, n)))


# Python's numbers


@CASES((25,))
def wide_when_translated(n):
    return fact_rec(n), np.iinfo(np.uint64).max


@CASES((5,), (15,), (-25,))
def moduli_and_places(n):
    return pow(3, abs(n), 7), round(n, -1), round(n, 1), complex("1+2j") * n


@CASES((-2.0,), (2.0,))
def fractional_powers(x):
    return x**0.5, (-x) ** (1 / 3)


@CASES((1j, 1.0), (1.0, None), ("a", 1.0), (np.float64(1.0), None))
def no_order(x, y):
    return x < y


@CASES((1,), (1.5,), (A,), ([1],))
def attributes_of_numbers(x):
    return getattr(x, "shape", None), hasattr(x, "ndim"), hasattr(x, "real"), x == True, x == None  # noqa: E711, E712


@CASES((2.5,), (np.float64(np.nan),), (-3,), (np.int64(4),), (0,), (True,))
def answers_are_pythons(x):
    return math.isnan(x), [math.isfinite(v) for v in (x, 1.0)], float(x).is_integer(), math.isinf(x) + 1, pow(2, int(x))


@CASES((np.float64(2.5),), (np.int64(3),), (np.float32(1.0),))
def methods_of_numbers(x):
    names = ("is_integer", "as_integer_ratio", "bit_length", "bit_count", "hex", "numerator", "nothing")
    return [hasattr(x, name) for name in names], x.is_integer(), isinstance(x, np.floating) and x.as_integer_ratio()


@CASES((np.float64(2.5),))
def no_method_of_a_number(x):
    return x.bit_count()


@CASES((3,), (-5,))
def wide_constants(n):
    return n + 2**63, n ^ (n << 13) & 0xFFFFFFFFFFFFFFFF, n < 2**70, n * 2.0**70


@CASES((2,), (-1,))
def shifts(n):
    return 5 << n, 0 << n


@CASES((1j,), (2.0,))
def extreme_of_complex(z):
    return max(z, 1j) if isinstance(z, complex) else max(z, 1)


@CASES((M,))
def truth_of_rows(x):
    return any(row > 0 for row in x)


# places that only the run knows


@CASES(([0.0, 1.0, 2.5, 4.0], 2.5), ([0.0, 1.0, 2.5], -1.0), ([3.0, 1.0, 2.0], 1.5), ([], 1.0), (A, 0.3), ((1,), 2))
def searched(a, x):
    return bisect.bisect(a, x), bisect.bisect_left(a, x), bisect.bisect_right(a, x, 0, len(a) // 2)


@CASES((["a", "c"], "b"), ([0.0, 1.0], np.arange(3.0)), ([1.0, 2.0], 1.5))
def searched_from_the_back(a, x):
    known = bisect.bisect([3, 2, 1], -2, key=lambda v: -v), bisect.bisect_left(["a", "c"], "b")
    return known, bisect.bisect(a, x, key=lambda v: v), bisect.bisect(a, x, -1)


@CASES((2,), (0,))
def searched_with_keys(k):
    words, pairs = ["a", "c", "e"], [(0, "a"), (1, "b"), (4, "c")]
    known = bisect.bisect([3, 2, 1], -2, key=lambda v: -v), bisect.bisect_left(words, "b")
    return known, bisect.bisect(range(10), k, key=lambda v: v * v), bisect.bisect(pairs, (k, ""))


@CASES((np.linspace(0, 9, 10), np.array([0.5, 8.9, 3.0])), (np.linspace(0, 9, 10), np.array([12.0])))
def pieces(x, v):
    knots, slopes = list(x), [b - a for a, b in zip(x, x[1:] ** 2)]
    out = []
    for t in v:
        i = bisect.bisect(knots, t) - 1
        out.append(knots[i] + slopes[i] * (t - knots[i]))
    return out


@CASES((np.array([0.3, 1.2, 0.7]),), (np.array([0.3, -5.2, 0.7], np.float32),), (np.array([0.3, 9.0, 0.7]),))
def chosen_by_the_data(x):
    numbers, mixed, pairs = [x[0], x[1] * 2, x[2] + 1], [2, x[1], 3.0], [(x[0], 1), (x[1], 2), (x[2], 3)]
    huge, words = [2**70, 1, 2], ["a", "b", "c"]
    i, j = int(np.argmin(np.abs(x - 1.0))), int(x[1])
    return numbers[i], numbers[i - 1], mixed[i], pairs[i], huge[i], words[i], numbers[j]


@CASES((np.array([0.3, 1.2, 0.7]),))
def a_chosen_array_is_the_element(x):
    rows = [x.copy(), x * 2]
    rows[int(x[1])] += 1.0
    row = rows[int(x[1])]
    row[0] = 5.0
    return rows


# what only CPython can call


@CASES(([5, 1, 7],))
def heap(a):
    heapq.heapify(a)
    smallest = heapq.heappop(a)
    bisect.insort(a, 6)
    return smallest, a, bisect.bisect(a, 6)


@CASES((A,), (M,))
def text_and_memory(x):
    y = x * 2
    y.setflags(write=False)
    z = x * 3
    z.resize((3, 2))
    same = pickle.loads(pickle.dumps(x))
    return np.array2string(x), repr(y), x.flags.c_contiguous, y.flags.writeable, z, np.shares_memory(x, x[1:]), same + 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_functions(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def test_derivatives_of_searches_and_of_what_they_choose() -> None:
    def spline(y: Any, v: Any) -> Any:
        knots = [0.0, 1.0, 2.0, 3.0]
        slopes = [y[k + 1] - y[k] for k in range(3)]
        i = bisect.bisect(knots, v) - 1
        return y[i] + slopes[i] * (v - knots[i])

    y = np.array([1.0, 3.0, 2.0, 5.0])
    for transform in (grad(spline), accelerate(grad(spline), target="cpu")):
        np.testing.assert_allclose(transform(y, 1.25), [0.0, 0.75, 0.25, 0.0])
    slopes = vmap(grad(spline, argnums=1), in_axes=(None, 0))(y, np.array([0.5, 1.5, 2.5]))
    np.testing.assert_allclose(slopes, [2.0, -1.0, 3.0])


def test_attributes_that_inner_functions_do_not_have() -> None:
    def f(x: Any) -> Any:
        g = lambda t: t * 2  # noqa: E731
        inner = getattr(g, "subfun", g)
        return inner(x) if not hasattr(g, "name") and hasattr(g, "__name__") else x

    for target in ("numpy", "cpu"):
        np.testing.assert_array_equal(accelerate(f, target=target, fallback="error")(np.ones(2)), 2.0)

    def missing(x: Any) -> Any:
        g = lambda t: t  # noqa: E731
        return g.subfun(x)

    with pytest.raises(AttributeError, match="'function' object has no attribute 'subfun'"):
        accelerate(missing)(np.ones(2))


def test_isinstance_of_callable() -> None:
    def f(x: Any, g: Any = np.sin) -> Any:
        return g(x) if isinstance(g, typing.Callable) and not isinstance(x, typing.Callable) else x

    np.testing.assert_array_equal(accelerate(f, target="numpy")(np.ones(2)), np.sin(np.ones(2)))
