"""Programs read and run by the reference interpreter give what CPython and NumPy give."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from reading import A, B, Model, Point, State, X, check, count

from untraced.translator.ir import If
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract_with_leaves

# ---- straight lines ------------------------------------------------------------------------------


def test_arithmetic_and_numpy_calls() -> None:
    def f(x, n, s):
        y = x * 2 + n
        z = (-y) ** 2 / s - np.sin(x) // 0.5
        return np.sum(z), y % 2, abs(x), n * 2 + 1, s / 3

    check(f, X, 3, 0.5)


def test_dtypes_follow_numpy() -> None:
    def f(x, n, s):
        return x * n, x * s, x + x.astype(np.float64), x.shape[0] * x, np.float32(2) * s

    check(f, X.astype(np.float32), 2, 1.5)
    check(f, np.arange(6, dtype=np.int8), 2, 1.5)
    check(f, np.arange(6), 2, 1.5)


def test_products_and_attributes() -> None:
    def f(a, b):
        c = a @ b
        return c.T.shape, c.ndim, c.sum(axis=0), a.T @ a, np.dot(a, b).mean(), a.size, len(a)

    check(f, A, B)


def test_unpacking_and_containers() -> None:
    def f(x, y):
        (p, q), *rest, last = (x, y), 1.0, x + y, 2
        d = {"a": p, "b": [q, rest[0]]}
        d["c"] = d["a"] + last
        e = {**d, "z": (1, None)}
        return e, rest, x[0] if len(rest) == 2 else y[0]

    check(f, X, X * 2)


def test_swap_and_chained_assignment() -> None:
    def f(x, y):
        x, y = y, x
        a = b = x + 1
        a[0] = 5.0
        return x, y, b

    check(f, X, X + 1)


def test_comprehensions_and_builtins() -> None:
    def f(params, x):
        total = sum([np.sum(w) for w, _ in params])
        squares = [i * i for i in range(4) if i % 2 == 0]
        byname = {f"layer{i}": w.shape for i, (w, _) in enumerate(params)}
        return total, squares, byname, max(total, 0.5), min(1, 2), [a + b for a, b in zip(x, x[::-1])]

    check(f, [(A, 1.0), (B, 2.0)], X)


def test_python_numbers_stay_weak() -> None:
    def f(x, n, s):
        k = n // 2 + n % 3 - -n
        return x * (s * n), k, float(n) * x, math.sqrt(s) * x, n > 2, 1 < n < 5, abs(n - 10), int(s * 4)

    check(f, X.astype(np.float32), 4, 0.3)


def test_formatted_strings_and_static_work() -> None:
    def f(x):
        key = f"{x.ndim}d-{x.dtype}"
        table = {"1d-float64": 2.0, "1d-float32": 3.0}
        assert x.shape == (6,), "six elements"
        return x * table[key]

    check(f, X)
    check(f, X.astype(np.float32))


# ---- functions -----------------------------------------------------------------------------------

SCALE = 3.0
TABLE = np.linspace(0.0, 1.0, 6)
CONFIG = {"bias": np.ones(6), "power": 2}


def helper(x, scale=2.0, *rest, offset=0.0, **named):
    return x * scale + offset + sum(rest) + named.get("extra", 0.0)


def test_user_functions_are_inlined() -> None:
    def f(x):
        return helper(x), helper(x, 3.0, 1, 2), helper(x, offset=1.0, extra=2.0), helper(*[x, 4.0], offset=1.0)

    check(f, X)


def test_closures_lambdas_and_partials() -> None:
    def f(x, s):
        def inner(y, k=2):
            return y * s + k

        g = lambda z: inner(z) + s  # noqa: E731
        h = functools.partial(inner, k=5)
        return g(x), h(x), list(map(g, [x, s])), functools.reduce(lambda a, b: a * b, [x, x, s])

    check(f, X, 1.5)


def test_late_binding_of_inner_functions() -> None:
    def f(x):
        def g():
            return x + k

        k = 1.0
        a = g()
        k = 2.0
        return a, g()

    check(f, X)


def test_recursion_on_known_values() -> None:
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    def f(x):
        return power(x, 5)

    check(f, X)


def test_recursion_on_an_argument_specialises() -> None:
    def f(x, n):
        return np.zeros(n) + x[:n].sum()

    signature, _ = abstract_with_leaves(f, (X, 4), {})
    reading = read(f, signature)
    assert reading.statics == {1}
    check(f, X, 4)


def test_captured_arrays_are_hidden_parameters() -> None:
    def f(x):
        return x * TABLE + SCALE + CONFIG["bias"] ** CONFIG["power"]

    function = check(f, X)
    assert [p.capture.path for p in function.params if p.capture] == [(), (("item", "bias"),)]


def test_closure_cells_are_captured() -> None:
    w = np.arange(6.0)
    k = 2

    def f(x):
        return x * w * k

    function = check(f, X)
    assert [p.name for p in function.params] == ["x", "w"]


def test_lambda_as_the_function() -> None:
    fs = [lambda x: x + 1, lambda x: np.sin(x) * 2]
    check(fs[0], X)
    check(fs[1], X)


MODEL = Model(np.arange(6.0), 1.0)


def test_namedtuples_dataclasses_and_classes() -> None:
    def f(p, s):
        q = Point(p.y, p.x)
        t = s.step(0.1)
        m = Model(q.x, 2.0)
        m.b = m.b + 1
        return q, t, t.energy, m(q.y), m.doubled(q.x)

    check(f, Point(X, X + 1), State(X, X * 2))


def test_an_object_outside_is_read_through_guards() -> None:
    def f(x):
        return MODEL(x) + MODEL.doubled(x)

    check(f, X)


# ---- views and stores ----------------------------------------------------------------------------


def test_stores_reach_arguments_and_views() -> None:
    def f(x, a):
        y = x
        row = a[1]
        row[2:4] = 7.0
        a[:, 0] += x[:4]
        col = a.T[2]
        col *= 2
        y += 1
        return x.sum(), row, a[1, 2], col

    function = check(f, X, A)
    assert function.mutated == (0, 1)


def test_copies_do_not_alias() -> None:
    def f(x):
        y = x.copy()
        z = np.array(x)
        u = x + 0
        x[0] = 9.0
        return y, z, u, x

    check(f, X)


def test_views_see_later_writes() -> None:
    def f(x):
        v = x[1:4]
        w = x.reshape(2, 3)
        t = x[::-1][1:3]
        x[2] = 100.0
        w[0, 0] = 50.0
        t[0] = -1.0
        return v, w, x, t

    check(f, X)


def test_reshape_of_a_transpose_is_a_copy() -> None:
    def f(a):
        flat = a.T.reshape(-1)
        same = a.reshape(-1)
        flat[0] = 10.0
        same[1] = 20.0
        return a, flat

    check(f, A)


def test_every_kind_of_index() -> None:
    def f(a, i):
        idx = np.array([2, 0, 2])
        b = a.copy()
        b[idx] = 1.5
        b[[0, 1], [1, 2]] += 2
        b[..., -1] = 0
        basic = a[1], a[-1, 2], a[1:3, ::2], a[:, None, 0], a[..., 0], a[::-1]
        return basic, a[idx], a[idx, 1], a[i], a[i, 1:3], b, a[i : i + 2]

    check(f, A, 1)


def test_run_time_slices() -> None:
    def f(x, i, n):
        a = x[i : i + 2]
        b = x[2 * i - 1 : 2 * i + 2 : 2]
        x[i - 1 : i + 1] = 0.0
        return a, b, x[n - 1], x[: n - 2]

    check(f, X, 2, 4)


def test_masks() -> None:
    def f(x, a):
        y = x.copy()
        y[y < 0] = 0.0
        y[x > 0.5] *= 2
        m = x > 0
        y[m] = x[m] * 3 + 1
        b = a.copy()
        b[b > 1] = np.nan
        b[x[:4] > 0] = -1.0
        return y, b

    check(f, X, A)


def test_scatter_with_repeated_indices() -> None:
    def f(x, i):
        y = np.zeros(6)
        np.add.at(y, i, x)
        return y

    check(f, X, np.array([0, 0, 1, 5, 5, 5]))


def test_casts_of_stores() -> None:
    def f(x):
        y = np.zeros(6, dtype=np.int32)
        y[:] = x * 10
        y[0] = 2.7
        z = x.astype(np.float32)
        z += x
        return y, z

    check(f, X)


def test_out_and_copyto() -> None:
    def f(x):
        y = np.empty_like(x)
        np.multiply(x, 2, out=y)
        z = np.ones(6)
        z.fill(3.0)
        return y, z

    check(f, X)


def test_containers_of_arrays_are_updated_in_place() -> None:
    def f(params, g):
        for k in params:
            params[k] -= 0.1 * g[k]
        return params["a"].sum()

    check(f, {"a": X, "b": A}, {"a": X * 2, "b": A * 3})


# ---- branches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [0.3, -0.3, 7.0])
def test_branches_on_data(s: float) -> None:
    def f(x, s):
        y = x
        if s > 5:
            y = x * 3
            z = 1.0
        elif s > 0:
            y = y + 1
            z = s
        else:
            x[0] = 9.0
            z = s * 2
        return y + 0, z, x[0]

    check(f, X, s)


@pytest.mark.parametrize("s", [0.3, -0.3, 7.0])
def test_early_returns(s: float) -> None:
    def f(x, s):
        if s > 5:
            return x * 10, 0.5
        x[1] = 2.0
        if s > 0:
            x[0] = 1.0
            if np.sum(x) > 100:
                return x, 1.0
        else:
            return -x, 2.0
        return x + 1, 3.0

    check(f, X, s)


def test_static_branches_leave_no_trace() -> None:
    def f(x, mode=None, flag=True):
        if mode is None and flag:
            return x + 1
        return x @ x

    function = check(f, X)
    assert count(function, If) == 0
    check(f, X, mode="other")


@pytest.mark.parametrize("s", [1.0, -1.0])
def test_conditional_expressions_and_logic(s: float) -> None:
    def f(x, s):
        a = x if s > 0 else -x
        b = 1 if s > 0 else 2.5
        c = s > 0 and s < 5 or s == -1
        d = not (s > 0)
        return a + b, c, d, 0 < s <= 2 if s else False, (s or 3.0) * 2

    check(f, X, s)


def test_a_name_bound_in_one_branch_only_is_fine_when_unused() -> None:
    def f(x, s):
        if s > 0:
            t = x * 2
            y = t + 1
        else:
            y = x
        return y + 1

    check(f, X, 1.0)


def test_lists_changed_in_branches() -> None:
    def f(x, s):
        d = {"a": x, "b": x + 1}
        if s > 0:
            d["a"] = d["a"] * 2
        items = [x, s]
        if s > 1:
            items[1] = 4.0
        return d, items

    check(f, X, 2.0)
    check(f, X, 0.5)
    check(f, X, -0.5)


def test_branches_inside_inlined_functions_return_early() -> None:
    def clip(v, low):
        if v < low:
            return low
        return v

    def f(x, s):
        return clip(s, 0.0) + x, clip(s * 2, 1.0)

    check(f, X, 0.2)
    check(f, X, 2.2)
