"""Loops that stay loops, and those that are unrolled, give what CPython and NumPy give."""

from __future__ import annotations

import numpy as np
import pytest
from reading import RNG, A, B, X, check, count

from untraced import accelerate, grad
from untraced.translator.errors import CutError
from untraced.translator.ir import For, If, While
from untraced.translator.reading import reader
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract_with_leaves


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_stays_a_loop(n: int) -> None:
    def f(x, n):
        y = x
        s = 0.0
        c = 0
        for i in range(n):
            y = np.sin(y) * x + i
            s = s + i * 0.5
            c += 1
        return y + 0, s, c

    function = check(f, X, n)
    assert count(function, For) == 1


def test_translation_does_not_depend_on_the_trip_count() -> None:
    def f(x):
        for _ in range(100_000):
            x = x * 0.5
        return x

    signature, _ = abstract_with_leaves(f, (X,), {})
    assert count(read(f, signature).function, For) == 1


@pytest.mark.parametrize("n", [0, 1, 4])
def test_stores_in_loops(n: int) -> None:
    def f(x, n):
        out = np.zeros(8)
        for i in range(n):
            out[i] = x[i] * 2
            out[i + 1] += 1
            x[i] = 0
        return out

    check(f, X, n)


def test_loops_over_arrays_zip_enumerate_and_reversed() -> None:
    def f(a, x):
        total = np.zeros(5)
        s = 0.0
        for row in a:
            total = total + row**2
        for i, (p, row) in enumerate(zip(x[:4], a)):
            total += p * row * i
        for i in reversed(range(3)):
            s = s * 2 + x[i]
        for v in reversed(x):
            s = s * 0.5 + v
        for i, v in enumerate(x, 1):
            s += i * v
        for i in range(10, 2, -3):
            s = s + i
        return total, s

    function = check(f, A, X)
    assert count(function, For) == 6


def test_rows_written_through_loop_variables() -> None:
    def f(a):
        for row in a:
            row[0] = row.sum()
            row *= 2
        return a.sum()

    check(f, A)


def test_jacobi_with_swap() -> None:
    def f(u, n):
        u = u.copy()
        v = u.copy()
        for _ in range(n):
            v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            u, v = v, u
        return u

    for n in (0, 1, 2, 3):
        check(f, A, n)


def test_scalars_are_promoted_in_loops() -> None:
    def f(x):
        s = 0
        best = -1.0
        for v in x:
            s += v
            if v > best:
                best = v
        return s, best

    check(f, X)
    check(f, X.astype(np.float32))


def test_the_first_iteration_settles_types() -> None:
    def f(a):
        total = 0.0
        last = None
        for row in a:
            total = total + row
            last = row * 2 if last is None else last + row
        return total, last

    check(f, A)


def test_names_from_the_body_are_known_after_a_loop_that_runs() -> None:
    def f(x):
        for i in range(3):
            y = x * i
        return y, i

    check(f, X)


def test_nested_loops_and_carried_containers() -> None:
    def f(a, n):
        state = {"x": np.zeros(5), "k": 0}
        pair = [a[0], 1.0]
        for i in range(n):
            for j in range(4):
                state["x"] = state["x"] + a[j] * i
                state["k"] += 1
            pair = [pair[1] * a[i], pair[1] * 2]
            pair[0], pair[1] = pair[0] + 1.0, pair[1] / 3
        return state, pair

    check(f, A, 3)


def test_a_loop_unrolls_where_its_index_must_be_known() -> None:
    def f(params, x):
        for i in range(len(params)):
            x = np.tanh(x @ params[i]["w"] + params[i]["b"])
        return x

    function = check(f, [{"w": RNG.standard_normal((6, 6)), "b": 0.1}, {"w": RNG.standard_normal((6, 3)), "b": 0.2}], X)
    assert count(function, For) == 0


def test_loops_over_layers() -> None:
    def f(params, x):
        for w, b in params[:-1]:
            x = np.tanh(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    check(f, [(A.T, np.ones(4)), (A, np.zeros(5)), (B, 0.5)], np.ones((2, 5)))


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_while(n: int) -> None:
    def f(x, n):
        k = n
        y = x
        while k > 1 and np.sum(y) < 1e6:
            y = y * 1.5 + k
            k = k // 2
        return y + 0, k

    function = check(f, X, n)
    assert count(function, While) == 1


def test_newton_until_small() -> None:
    def f(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    check(f, 2.0)
    check(f, np.float64(3.0))


@pytest.mark.parametrize("limit", [-100.0, 0.5, 1e9])
def test_break_and_continue(limit: float) -> None:
    def f(x, limit):
        s = 0.0
        n = 0
        for i in range(6):
            if x[i] < 0:
                continue
            s = s + x[i]
            if s > limit:
                break
            n += 1
        else:
            n = 100
        return s, n, i

    check(f, X, limit)


@pytest.mark.parametrize("target", [-1e9, 0.2, 1e9])
def test_return_from_a_loop(target: float) -> None:
    def f(x, target):
        for i in range(6):
            if x[i] > target:
                return i, x * 2
        return -1, x

    check(f, X, target)


@pytest.mark.parametrize("n", [0, 3])
def test_while_that_sets_an_array_to_what_takes_no_arguments(n: int) -> None:
    def f(x, n):
        u, k = np.cos(x), 0
        while k < n and np.sum(u) < 100.0:
            k += 1
            u = np.arange(5.0)
            x = x * 1.1
        return u * x

    check(f, X[:5], n)
    grad(lambda x, n: np.sum(f(x, n)))(X[:5], n)


def test_while_true_with_break() -> None:
    def f(x):
        k = 0
        while True:
            x = x * 0.5
            k += 1
            if np.max(np.abs(x)) < 1e-3:
                break
        return x, k

    check(f, X)


def test_return_from_a_nested_loop() -> None:
    def f(a, t):
        for i in range(4):
            for j in range(5):
                if a[i, j] > t:
                    return i, j
        return -1, -1

    for t in (-10.0, 0.5, 1.0, 100.0):
        check(f, A, t)


def test_break_in_an_unrolled_loop() -> None:
    def f(params, x, limit):
        for w in params:
            x = x + w
            if np.sum(x) > limit:
                break
        return x

    for limit in (-100.0, 3.0, 1e9):
        check(f, [X, 1.0, X * 2], X, limit)


def test_loop_variables_index_shapes_when_unrolled() -> None:
    def f(x):
        total = 0.0
        for i in range(1, 4):
            total = total + np.sum(np.ones(i) * x[:i])
        return total

    check(f, X)


def test_integer_power_keeps_python_semantics() -> None:
    def f(x, n):
        return x**n, 2.0**n, x * 2**n

    check(f, X, 3)
    check(f, X, -1)


def test_arrays_of_size_one_are_conditions() -> None:
    def f(x, s):
        return x + 1 if s else x

    check(f, X, np.array([1.0]))
    check(f, X, np.array([[0]]))


def test_a_while_carries_what_containers_hold() -> None:
    def f(x):
        state = {"t": x, "log": [x * 2, 0.0]}
        while state["t"] < 4.0:
            while state["log"][0] < state["t"] + 1.0:
                state["log"][0] += 0.3 * state["t"]
            state["t"] += state["log"][1] + 0.7
            state["log"][1] = state["t"] * 0.1
        return state["t"], state["log"]

    assert count(check(f, 0.5), While) == 2


def test_what_the_condition_of_a_while_changes_is_not_lost() -> None:
    def array(x):
        a = np.zeros(2)

        def bump():
            a[0] += 1.0
            return a[0]

        while bump() < 4.0:
            a[1] += x
        return x * a[0] + a[1]

    def entry(x):
        a = {"k": 0}

        def bump():
            a["k"] += 1
            return a["k"]

        while bump() < 4:
            x = x * 1.1
        return x * a["k"]

    for f in (array, entry):
        assert accelerate(f)(2.0) == f(2.0)
        with pytest.raises(CutError, match="the condition of a `while` changes"):
            grad(f)(2.0)


def test_containers_in_containers_change_in_loops() -> None:
    def f(x):
        state = {"inner": {"b": x, "c": [1.0, x]}, "n": 0}
        rows = [[x, 1.0], [2.0, x]]
        first = rows[0]
        for _ in range(5):
            state["inner"]["b"] = state["inner"]["b"] * x + state["inner"]["c"][0]
            state["inner"]["c"][1] += state["inner"]["b"]
            state["inner"]["c"] = [state["inner"]["c"][1] * 0.1, state["inner"]["c"][0]]
            state["n"] += 1
            first[0] *= 1.1
            rows[1][1] += first[0]
            rows[0][1] += rows[1][1]
        return state["inner"]["c"], state["n"], rows, first[1]

    check(f, 0.7)

    def grows(x):
        state = {"at": x, "log": []}
        for _ in range(4):
            state["at"] += 0.1 * state["at"]
            state["log"].append(state["at"])
        return state["log"]

    check(grows, 0.7)


def test_iterations_written_out_are_joined_where_continue_leaves_them() -> None:
    """n branches one after the other: read apart, the paths of 18 iterations would be 2**18 programs."""

    def f(x, ws):
        s = np.zeros(3)
        largest = 0.0
        for k, w in enumerate(ws):
            if x[k] < 0:
                if x[k] < -1:
                    s[1] -= 1.0
                    continue
                s *= 0.5
                continue
            s += w * x[k]
            largest = max(largest, x[k])
        return s, largest

    many = [A[0, :3] * k for k in range(18)]
    x = np.sin(np.arange(18.0) * 1.7) * 2
    assert count(check(f, x, many), If) == 2 * 18

    def drawn(x, ws):
        k = 0
        while k < len(ws):
            k += 1
            if x[k - 1] > 0.3:
                continue
            x = x + ws[k - 1][0]
        return x

    assert count(check(drawn, x, many), If) == 18


def test_what_continue_leaves_undecided_is_read_apart() -> None:
    def swaps(x, y):
        for k in (0, 1, 2):
            if x[k] < 0:
                continue
            x, y = y, x
            x[k] += 1.0
        return x + 0, y + 0

    for x in (np.array([1.0, -2.0, 3.0, 4.0]), np.array([-1.0, 2.0, -3.0, 1.0])):
        check(swaps, x, np.arange(4.0) - 1.5)

    def too_many(x, y):
        for k in tuple(range(13)):
            if x[k] < 0:
                continue
            x, y = y, x
            x[k] += 1.0
        return np.sum(x * y)

    with pytest.raises(CutError, match="in more than 1000 ways"):
        grad(too_many)(np.cos(np.arange(14.0)), np.sin(np.arange(14.0)))


def test_loops_that_must_unroll_are_found_in_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = []
    once = reader._read_once
    monkeypatch.setattr(reader, "_read_once", lambda *a: readings.append(1) or once(*a))

    def filled(rows, sums, x):
        for i in range(3):  # asked for with the loop inside, whose index alone it does not know
            for j in range(i + 1):
                rows[i][j] = x[j] * (rows[i - 1][j] if i else 1.0)
        for i in range(3):
            sums[i] = sum(rows[i])

    def tables(x):
        rows, sums = [[0.0] * 3 for _ in range(3)], [0.0] * 3
        filled(rows, sums, x)
        y = x
        for _ in range(4):
            y = y * 0.5 + x
        k = 0
        while k < 3:
            sums[k] = sums[k] * y[k]
            k += 1
        for s in range(3):
            y = y[:-1] + sums[s]
        return y, sums

    assert count(check(tables, np.arange(5.0)), For) == 1
    assert len(readings) == 1


def test_a_loop_that_is_read_again_unrolled_draws_once() -> None:
    def walk(x):
        rng, steps = np.random.default_rng(3), [0.0] * 3
        for k in range(3):
            x = x + rng.random(2)
            steps[k] = np.sum(x)
        return x, steps, rng.random()

    got, want = accelerate(walk)(np.zeros(2)), walk(np.zeros(2))
    np.testing.assert_allclose(got[0], want[0])
    np.testing.assert_allclose((*got[1], got[2]), (*want[1], want[2]))
