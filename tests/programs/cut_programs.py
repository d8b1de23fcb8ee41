"""Functions that only CPython can go all the way through: they print, catch, draw, or make what data has a size for."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.special

# ---- what cuts -----------------------------------------------------------------------------------


def prints_in_a_loop(x: Any) -> Any:
    for i in range(4):
        x = np.sin(x) + i
        if i % 2 == 0:
            print(i, round(float(x.sum()), 8))
    return x


def places(x: Any) -> Any:
    i = np.nonzero(x > 0)[0]
    return x[i] * 2 + 1, np.argwhere(x > 1), np.flatnonzero(x < 0)


def selection(x: Any) -> Any:
    y = x[x > 0]
    z = y * 2
    return z


def one_argument_where(x: Any) -> Any:
    (i,) = np.where(x > 0.5)
    return i, x[i].sum()


def sets(x: Any) -> Any:
    a = np.floor(x * 4)
    b = np.floor(x[::2] * 2)
    u, c = np.unique(a, return_counts=True)
    return u, c, np.sum(u * c), np.union1d(a, b), np.setdiff1d(a, b)


def shrinks(x: Any) -> Any:
    steps = 0
    while x.size > 2:
        x = x[x >= np.mean(x)]
        steps += 1
    return x, steps


def grows(x: Any) -> Any:
    kept = np.array([])
    for v in x:
        if v > 0:
            kept = np.append(kept, v * v)
    return kept


def collects(x: Any) -> Any:
    found = []
    t = np.abs(x).sum()
    while t > 0.1:
        t = t * 0.5
        found.append(t)
    return np.array(found)


def sized_by_data(x: Any) -> Any:
    h = np.zeros(int(np.max(np.abs(x)) * 4) + 1)
    for i in range(len(h)):
        h[i] = i * 2.0
    return h + 1


def raises_by_data(x: Any) -> Any:
    s = np.sum(x * x)
    assert s >= 0, "negative"
    print("checked")
    if s > 100:
        raise ValueError(f"too large: {s:.3f}")
    return s / 2 + 1


def fails_after_a_store(x: Any) -> None:
    x[0] = 3
    y = x * 2 + 1
    if y.max() > 0:
        x[1] = 4
        raise KeyError("k", x[x > 0][0])


def catches(x: Any) -> Any:
    try:
        v = x[100]
    except IndexError:
        v = -1.0
    finally:
        k = 3
    return v * k + x.sum() * 2


def inverts_if_it_can(x: Any) -> Any:
    a = np.outer(x, x)
    try:
        b = np.linalg.inv(a - a)
    except np.linalg.LinAlgError as e:
        b = np.zeros_like(a) + len(str(e))
    return b + a * 2


def in_a_context(x: Any) -> Any:
    with np.printoptions(precision=3):
        text = str(x * 2)
    return text, x * 3 + np.cos(x)


def formats(x: Any) -> Any:
    return f"{x.sum():.4f} " + str(x.max()), x * 2 + 1


def draws(x: Any) -> Any:
    np.random.seed(3)
    e = np.random.rand(*x.shape)
    g = np.random.default_rng(1).normal(size=x.shape)
    return x * e + np.sin(g) - e * e


def measures_time(x: Any) -> Any:
    start = time.perf_counter()
    y = np.exp(x) * 2 - x
    assert time.perf_counter() >= start
    return y


def warns(x: Any) -> Any:
    if x.min() < 0:
        warnings.warn("negative", stacklevel=1)
    return np.sqrt(np.abs(x)) + 1


def of_one_kind_or_another(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return None


def counts_in_a_dict(x: Any) -> Any:
    d: dict[int, int] = {}
    for v in np.floor(x).astype(int):
        d[int(v)] = d.get(int(v), 0) + 1
    return d


def first_large(x: Any) -> Any:
    for v in x:
        if v > 1:
            found = v
            break
    return found * 2 + 1


def newton(x: Any) -> Any:
    history = []
    z = x[0] + 3.0
    for _ in range(50):
        f = z * z - 2.0
        history.append(f)
        if abs(f) < 1e-10:
            break
        z = z - f / (2 * z)
    else:
        raise RuntimeError("no root")
    return z, len(history), history


def quicksort(a: Any) -> Any:
    if len(a) <= 1:
        return a
    p = a[len(a) // 2]
    return np.concatenate([quicksort(a[a < p]), a[a == p], quicksort(a[a > p])])


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def recurses_by_data(x: Any) -> Any:
    n = int(np.abs(x).sum()) % 7
    return fibonacci(n) + x.sum()


# ---- memory --------------------------------------------------------------------------------------


def written_in_place(x: Any) -> None:
    x += 1.0
    x[0] = 5.0
    print("in", x.sum())
    x *= 2.0
    x[1:] += x[:-1]


def a_view_across_a_cut(x: Any) -> Any:
    v = x[1:]
    v[:] = v * 2 + 1
    print(v.sum())
    x[2] = 100.0
    return v, x


def two_names(x: Any) -> Any:
    y = x
    y *= 2
    print(y is x)
    y = y + 1
    return x, y


def a_view_made_between(x: Any) -> Any:
    a = x[2:6]
    b = a * 2
    print(b.sum())
    a += 1
    c = x.sum() + b.sum()
    x[3] = 7
    return a, b, c


def a_list_shared(x: Any) -> Any:
    log: list[Any] = []

    def note(v: Any) -> Any:
        log.append(float(v))
        return v * 2

    y = note(x.sum()) + note(x.max())
    print(log)
    return y, log


def bound_in_an_earlier_round(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        if i > 0:
            total = total + before * 2 - x[i]  # noqa: F821
        before = np.cos(x[i]) + total  # noqa: F841
        print(i)
    return total


def an_inner_function_that_looks_back(x: Any) -> Any:
    f = lambda v: v * a + 1  # noqa: E731
    a = x.max()
    print(a > 0)
    b = f(x)
    a = 2.0
    return b + f(x)


def counts_in_a_closure(x: Any) -> Any:
    n = 0

    def bump() -> int:
        nonlocal n
        n += 1
        return n

    y = x * bump()
    print(n)
    y = y + bump()
    return y, n


def names_of_one_array(x: Any) -> Any:
    a = x
    b = a[::2]
    print("names")
    a *= 2.0
    b += 1.0
    c = a.sum() + b.sum()
    return a, b, c


def tries_in_a_loop(x: Any) -> Any:
    out = []
    for k in range(4):
        try:
            if k == 2:
                raise ValueError("k")
            y = x * k + np.sin(x)
            out.append(y.sum())
        except ValueError:
            out.append(-1.0)
            continue
        else:
            z = y * 2 - x
            out.append(z.sum())
        finally:
            print("finally", k)
    return np.array(out)


def leaves_the_loop(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 1.5:
            print("found", i)
            break
        x = x * 1.0 + 0.5
    else:
        print("none")
        return x * 0
    return x * i + 1


def deletes(x: Any) -> Any:
    y = x * 2 + 1
    print(y.shape)
    z = y * y - x
    del y
    w = z + 1
    return w * z


def a_wide_integer(x: Any) -> Any:
    n = 1
    for i in range(70):
        n = n * 3 + i
    print(n)
    return n + len(x)


# ---- calls ---------------------------------------------------------------------------------------


def helper_that_prints(x: Any) -> Any:
    y = x * x + 1
    print("shape", y.shape)
    return y * 2 - x


def calls_one_that_prints(x: Any) -> Any:
    a = np.cos(x) + 1
    b = helper_that_prints(a) + a
    return b.sum()


class Simulation:
    def __init__(self, n: int) -> None:
        self.u = np.zeros(n)
        self.t = 0.0
        self.log: list[float] = []

    def rate(self, x: Any) -> Any:
        return np.sin(x) - self.u * 0.1

    def step(self, x: Any, dt: float) -> Any:
        k = self.rate(x)
        k2 = self.rate(x + dt * k)
        self.u += dt * (k + k2) / 2
        self.t += dt
        e = float(np.sum(self.u**2))
        if e > 0.1:
            print("large", round(e, 5))
        self.log.append(e)
        return x + self.u


def simulates(x: Any) -> Any:
    s = Simulation(x.shape[0])
    for _ in range(4):
        x = s.step(x, 0.1)
    return x, s.t, s.log, s.u


# ---- returns from within -------------------------------------------------------------------------


def returns_from_a_loop(x: Any) -> Any:
    print("from here on one region")
    s = 0.0
    for v in x:
        if v > 1:
            return s
        s += v
    if s > 0:
        return s * 2
    return s - 1


def returns_from_an_endless_loop(x: Any) -> Any:
    print("a")
    if x[0] > 100:
        return 0
    print("b")
    k = 0
    while True:
        x = x * 0.5
        k += 1
        if np.abs(x).max() < 0.1:
            return x, k


def returns_its_argument(x: Any) -> Any:
    print("a")
    x += 1
    if x.sum() > 0:
        return x
    x *= 2
    return x


def returns_a_view_or_nothing(x: Any) -> Any:
    print("a")
    for i in range(3):
        if x[i] > 0.5:
            return x[i:]
        x = x * 1.5
    return None


def functions_without_a_rule(x: Any) -> Any:
    y = np.sin(x) * 2
    return scipy.special.j0(y) + np.real_if_close(y + 0j)


def counts_by_identity(x: Any) -> Any:
    y = np.sin(x)
    seen: dict[int, int] = {}
    for v in (x, y, x):
        seen[id(v)] = seen.get(id(v), 0) + 1
    return sorted(seen.values()), id(y) == id(x), (y * 2).sum()


FUNCTIONS = (
    prints_in_a_loop, places, selection, one_argument_where, sets, shrinks, grows, collects, sized_by_data,
    raises_by_data, fails_after_a_store, catches, inverts_if_it_can, in_a_context, formats, draws,
    measures_time, warns, of_one_kind_or_another, counts_in_a_dict, first_large, newton, quicksort, recurses_by_data,
    written_in_place, a_view_across_a_cut, two_names, a_view_made_between, a_list_shared, bound_in_an_earlier_round,
    calls_one_that_prints, simulates, an_inner_function_that_looks_back, counts_in_a_closure, names_of_one_array,
    tries_in_a_loop, leaves_the_loop, deletes, a_wide_integer, returns_from_a_loop, returns_from_an_endless_loop,
    returns_its_argument, returns_a_view_or_nothing, functions_without_a_rule, counts_by_identity,
)  # fmt: skip
