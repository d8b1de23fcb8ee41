"""Reverse derivatives of loops whose number of trips only the run can tell, in one window of the tape and in many."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_helpers import active_leaves, check_source, read_program

import untraced
from untraced.translator.derive import reverse, trips
from untraced.translator.derive.tape import NeedTrip
from untraced.translator.ir import For, walk

RNG = np.random.default_rng(11)
X = RNG.uniform(0.4, 1.4, 6)


def newton(x):
    y = np.ones_like(x)
    while np.max(np.abs(y * y - x)) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def relax(u, k):
    v = u.copy()
    while True:
        old = v.copy()
        v[1:-1] = v[1:-1] + k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
        v[0] = v[1] * 0.5
        v[-1] = v[-2] * v[-2]
        if np.max(np.abs(v - old)) < 2e-2:
            break
    return v


def early_return(x):
    y = x
    for i in range(30):
        y = np.sin(y) * 1.3 + x[i % 6] * 0.1
        if np.sum(y) > 6.0:
            return y * i
    return y


def with_continue(x):
    s = 0.0
    i = 0
    while s < 3.0:
        i += 1
        if i % 3 == 0:
            continue
        s = s + s * s * 0.1 + np.sin(x[i % 6]) * x[0]
        s += 0.3
    return s


def counted_by_data(x):
    n = int(np.sum(x > 0.5)) + 3
    y = x
    for i in range(n):
        y = np.sin(y) * x * (0.1 * i + 1.0)
    return y


def reversed_by_data(x):
    n = int(np.sum(x > 0.5)) + 3
    y = x
    for i in reversed(range(1, 3 * n, 2)):
        y = np.sin(y) * x * (i * 0.05 + 0.5)
    return y


def downwards_by_data(x):
    n = int(np.sum(x > 0.5)) + 3
    y = 0.5
    for i in range(2 * n, 1, -3):
        y = np.sin(y) * x[i % 6] + y
    return y


def python_number(x):
    y = 0.3
    k = 2
    while y < 40.0:
        y = y * k + np.float32(0.5) * y
    return y * x


def nested(x):
    t = x
    for i in range(3):
        y = t
        while np.sum(y * y) > 0.5:
            y = y * np.cos(y) * 0.9
            z = 0.0
            while z * z < y[0]:
                z = z + 0.05 * x[1] + 0.02
            y = y * (0.1 * z + 0.5)
        t = t * x + y
    return t


def halves_an_argument(x, n):
    y = x
    while n > 1:
        n = n // 2
        y = np.sin(y) * x
    return y


def never(x):
    y = x * x
    while np.sum(y) > 1e3:
        y = y * y
    return y


CASES = [
    (newton, (X,)),
    (relax, (X, 0.21)),
    (early_return, (X,)),
    (with_continue, (X,)),
    (counted_by_data, (X,)),
    (reversed_by_data, (X,)),
    (downwards_by_data, (X,)),
    (python_number, (X,)),
    (nested, (X,)),
    (halves_an_argument, (X, 19)),
    (never, (X,)),
]


@pytest.mark.parametrize("window", [1024, 3])
@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives(fun, args, window, monkeypatch):
    monkeypatch.setattr(trips, "WINDOW", window)
    check_source(fun, *args, order=2 if window > 3 or fun in (newton, relax, reversed_by_data) else 1)


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_compiled_and_batched(fun, args):
    def loss(x, *rest):
        return np.sum(fun(x, *rest) ** 2)

    want = untraced.grad(loss)(*args)
    np.testing.assert_allclose(untraced.accelerate(untraced.grad(loss))(*args), want, rtol=1e-9)
    xs = np.stack([args[0], args[0] * 0.9, args[0][::-1] + 0.1])
    axes = (0, *(None,) * (len(args) - 1))
    with np.errstate(all="ignore"):  # lanes that have stopped compute on what they find, and drop it
        got = untraced.vmap(untraced.grad(loss), in_axes=axes)(xs, *args[1:])
    np.testing.assert_allclose(got, [untraced.grad(loss)(x, *args[1:]) for x in xs], rtol=1e-9)


def test_more_trips_than_one_tape_holds():
    def slow(x):
        y = x
        while y > 0.01:
            y = y * (1.0 - 0.001 * x)
        return y

    x = 0.8
    assert read_program(slow, x)(x)[0] == slow(x)
    g = untraced.grad(slow)
    n, y = 0, x
    while y > 0.01:
        y, n = y * (1.0 - 0.001 * x), n + 1
    assert n > 4 * trips.WINDOW
    factor = 1.0 - 0.001 * x
    want = factor**n - 0.001 * n * x * factor ** (n - 1)
    np.testing.assert_allclose(g(x), want, rtol=1e-9)
    np.testing.assert_allclose(untraced.accelerate(g)(x), want, rtol=1e-9)


def test_integers_of_the_caller_are_specialised_on_and_need_no_windows():
    def power(x, n):
        y = x
        for i in range(2 * n):
            y = np.sin(y) * x
        return y

    f = read_program(power, 0.5, 3).function
    with pytest.raises(NeedTrip):
        reverse.vjp(f, active_leaves(f))
    assert "first" not in untraced.grad(power).source(0.5, 3)


def test_only_what_decides_how_long_inner_loops_run_is_specialised_on():
    def grown(x, rate, n):
        for i in range(n):
            for _ in range(i):
                x = x + rate * np.sin(x)
        return np.sum(x)

    x, h = np.linspace(0.1, 0.5, 3), 1e-6
    d_x, d_rate = untraced.grad(grown, (0, 1))(x, 0.3, 4)
    want = (grown(x, 0.3 + h, 4) - grown(x, 0.3 - h, 4)) / (2 * h)
    assert d_rate == pytest.approx(want, rel=1e-8)
    assert np.sum(d_x) == pytest.approx((grown(x + h, 0.3, 4) - grown(x - h, 0.3, 4)) / (2 * h), rel=1e-8)


def test_a_linear_body_needs_no_tape():
    def halve(x):
        y = x
        while np.max(np.abs(y)) > 0.1:
            y = y * 0.5
        return np.sum(y)

    f = read_program(halve, X).function
    loops = [s for s in walk(reverse.grad(f, [0]).body) if isinstance(s, For)]
    assert len(loops) == 1
    np.testing.assert_array_equal(untraced.grad(halve)(X), np.full(6, 0.5**4))


def test_a_loop_with_break_keeps_a_tape_as_long_as_its_range():
    def until_large(x):
        s = 0.0
        for v in x:
            s = s + np.sin(s) * 0.5 + v * v
            if s > 2.0:
                break
        return s

    f = read_program(until_large, X).function
    source = untraced.grad(until_large).source(X)
    assert "first" not in source
    assert "np.empty(6)" in source
    check_source(until_large, X)
    assert active_leaves(f) == [0]


def test_flags_of_what_counts_in_the_second_derivative_of_a_loop_that_breaks():
    def root(a):
        y, n = a, 0
        while True:
            found = y - (y * y - a) / (2 * y)
            n += 1
            if abs(found - y) < 1e-13 or n > 50:
                break
            y = found
        return found * y

    slope = untraced.grad(lambda a: untraced.grad(root)(a) * a)
    np.testing.assert_allclose(slope(1.2), 1.0, rtol=1e-9)


def test_negation_of_a_comparison_in_a_second_derivative():
    def angle(x):
        return np.sum(np.arctan2(x, x * x + 1.0)) + np.sum(np.logaddexp(x, -x))

    np.testing.assert_allclose(
        untraced.hessian(angle)(X), untraced.jacfwd(untraced.grad(angle))(X), rtol=1e-12
    )
    check_source(angle, X)


def test_loops_of_unknown_length_in_loops_that_keep_python_numbers():
    def shell_sort(x):
        a = x * 1.0
        gap = len(a) // 2
        while gap > 0:
            for i in range(gap, len(a)):
                key, j = a[i], i
                while j >= gap and a[j - gap] > key:
                    a[j] = a[j - gap]
                    j -= gap
                a[j] = key
            gap //= 2
        return np.sum(a**2 * np.arange(len(a)))

    check_source(shell_sort, X[:5], order=2)


def shrinking(x):
    y = np.where(x > 0, x, 2 * x)
    s = 0.0
    while abs(y) > 0.1:
        s = s + np.sin(y)
        y *= 0.9
    return s


def test_an_array_without_axes_keeps_its_value_on_a_tape():
    """np.where of numbers gives one; `y *= 0.9` would change the entry, too."""
    expected = (shrinking(3.7 + 1e-5) - shrinking(3.7 - 1e-5)) / 2e-5
    for x in (3.7, np.float64(3.7), np.array(3.7)):
        np.testing.assert_allclose(untraced.grad(shrinking)(x), expected, rtol=1e-7)


WEIGHT = np.array(0.3)


def test_a_global_array_without_axes_stays_as_it_is():
    """It is the first entry of a tape of cotangents, of which the derivative of the derivative makes products."""

    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x * WEIGHT

    def slope(a):
        return untraced.grad(root)(a)

    np.testing.assert_allclose(untraced.grad(slope)(3.7), -0.075 * 3.7**-1.5, rtol=1e-9)
    assert WEIGHT == 0.3
