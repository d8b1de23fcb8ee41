"""Printed derivatives are what a person would write: what stands in an array is read there, and kept once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.testing import check_grads

F8 = np.ndarray[Any, np.dtype[np.float64]]

RNG = np.random.default_rng(3)
M = RNG.uniform(-1.0, 1.0, (5, 5))
SPD = M @ M.T + 3.0 * np.eye(5)


def total_variation(u: F8) -> Any:
    dx = np.diff(u, axis=0)[:, :-1]
    dy = np.diff(u, axis=1)[:-1]
    return np.sum(np.sqrt(dx * dx + dy * dy + 1e-6))


def windows(x: F8, k: F8) -> Any:
    out = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            out[i, j] = np.sum(x[i : i + 3, j : j + 3] * k)
    return np.sum(np.tanh(out))


def cholesky(a: F8) -> Any:
    n = len(a)
    lower = np.zeros((n, n))
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - np.sum(lower[j, :j] ** 2))
        for i in range(j + 1, n):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
    return np.sum(np.log(np.diag(lower)))


def eliminated(a: F8) -> Any:
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return np.sum(np.log(np.abs(np.diag(a))))


def eliminated_by_rows(a: F8) -> Any:
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k:] = a[i, k:] - a[i, k] / a[k, k] * a[k, k:]
    return np.sum(np.log(np.abs(np.diag(a))))


def until_large(x: F8) -> Any:
    s = 0.0
    for v in x:
        if s > 2.0:
            break
        s += v * v
    return s


def doubled(x: float) -> Any:
    while x < 100:
        x = x * x if x > 3 else 2 * x + 0.1
    return x


def powers(x: float) -> Any:
    ys = [x]
    while ys[-1] > 0.1:
        ys.append(ys[-1] * x)
    return sum(ys)


def iterated(x: F8, a: F8) -> Any:
    for _ in range(4):
        x = np.tanh(a @ x)
    return x.sum()


def slope_of_iterated(x: F8, a: F8) -> Any:
    return np.sum(grad(iterated)(x, a) ** 2)


def root(a: float) -> Any:
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def slope_of_root(a: float) -> Any:
    return grad(root)(a)


def of_an_error_function(s: float) -> Any:
    from math import erf

    return s * erf(s / np.sqrt(2.0))


def flipped(x: F8) -> Any:
    y = np.zeros(5)
    y[::-1] = np.sin(x)
    return np.sum(y * np.arange(5.0))


def centred(x: F8) -> Any:
    return np.sum(grad(lambda x: np.sum((x - np.mean(x)) ** 3))(x))


def taken_twice(x: F8) -> Any:
    s = 1.0
    for i in range(-5, 5):
        s = s * x[i] + np.sin(s)
    return s


def taken_once(x: F8) -> Any:
    s = 1.0
    for i in range(-1, 4):
        s = s * x[i] + np.sin(s)
    return s


def of_a_table(c: F8) -> Any:
    d = np.zeros((6, 6))
    for i in range(5):
        for j in range(5):
            d[i + 1, j + 1] = c[i, j] + np.sin(d[i, j] + 2.0 * d[i + 1, j])
    return d[-1, -1] + d[2, 3]


def collected(x: F8) -> Any:
    ys, s = [], 0.0
    for v in x:
        s = np.sin(s + v)
        ys.append(s)
    return np.sum(np.array(ys) ** 2)


def chained(angles, end):
    turn, reached = np.eye(3), np.zeros(3)
    for angle in angles:
        c, s = np.cos(angle), np.sin(angle)
        turn = turn @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        reached = reached + turn @ end
    return reached @ reached


def entropy(a: F8) -> Any:
    lower = np.linalg.cholesky(a)
    return np.sum(np.log(np.diag(lower)))


def swept(a: F8, b: F8) -> Any:
    p, x = np.zeros(5), np.zeros(5)
    p[0] = b[0]
    for i in range(1, 5):
        p[i] = np.sin(b[i] - a[i, 0] * p[i - 1])
    x[-1] = p[-1]
    for i in range(3, -1, -1):
        x[i] = p[i] - a[i, 1] * x[i + 1]
    return np.sum(x * x)


def attractor(s: F8, p: F8) -> Any:
    def slope(s: F8) -> Any:
        x, y = s
        return np.array([p[0] * (y - x), x * (p[1] - y) + y])

    for _ in range(6):
        k = slope(s)
        s = s + 0.1 * slope(s + 0.05 * k)
    return np.sum(s * s)


def weighed(p: F8, a: F8) -> Any:
    u, v, w = p
    s = np.zeros(5)
    for i in range(5):
        s = np.tanh(u * a[i] + v * s) + w * a[i]
    return np.sum(s)


def common_length(a: F8, b: F8) -> Any:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) ** 2


def shaded(c: F8, d: F8, r: float) -> Any:
    b = np.dot(c, d)
    t = -b - np.sqrt(b * b - np.dot(c, c) + r * r)
    return max(0.0, np.dot(c + t * d, c))


def overlapping(a: F8) -> Any:
    return np.sum(np.maximum(a[:, 0], a[:, 1]) * (a[:, 1] - a[:, 0]))


# A function, its arguments, what its printed gradient has, and what it has not.
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], list[str], list[str]]] = [
    (total_variation, (M,), [r"d_u\[1:, :-1\] \+= d_dx"], [r"np\.zeros\("]),
    (windows, (RNG.uniform(-1.0, 1.0, (8, 8)), M[:3, :3]), [r"\[:, :, 2, 2\]"], [r"\.mT"]),
    (cholesky, (SPD,), [r"= L?lower\[i, j\]\n"], [r"\(a\[i, j\] - np"]),
    (eliminated, (SPD,), [r"d_a\[i, k\] = "], [r"np\.zeros\(4\)"]),
    (eliminated_by_rows, (SPD,), [r"-d_a\[i\]"], [r"d_a\[i\] = "]),
    (until_large, (RNG.uniform(0.4, 1.0, 7),), [r"in reversed\(range\(i\)\)"], ["i_tape", "trips"]),
    (doubled, (1.7,), [r"for x in reversed\(x_tape\)"], [r"np\.float64\(x"]),
    (powers, (0.7,), [r"t_tape\.append\(t1\)", r"count - 1\]"], [r"\.copy\(\)", r"\+ -1"]),
    (slope_of_iterated, (M[0], M), [r"x_tape\[i\] = x"], ["x_tape_1"]),
    (slope_of_root, (2.0,), [r"d_x_tape_1\[k\] = d_x"], [r"\] \+= d_x"]),
    (of_an_error_function, (0.3,), [r"np\.exp\(-t \* t\)"], [r"/ -"]),
    (taken_twice, (M[0],), [r"d_x\[i\] \+= "], [r"d_x\[i\] = "]),
    (taken_once, (M[0],), [r"d_x\[i\] = "], [r"d_x\[i\] \+= "]),
    (of_a_table, (M,), [r"d_c\[i, j\] = "], [r"d_c\[i, j\] \+= "]),
    (collected, (M[0],), [r"d_x\[i\] = d_s"], [r"x\[3\]"]),
    (flipped, (M[0],), [r"\[::-1\]"], [r"np\.zeros", "np.empty"]),
    (centred, (M[0],), [r"np\.zeros"], [r"\* -?0\.0"]),
    (chained, (M[0], M[1, :3]), [r"np\.array\(\[\[1\.0, 0\.0, 0\.0\], \[0\.0, c, -s\]"], ["np.stack", r"np\.conc"]),
    (entropy, (SPD,), [r"= np\.diag\(1\.0 / np\.diag\(lower\)\)"], [r"np\.arange", r"np\.zeros"]),
    (swept, (M, M[0]), [], [r"\] = 0\.0"]),
    (attractor, (M[0, :2], M[1, :2]), [r"x\w*, y\w* = s \+ 0\.05 \* k"], [r"= y\w* - x\w*\n"]),
    (weighed, (M[0, :3], M), [r"_terms, d_\w+_terms", r"np\.array\(\[np\.sum"], ["keepdims", r"t\d* = a\[i\]"]),
    (common_length, (M[0], M[1]), [r"np\.where\(b\[0\] > a\[0\], "], [r"= b\[\d\] [<>] a"]),
    (shaded, (M[0], M[1], 2.0), [r"= np\.sum\("], [r"-np\.sum\("]),
    (overlapping, (M,), [], [r"= a\[:, 0\]\n"]),
]


@pytest.mark.parametrize(("fun", "args", "there", "absent"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_a_person_writes(
    fun: Callable[..., Any], args: tuple[Any, ...], there: list[str], absent: list[str]
) -> None:
    source = grad(fun).source(*args)
    for pattern in there:
        assert re.search(pattern, source), f"{pattern}\n{source}"
    for pattern in absent:
        assert not re.search(pattern, source), f"{pattern}\n{source}"
    check_grads(fun, args, order=1, modes=("rev",))


def lorenz(state: F8, n: int) -> Any:
    x, y, z = state
    for _ in range(n):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x + y * z


def gated(w: F8, x: F8) -> Any:
    c = np.zeros(3)
    for row in x:
        gate = 1 / (1 + np.exp(-(w @ row)))
        c = gate * c + (1 - gate) * np.tanh(row)
    return c.sum()


def bordered(x: F8) -> Any:
    u = np.zeros(6)
    u[1:-1] = x[1:-1] * x[:-2]
    u[0] = x[1]
    u[-1] = x[0]
    return np.sum(u * u * u)


def test_what_stood_in_one_line_does_so_again() -> None:
    state = np.array([0.3, 0.5, 0.7])
    source = grad(lorenz).source(state, 15)
    assert source.count("        x, y, z = x_tape[i], y_tape[i], z_tape[i]\n") == 1
    assert source.count("        dx, dy, dz = ") == 1
    assert sum(1 for line in source.splitlines() if line.strip()) <= 20, source
    check_grads(lambda s: lorenz(s, 15), (state,), order=2)


def test_a_logistic_function_gives_its_own_slope() -> None:
    w, x = M[:3, :3], M[:, :3]
    assert "gate * (1.0 - gate)" in grad(gated).source(w, x)
    check_grads(gated, (w, x), order=3)
    z = np.array([-800.0, -2.0, 3.0])
    with np.errstate(over="ignore"):
        slopes = grad(lambda z: np.sum(1.0 / (1.0 + np.exp(-2.0 * z))))(z)
    np.testing.assert_allclose(slopes, 0.5 / np.cosh(z.clip(-300.0)) ** 2, atol=1e-200)


def test_places_apart_are_not_emptied_for_one_another() -> None:
    x = np.array([0.3, 0.7, -0.4, 0.9, 1.1, 0.2])
    assert "= 0.0" not in grad(bordered).source(x)
    check_grads(bordered, (x,), order=2)


def test_a_line_behind_a_loop_stays_behind_it() -> None:
    def program(x):
        u, v, b = x * 1.1, np.cos(x), x[0]
        for i in range(3):
            v = np.sin(np.cos(v) * np.sin(x[i]))
            for k in range(3):
                b = np.sin(v[k])
                u[1:] = np.sqrt(1.0 + u[i] ** 2)
        return b + np.sum(u * v)

    x = np.array([-0.2, 0.6, -0.4, -1.7])
    steps = 1e-6 * np.eye(4)
    want = [(program(x + h) - program(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(accelerate(grad(program), target="numpy")(x), want, rtol=1e-6, atol=1e-8)


def quaternion(q: F8, p: F8) -> Any:
    w, x, y, z = q
    a = np.array([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)])
    b = np.array([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)])
    return np.sum(p[:3] * a * b)


def filtered(ys: F8, a: F8, b: float) -> Any:
    x, s, total = np.zeros(5), 0.0, 0.0
    for y in ys:
        x = np.tanh(a @ x) + y * b
        s = np.sin(s + x[0])
        total += s * x[1]
    return total


def until_it_stops(a: float) -> Any:
    x = a
    while abs(x * x - a) > 1e-10:
        x = x - (x * x - a) / (2 * x)
    return x * x + a


def test_products_of_numbers_are_written_again() -> None:
    source = grad(quaternion).source(M[0, :4], M[1])
    assert "1 - 2 * (y * y + z * z)" in source and source.count("y * y") == 2, source
    check_grads(quaternion, (M[0, :4], M[1]), order=2)


def test_adjoints_start_in_one_line() -> None:
    source = grad(filtered, argnums=(0, 1, 2)).source(M[0], M, 0.3)
    assert re.search(r" = np\.zeros_like\(\w+\), np\.zeros_like\(\w+\)", source), source
    assert "d_ys[i] = np.sum(d_x) * b" in source or "d_ys[i] = t1 * b" in source, source
    check_grads(filtered, (M[0], M, 0.3), order=2, modes=("rev",))


def test_an_adjoint_becomes_a_number_where_it_is_computed() -> None:
    assert re.search(r"d_x = np\.float64\(x \* 2\.0\)", grad(until_it_stops).source(2.0))
