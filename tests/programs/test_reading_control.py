"""Control flow, aliases and containers together: programs read and run give what CPython and NumPy give."""

from __future__ import annotations

import numpy as np
import pytest
from reading import A, B, Model, Point, State, X, check

from untraced import accelerate


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_ranges_of_every_direction(n: int) -> None:
    def f(x, n):
        s = 0.0
        for i in range(n, 0, -1):
            s = s * 2 + x[i]
        for i in range(1, n + 1, 2):
            s = s + x[i] * i
        for i in reversed(range(n)):
            s = s - x[i] / 3
        for i in range(n, n + 2):
            s = s + i
        return s

    check(f, np.arange(8.0), n)


@pytest.mark.parametrize("t", [-5.0, 0.0, 2.0, 50.0])
def test_nested_loops_with_breaks_and_else(t: float) -> None:
    def f(a, t):
        hits = 0
        total = 0.0
        for i in range(4):
            for j in range(5):
                total = total + a[i, j]
                if total > t:
                    hits += 1
                    break
            else:
                hits += 100
            k = 0
            while k < 10:
                k += 1
                if k % 3 == 0:
                    continue
                if k * t > 12:
                    break
                total = total + 0.01 * k
        return hits, total, k

    check(f, A, t)


@pytest.mark.parametrize("t", [-5.0, 0.5, 50.0])
def test_returns_from_inlined_loops(t: float) -> None:
    def find(x, t):
        for i, v in enumerate(x):
            if v > t:
                return i
        return -1

    def f(a, t):
        total = 0
        for row in a:
            total += find(row, t)
            if total > 3:
                break
        return total, find(a[0], t)

    check(f, A, t)


def test_flags_and_counters() -> None:
    def f(x, t):
        found = False
        where = -1
        for i in range(6):
            if not found and x[i] > t:
                found = True
                where = i
        return found, where

    for t in (-3.0, 0.3, 9.0):
        check(f, X, t)


def test_containers_in_run_time_loops() -> None:
    def f(params, grads, n):
        params = {k: v * 1.0 for k, v in params.items()}
        velocity = {k: np.zeros_like(v) for k, v in params.items()}
        history = [0.0, 0.0]
        for i in range(n):
            for k in params:
                velocity[k] = 0.9 * velocity[k] - 0.1 * grads[k]
                params[k] = params[k] + velocity[k]
            history[i % 1] = params["a"].sum()
            history[1] += 1
        return params, velocity, history

    for n in (0, 1, 3):
        check(f, {"a": X, "b": A}, {"a": X * 2, "b": A * 3}, n)


def test_objects_in_run_time_loops() -> None:
    def f(x, n):
        s = State(x, x * 2)
        m = Model(x, 1.0)
        p = Point(x, 0)
        for _ in range(n):
            s = s.step(0.1)
            m.b = m.b * 1.5
            p = Point(p.x + 1, p.y + 1)
        return s, m.b, p

    for n in (0, 2):
        check(f, X, n)


def test_stores_behind_conditions_in_loops() -> None:
    def f(x, n):
        out = np.zeros(6)
        last = x
        for i in range(n):
            if x[i] > 0:
                out[i] = x[i]
                last = x * i
            elif i % 2 == 0:
                out[i] -= 1
        return out, last + 0

    for n in (0, 3, 6):
        check(f, X, n)


def test_views_made_before_and_inside_loops() -> None:
    def f(a, n):
        a = a.copy()
        row = a[1]
        top = a[:2]
        for i in range(n):
            row[i] += 1
            col = a[:, i]
            col[0] = row.sum()
            top[0, 0] = i
        return a, row, top

    for n in (0, 1, 3):
        check(f, A, n)


def test_a_list_of_names_for_one_array() -> None:
    def f(x):
        items = [x, x, x + 1]
        items[0][0] = 5.0
        items[2] += items[1]
        y = items[1]
        y *= 2
        return items, x

    check(f, X)


def test_loops_carry_aliases_correctly() -> None:
    def f(x, n):
        a = x * 1.0
        b = x * 2.0
        for _ in range(n):
            old = a
            a = a + b
            b = old
        return a, b

    for n in (0, 1, 4):
        check(f, X, n)


def test_a_while_over_static_ints_unrolls_when_it_decides_a_shape() -> None:
    def f(x):
        n = x.shape[0]
        while n > 1:
            n = n // 2
            x = x[:n] + x[n : 2 * n]
        return x

    check(f, np.arange(8.0))


def test_static_while_with_break() -> None:
    def f(x):
        k = 0
        while True:
            x = np.concatenate([x, x])
            k += 1
            if x.shape[0] > 20:
                break
        return x, k

    check(f, X)


def test_a_loop_of_one_and_names_of_comprehensions() -> None:
    def f(x):
        i = 7
        y = [x * i for i in range(2)]
        for j in range(1):
            z = x + j
        return y, i, z, j

    check(f, X)


def test_walrus_starred_and_nested_functions_in_loops() -> None:
    def f(x, n):
        def scaled(v, k=2.0):
            return v * k

        first, *rest = [x, x + 1, x + 2]
        total = np.zeros(6)
        for i in range(n):
            if (s := np.sum(total)) < 50:
                total = total + scaled(first, i) + sum(scaled(r) for r in rest) + s
        return total

    for n in (0, 1, 4):
        check(f, X, n)


def test_mixed_precision_in_loops() -> None:
    def f(x, n):
        acc = np.float32(0)
        y = x
        for i in range(n):
            acc = acc + y[i]
            y = y * np.float32(0.5)
        return acc, y + 0

    for n in (0, 3):
        check(f, X.astype(np.float32), n)


def test_run_time_numbers_in_conditional_expressions_of_shapes() -> None:
    def f(x, n):
        k = n if n < 4 else 4
        return x[:k] * 2, np.zeros((k, 2)).shape

    check(f, X, 2)
    check(f, X, 5)


def test_mutating_an_array_under_two_names_in_a_branch() -> None:
    def f(x, s):
        y = x
        v = x[2:4]
        if s > 0:
            y[0] = 1.0
            v *= 3
        else:
            x = x + 1
            x[1] = 8.0
        return x, y, v

    check(f, X, 1.0)
    check(f, X, -1.0)


def test_reductions_over_python_containers() -> None:
    def f(params):
        norms = [np.sum(p**2) for p in params.values()]
        return sum(norms), max(norms), all(n > 0 for n in norms), any(n > 100 for n in norms), len(norms)

    check(f, {"a": X, "b": A})


def test_functions_as_arguments() -> None:
    def apply(g, x, times):
        for _ in range(times):
            x = g(x)
        return x

    def f(x, activation, times):
        return apply(activation, x, times), apply(lambda v: v * 2, x, 2)

    check(f, X, np.tanh, 3)
    check(f, X, SQUARE, 3)


SQUARE = lambda v: v * v  # noqa: E731


def test_methods_with_views_and_shapes() -> None:
    def f(a):
        b = a.reshape(-1, 2).swapaxes(0, 1)
        b[0] = 0.0
        c = a.ravel()
        c[3] = 4.0
        d = np.squeeze(a[None])
        d[1, 1] = 5.0
        e = a.T.copy()
        e[0] = 9.0
        return a, b, c, e, a.flatten().tolist()

    check(f, A)


def test_integer_and_bool_arrays() -> None:
    def f(i, m):
        return i // 3, i % 3, i << 1, ~m, m & (i > 2), m.sum(), np.where(m, i, -i), i[m.argmax()]

    check(f, np.arange(6), np.array([True, False, True, False, False, True]))


def test_complex_numbers() -> None:
    def f(z, c):
        w = z * c + 1j
        return w.real, w.imag, np.abs(w), w.conj() * w, c.real if isinstance(c, np.ndarray) else w[0]

    check(f, X + 1j * X[::-1], 2 + 1j)


def test_lists_grow_in_loops_of_known_length() -> None:
    def f(x):
        rows = []
        for i in range(3):
            rows.append(x * i)
        wide = x[:1]
        for _ in range(3):
            wide = np.concatenate([wide, wide])
        return np.stack(rows), wide

    check(f, X)


def test_what_a_branch_makes_stays_as_the_branch_left_it() -> None:
    def f(x, s):
        if s > 0:
            y = x + 1
            y[0] = 7.0
            items = [x]
            items.append(y)
            m = Model(x, 1.0)
            m.b = 3.0
            z = sum(items) + m.b
        else:
            y = x - 1
            y[1] = 8.0
            z = y
        return y, z

    check(f, X, 1.0)
    check(f, X, -1.0)


def test_a_loop_over_what_its_body_writes() -> None:
    def f(x, a):
        s = 0.0
        for i, v in enumerate(x[:5]):
            x[i + 1] += v
            s = s + v
        for row in a:
            a[3] = a[3] + row
        return s, x

    check(f, X, A)

    def g(x, params):
        for i, (v, p) in enumerate(zip(x[:3], params)):
            x[i + 1] = x[i + 1] + v * np.sum(p)
        return x

    check(g, X, [A, 1.0, B])


def test_names_bound_to_outer_arrays_by_a_loop() -> None:
    def f(a, b):
        c = a * 0.5
        for _ in range(3):
            c = b
        c[0] = 5.0
        for _ in range(2):
            b = b
        b[1] = 6.0
        return a, b, c

    check(f, X, X + 1)


def test_an_operand_that_a_call_writes() -> None:
    def bump(x):
        x[0] += 1
        return x.sum()

    def f(x):
        y = x + bump(x)
        z = x[0] + bump(x) + x[0]
        return y, z

    check(f, X)


@pytest.mark.parametrize("n", range(4))
def test_a_name_rebound_behind_an_inner_loop_that_may_return(n: int) -> None:
    """The inner loop may not run, so a path to the end of an outer iteration has no value of its own."""

    def f(x, n):
        s = x[1]
        for i in range(3):
            for k in range(n):
                s = x[1] * 0.3
                if x[k] < s:
                    return s
            s = x[2] + i
        return s

    for x in (X, -X, X[::-1].copy()):
        check(f, x, n)


def test_a_name_that_some_iterations_make_a_number() -> None:
    @accelerate(target="numpy")
    def f(x):
        best = None
        for v in x:
            if v > 0.5:
                best = v
            else:
                best = None
        return best

    for x in (X, -X):
        assert f(x) == f.__wrapped__(x)
