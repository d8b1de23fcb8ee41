"""Derivatives and batches of functions with lists whose length depends on the data."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from untraced import accelerate, grad, jvp, vmap
from untraced.errors import UntracedError
from untraced.testing import check_grads


def halved(x):
    found = []
    while x > 0.01:
        found.append(x)
        x = x * 0.5
    return found


def sums(x):
    xs = halved(x)
    return sum(xs) / len(xs) + max(xs) * min(xs) + xs[0] * xs[-1] + xs[len(xs) // 2]


def as_array(x):
    a = np.array(halved(x))
    return np.std(a) + np.sum(np.diff(a) ** 2) + np.sum(a[a > 0.3]) + np.log(a).mean() + a.shape[0] * a[-1]


def started(x):
    """The condition reads the list itself."""
    xs = [x, x + 1.0]
    while abs(xs[-1] ** 2 - 2.0) > 1e-6:
        a, b = xs[-2], xs[-1]
        xs.append(b - (b * b - 2.0) / (a + b))
    return xs[-1] * x + xs[2]


def integrated(x):
    """Two lists, which are equally long."""
    ts, ys, h = [0.0], [x], 0.05 * x
    while ts[-1] < 1.0:
        ys.append(ys[-1] - h * ys[-1] ** 2)
        ts.append(ts[-1] + h)
    return np.trapezoid(np.array(ys), np.array(ts)) + np.sum(np.array(ys) * np.array(ts))


def of_arrays(x):
    p, path = np.array([x, 2.0 * x]), []
    while p[0] > 0.1:
        p *= 0.7
        path.append(p.copy())
    return np.sum(np.array(path)[:, 1] ** 2) + np.vstack(path)[-1, 0] + np.stack(path).sum(axis=0)[1]


def of_tuples(x):
    t, seen = 0.0, []
    while x > 0.1:
        seen.append((t, np.array([x, x * x])))
        x, t = x * 0.6, t + 0.1
    return sum(t * np.sum(p) for t, p in seen) + seen[-1][1][0] * len(seen)


def filtered(x):
    """Appended under a condition, in a loop that is known."""
    kept = []
    for v in np.linspace(0.3, 1.7, 7) * x:
        if v > 0.8:
            kept.append(v * v)
    return np.mean(kept) if kept else x


def converged(x):
    errors = []
    for _ in range(100):
        y = 0.5 * (x + 2.0 / x)
        errors.append(abs(y - x))
        if errors[-1] < 1e-10:
            break
        x = y
    return x + errors[0] + sum(errors)


def stack(x):
    todo, total = [x], 0.0
    while todo:
        v = todo.pop()
        if v < 0.1:
            total += v
        else:
            todo.append(v * 0.3)
            todo += [v * 0.6]
    return total**2


def passed_on(x):
    xs = halved(x)
    total = 0.0
    for i, (a, b) in enumerate(zip(xs[:-1], xs[1:])):
        total += i * a * b
    for v in reversed(xs):
        total = 0.5 * total + v
    big = [2.0 * v for v in xs if v > 0.2] + [x]
    xs[0], xs[-1] = 5.0 * x, xs[-1] + x
    return total + sum(big) + sum(xs) + sum(xs[-3:]) + sum(xs[:2])


def in_turns(x):
    """A list of its own in each turn, and one in an object."""
    total, kept = 0.0, {"sums": []}
    for a in (0.3, 0.8, 1.4):
        y, inner = a * x, []
        while y > 0.2:
            inner.append(y)
            y = y * 0.5
        total += sum(inner)
    while x > 0.3:
        x = x * 0.7
        kept["sums"].append(x * total)
    return total * sum(kept["sums"])


def waves(x):
    return np.sin(np.arange(1, 7) * x)


def comprehended(x):
    """Comprehensions that keep elements by data; a sum of such needs no list."""
    w = waves(x)
    kept = [v * v for v in w if v > 0]
    pairs = sum(a * b for i, a in enumerate(w) if a > 0 for b in w[i + 1 :] if b < a)
    return sum(kept) / len(kept) + max(kept) * x + pairs + sum([k * v for k, v in enumerate(w) if v < 0.5])


def sorted_in_place(x):
    w = [v for v in waves(x) if v < 0.9]
    w.sort()
    falling = sorted(w, reverse=True)
    w.reverse()
    pairs = [(v * v, v) for v in waves(x) if v > 0]
    pairs.sort()
    return w[0] * w[-1] + falling[1] ** 2 + sum(i * a * b for i, (a, b) in enumerate(pairs)) + pairs[0][1]


def inserted(x):
    found = []
    for i, v in enumerate(waves(x)):
        if v > -0.5:
            found.insert(0, v * (i + 1))
    found.insert(1, x)
    found.insert(-1, x * x)
    found.insert(100, 2.0 * x)
    found.insert(-100, 3.0 * x)
    taken = found.pop(2) * found.pop(0) + found.pop(-2)
    return sum(i * v for i, v in enumerate(found)) + taken * found[1]


def queued(x):
    todo, total = [x], 0.0
    while len(todo) > 0:
        v = todo.pop(0)
        total = total * 0.9 + v
        if v > 0.2:
            todo.append(v * 0.3)
            todo.append(v * 0.6)
    return total


def flagged(x):
    flags = [v > 0 for v in waves(x) if v > -0.7]
    return sum(flags) * x + any(flags) * x**2 + all(flags) * x**3 + all(v < 2 for v in waves(x) if v > 0) * np.sin(x)


def put_together(x):
    rows = [np.array([v, v * v]) for v in waves(x) if v > -0.2]
    line = np.hstack(rows)
    corners = [np.outer(r, r) for r in rows if r[0] > 0]
    return np.sum(line**3) + line[0] * line[-1] + np.linalg.norm(np.concatenate(corners)) + np.hstack([x, x]).sum()


def slices_that_grow(x):
    last = halved(x)[-2:]
    for k in range(3):
        last.append(x * k)
    first = halved(x)[:2]
    first.append(last[0])
    return sum(last) + first[-1] * max(last) + len(first)


def slices_that_grow_in_loops(x):
    xs = halved(x)
    last = xs[-2:]
    while sum(last) < 5.0:
        last.append(last[-1] * 2.0)
    for k in range(3):
        xs = xs[1:]
        if x > 0.5:
            xs.append(x + k)
    kept = []
    for k in range(4):
        kept = last[-2:]
        if x * k > 1.0:
            kept.append(x)
    return last[-1] + sum(xs) * len(kept) + kept[-1]


def named_inside(x):
    xs = x * np.array([0.2, 0.9, 0.4, 1.1])
    sines = [y for v in xs if (y := np.sin(v)) > 0.6]
    return sum(z * z for v in xs if (z := np.cos(v)) < 0.9) + sines[0] * len(sines)


def ordered_by_keys(x):
    xs, pairs = [], []
    for k in range(4):
        if np.sin(x * k) > -0.5:
            xs.append(np.cos(x * k))
            pairs.append((float(k % 2), x * k))
    xs.sort(key=lambda v: (v - 0.3) ** 2, reverse=True)
    nearest = min(xs, key=lambda v: abs(v - 0.1))
    return xs[0] * 2.0 + xs[1] ** 2 + nearest * 3.0 + max(pairs)[1]


def ordered_tuples(x):
    at = [(np.sin(x * k), k, x * k) for k in range(5)]
    tied = [(1.0, x), (1.0, 2.0 * x), (0.5, 3.0 * x)]
    return max(at)[2] + min(at)[2] ** 2 + max(tied)[1] * sorted(tied, reverse=True)[1][1]


def of_a_class_made_inside(x):
    State = namedtuple("State", "place speed")
    s = State(x, 2.0 * x)
    while s.place < 4.0:
        s = s._replace(place=s.place + 0.5 * s.speed)
    return s.place * s.speed


CASES = [
    ordered_by_keys, ordered_tuples, of_a_class_made_inside,
    sums, as_array, started, integrated, of_arrays, of_tuples, filtered, converged, stack, passed_on, in_turns,
    comprehended, sorted_in_place, inserted, queued, flagged, put_together, slices_that_grow_in_loops, slices_that_grow,
    named_inside,
]  # fmt: skip


def test_a_sum_over_some_elements_reads_as_one_choice() -> None:
    source = grad(lambda x: sum(v * v for v in x if v > 0)).inspect(np.ones(5)).source
    assert "np.where(x > 0, x * 2.0, 0.0)" in source
    assert len(source.splitlines()) <= 3, source


@pytest.mark.parametrize("f", CASES)
def test_derivatives(f):
    check_grads(f, (1.37,), order=1)
    slope = grad(f)(1.37)
    np.testing.assert_allclose(accelerate(grad(f))(1.37), slope, rtol=1e-12)
    np.testing.assert_allclose(accelerate(lambda x: jvp(f, (x,), (1.0,))[1])(1.37), slope, rtol=1e-12)


FEW = [f if k % 6 == 0 else pytest.param(f, marks=pytest.mark.slow) for k, f in enumerate(CASES)]


@pytest.mark.parametrize("f", FEW)
def test_second_derivatives(f):
    check_grads(f, (1.37,), order=2)


@pytest.mark.parametrize("f", CASES)
def test_batches(f):
    x = np.array([1.37, 2.2, 0.9])
    np.testing.assert_allclose(vmap(f)(x), [f(v) for v in x], rtol=1e-12)
    np.testing.assert_allclose(accelerate(vmap(grad(f)))(x), [grad(f)(v) for v in x], rtol=1e-10)


def test_names_bound_inside_are_not_lost():
    """What := binds is a local of the function; the loop that stands for a comprehension does not give it back."""

    def f(x):
        found = [y for v in x if (y := np.sin(v)) > 0.3]
        return found[0] * y

    with pytest.raises(UntracedError, match="keeps elements by data"):
        grad(f)(np.array([0.1, 0.5, 0.7]))


def test_integers_that_decide_are_known():
    """What integers decide is a list as before."""

    def odd(x, n):
        kept = []
        for i in range(n):
            if i % 2:
                kept.append(x**i)
        return np.sum(np.concatenate([np.atleast_1d(v) for v in kept]))

    np.testing.assert_allclose(grad(odd)(1.1, 6), 1.0 + 3 * 1.1**2 + 5 * 1.1**4)


def aliased(x):
    p, path = np.array([x, 2.0 * x]), []
    while p[0] > 0.1:
        p *= 0.7
        path.append(p)
    return np.sum(np.array(path))


def compared(x):
    return x if halved(x) == [1.0] else 2.0 * x


def sorted_arrays(x):
    return sorted([np.array([v, x]) for v in waves(x) if v > 0])[0][0]


def sorted_by_arrays(x):
    xs = [v for v in waves(x) if v > 0]
    xs.sort(key=lambda v: np.array([v, x]))
    return xs[0]


def numbers_put_together(x):
    return np.concatenate([v for v in waves(x) if v > 0])[0]


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (aliased, UntracedError), (compared, TypeError), (sorted_arrays, UntracedError),
        (sorted_by_arrays, UntracedError), (numbers_put_together, UntracedError),
    ],
)  # fmt: skip
def test_what_a_pile_cannot_do_is_refused(f, error):
    with pytest.raises(error):
        grad(f)(1.37)


def taken(x):
    xs = [x]
    while x > 0.1:
        x = x * 0.5
        xs.pop()
    return xs[-1]


def read_too_far(x):
    return halved(x)[40]


@pytest.mark.parametrize("f", [taken, read_too_far])
@pytest.mark.parametrize("maybe", [lambda f: f, accelerate], ids=["plain", "accelerated"])
def test_elements_that_are_not_there(f, maybe):
    with pytest.raises(IndexError):
        maybe(grad(f))(1.37)


def long(x):
    xs, n = [], 0
    while n < 5000:
        n += 1
        if x > 0.0:
            xs.append(x)
    return sum(xs)


@pytest.mark.parametrize("maybe", [lambda f: f, accelerate], ids=["plain", "accelerated"])
def test_more_elements_than_rows(maybe):
    with pytest.raises(OverflowError, match="grows over 4096 elements"):
        maybe(grad(long))(1.37)


def test_extremes_pass_over_nan_as_pythons_do() -> None:
    """A NaN stays where it is the first element, and is never greater than another one."""

    def behind(x):
        xs = [x]
        while xs[-1] < 10:
            xs.append(xs[-1] * 1.5)
        xs.append(np.nan)
        return max(xs) + min(xs)

    def in_front(x):
        xs, y = [np.nan * x], x
        while y < 10:
            y = y * 1.5
            xs.append(y)
        return max(xs)

    x = np.array([0.7, 1.1, 12.0])
    for f in (behind, in_front):
        np.testing.assert_allclose(vmap(f)(x), [f(v) for v in x], rtol=1e-12)
    np.testing.assert_allclose(grad(behind)(1.7), 1.0 + 1.5**5, rtol=1e-12)


def test_sums_of_narrow_integers_are_refused() -> None:
    """Python adds them in their own dtype."""

    def total(x):
        xs = []
        while x < 10:
            x = x * 1.5
            xs.append(np.int8(100))
        return sum(xs) + x

    with pytest.raises(UntracedError, match="narrow integers"):
        vmap(total)(np.array([0.7, 1.1]))
