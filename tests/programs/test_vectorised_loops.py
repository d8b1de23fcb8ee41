"""Loops over elements become whole-array statements where their iterations are independent, and stay loops else."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from random_loops import loops, random_loops
from random_programs import Program
from vectorised_forms import forms, run, same

from untraced import accelerate, grad, vmap
from untraced.translator import purpose
from untraced.translator.batch.lanes import Lanes
from untraced.translator.errors import UntracedError
from untraced.translator.same import difference
from untraced.translator.vectorise import cost
from untraced.translator.vectorise.cost import Policy

N = 12
X = np.random.default_rng(0).normal(size=N)
Y = np.random.default_rng(1).normal(size=N)
A = np.random.default_rng(2).normal(size=(N, N))
I = np.random.default_rng(3).integers(0, N, N)


def always_vectorised(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the cpu too, however little there is to do."""
    monkeypatch.setattr(purpose, "compiles_loops", lambda: False)
    monkeypatch.setattr(cost, "CPU", Policy(Lanes("auto")))


# ---- stores --------------------------------------------------------------------------------------


def shifted(x, y):
    for i in range(1, N - 1):
        y[i] = np.sin(x[i]) - x[i - 1] + x[i + 1] * i


def reads_ahead(x, y):
    for i in range(N - 1):
        x[i] = x[i + 1] * 2


def reads_behind_backwards(x, y):
    for i in range(N - 1, 0, -1):
        x[i] = x[i - 1] + x[i]


def odd_from_even(x, y):
    for i in range(N // 2):
        x[2 * i + 1] = x[2 * i]


def swapped_ends(x, y):
    for i in range(N // 2):
        x[i], x[N - 1 - i] = x[N - 1 - i], x[i]


def interleaved(x, y):
    for i in range(N // 2):
        y[2 * i] = x[i]
        y[2 * i + 1] = -x[i]


def other_elements_kept(x, y):
    for i in range(0, N, 3):
        if x[i] > 0:
            y[i] += x[i]


def from_the_end(x, y):
    for i in range(N):
        y[-1 - i] = x[i - 3]


def looked_up(x, y):
    for i in range(N):
        y[i] = x[i % 5] + x[i // 2]


def two_names(x, y):
    z = x
    for i in range(N):
        z[i] = x[i] * 2


def before(x, y):
    last = x[0]
    for i in range(N):
        y[i] = x[i] - last
        last = x[i]
    return last


def counted(x, y):
    k = 1
    for i in range(N // 2):
        y[i] = x[k]
        k += 2
    return k


def windows(x, y):
    for i in range(N - 3):
        y[i] = np.max(x[i : i + 3])


INDEPENDENT = [
    shifted, reads_ahead, reads_behind_backwards, odd_from_even, swapped_ends, interleaved, other_elements_kept,
    from_the_end, looked_up, two_names, before, counted, windows,
]  # fmt: skip


@pytest.mark.parametrize("fun", INDEPENDENT)
def test_iterations_with_elements_of_their_own(fun: Callable[..., Any]) -> None:
    assert run(fun, X, Y) == "vectorised"


def flows(x, y):
    for i in range(1, N):
        x[i] = x[i - 1] + 1


def flows_backwards(x, y):
    for i in range(N - 2, -1, -1):
        x[i] = x[i + 1] + x[i]


def mirrored(x, y):
    for i in range(N):
        x[i] = x[N - 1 - i] + 1


def every_other(x, y):
    for i in range(N // 2 - 1):
        x[2 * i + 2] = x[2 * i] * 3


def through_a_view(x, y):
    z = x[1:]
    for i in range(N - 1):
        z[i] = x[i] * 2


def through_another_name(x, y):
    z = x
    for i in range(1, N):
        z[i] = x[i - 1] * 2


def filtered(x, y):
    s = 0.0
    for i in range(N):
        s = 0.5 * s + x[i]
        y[i] = s


def last_one_wins(x, y):
    for i in range(N):
        y[(i * i) % 7] = x[i]


DEPENDENT = [
    flows, flows_backwards, mirrored, every_other, through_a_view, through_another_name, filtered, last_one_wins,
]  # fmt: skip


@pytest.mark.parametrize("fun", DEPENDENT)
def test_iterations_that_need_each_other(fun: Callable[..., Any]) -> None:
    assert run(fun, X, Y) == "in order"


def matrix_product(a, b):
    c = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(N):
                c[i, j] += a[i, k] * b[k, j]
    return c


def stencil(a, b):
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def lower_triangle(a, b):
    for i in range(N):
        for j in range(i):
            b[i, j] = a[j, i] * j
            b[i, i] -= a[i, j]


def rows(a, b):
    for i in range(N):
        row = a[i]
        for j in range(N):
            row[j] = row[j] * 2 + b[j, i]


def columns(a, b):
    for i in range(N):
        b[1:-1, i] = a[i, 2:] - a[i, :-2]


def row_recurrences(a, b):
    for i in range(N):
        for j in range(1, N):
            a[i, j] += a[i, j - 1] * 0.5


def diagonals(a, b):
    for i in range(N):
        a[i, i] += b[i, N - 1 - i]


@pytest.mark.parametrize("fun", [matrix_product, stencil, lower_triangle, rows, columns, row_recurrences, diagonals])
def test_loops_in_loops(fun: Callable[..., Any]) -> None:
    assert run(fun, A, A + 1.0, exact=False) == "vectorised"


def test_products_become_products() -> None:
    assert "A @ B" in accelerate(matrix_product, target="numpy").inspect(A, A).source.replace("a @ b", "A @ B")


# ---- what all iterations share -------------------------------------------------------------------


def sums(x, p):
    s, c, product, largest = 0.0, 0, 1.0, -np.inf
    for v in x:
        if v > 0:
            s += v * v
            c += 1
        else:
            s -= v
        product *= v
        largest = np.maximum(largest, v)
    return s, c, product, largest


def extremes(x, p):
    best, where, other = np.inf, -1, 0.0
    for i in range(N):
        d = (x[i] - 0.3) ** 2
        if d < best:
            best, where, other = d, i, x[i]
    return best, where, other, i


def flags(x, p):
    ok, found, last = True, False, -1
    for i in range(N):
        ok = ok and x[i] < 5.0
        found = found or x[i] > 5.0
        if x[i] > 0:
            last = i
    return ok, found, last


def counts(x, p):
    h = np.zeros(N)
    for i in range(N):
        h[p[i]] += x[i]
        if x[i] > 0:
            h[p[i] // 2] -= 1.0
    return h


def running(x, p):
    s, y = 0.0, np.zeros(N)
    for i in range(N):
        s += x[i]
        y[i] = s
    return y, s


def quadrature(x, p):
    s = 0.0
    for i in range(N):
        s += 4.0 / (1.0 + ((i + 0.5) / N) ** 2) * math.sqrt(i)
    return s


@pytest.mark.parametrize("fun", [sums, extremes, counts, running, quadrature])
def test_what_iterations_add_up_or_choose(fun: Callable[..., Any]) -> None:
    assert run(fun, X, I, exact=False) == "vectorised"


def test_truths_that_may_be_pythons_or_numpys_are_found_in_order() -> None:
    assert run(flags, X, I, exact=False) == "in order"
    assert [type(v) for v in accelerate(flags)(X, I)] == [type(v) for v in flags(X, I)]


def test_the_first_of_equal_extremes_and_no_nan() -> None:
    x = np.array([0.0, np.nan, -0.0, 3.0, 1.0, 3.0, np.nan, 3.0, 0.0, 0.0, 0.0, 0.0])

    def largest(x, p):
        m, k = -1.0, -1
        for i in range(N):
            if x[i] > m:
                m, k = x[i], i
        return m, k

    assert run(largest, x, I) == "vectorised"
    assert run(largest, x * 0.0, I) == "vectorised"
    assert run(largest, x * np.nan, I) == "vectorised"


def test_half_precision_is_summed_in_order() -> None:
    def total(x):
        s = np.float16(0)
        for i in range(5000):
            s += x[i]
        return s

    assert run(total, np.ones(5000, np.float16)) == "in order"  # 2048, not 5000


# ---- what is raised ------------------------------------------------------------------------------


def divides(x, k):
    s = 0.0
    for i in range(N):
        s += 1.0 / (i - k)
    return s


def root(x, k):
    for i in range(N):
        x[i] = math.sqrt(k - i)


def refuses(x, k):
    for i in range(N):
        x[i] = 0.0
        if i == k:
            raise ValueError(f"at {i}")


@pytest.mark.parametrize("fun", [divides, root, refuses])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_exceptions(fun: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    always_vectorised(monkeypatch)
    theirs, ours = X.copy(), X.copy()
    for k in (5, 100):
        fast = accelerate(fun, target=target)
        try:
            want = fun(theirs, k)
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                fast(ours, k)
            if target == "cpu":  # where CPython has run the call again
                assert str(caught.value).splitlines()[0] in (str(error), str(error).removeprefix("float "))
                same(ours, theirs)
        else:
            same(fast(ours, k), want)
    assert forms(fun, X, 5, target=target)[-1] == "vectorised"


def test_division_only_where_a_branch_lets_it() -> None:
    def f(x, k):
        s = 0.0
        for i in range(N):
            if i != k:
                s += 1.0 / (i - k)
        return s

    assert run(f, X, 5, exact=False) == "vectorised"


def test_python_ints_that_outgrow_64_bits() -> None:
    def factorial(n):
        f = 1
        for i in range(1, 30):
            f *= i
        return f

    assert accelerate(factorial, target="cpu")(0) == math.factorial(29)


# ---- what becomes of it --------------------------------------------------------------------------


def test_notes_say_what_and_why() -> None:
    loop = accelerate(filtered, target="numpy").inspect(X, Y).loops[-1]
    line = filtered.__code__.co_firstlineno
    why = f"an iteration needs s as the one before has left it (line {line + 3})"
    assert str(loop) == f"line {line + 2}: in order: {why}"


def test_short_work_stays_a_loop_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purpose, "compiles_loops", lambda: False)

    def doubled(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = np.sin(x[i]) * 2
        return y

    def steps(x):
        for _ in range(50):
            for i in range(1, len(x) - 1):
                x[i] = x[i + 1] * 0.5
            s = x[0]
        return s

    assert forms(doubled, X, target="cpu") == ["in order"]
    assert forms(doubled, np.zeros(5000), target="cpu") == ["vectorised"]
    assert forms(steps, np.zeros(1000), target="cpu") == ["vectorised", "in order"]


def test_large_values_stay_in_the_loop() -> None:
    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += np.sum(np.outer(a[i], a[i]) @ a)
        return s

    assert forms(f, np.zeros((400, 400))) == ["in order"]
    assert forms(f, np.zeros((40, 40))) == ["vectorised"]


def test_it_is_what_vmap_gives() -> None:
    def g(v):
        return np.tanh(v) * v if v > 0 else v * v

    def mapped(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = g(x[i])
        return y

    loop, many = (accelerate(f, target="numpy").inspect(X).function for f in (mapped, vmap(g)))
    assert difference(loop, many) is None


def test_derivatives_of_loops_have_no_loops() -> None:
    def loss(x, y):
        s = 0.0
        for i in range(1, N - 1):
            if x[i] > 0:
                s += np.exp(x[i - 1]) * x[i + 1]
            else:
                s += np.log(1.0 - x[i]) * y[i]
        return s

    def whole(x, y):
        m = x[1:-1]
        return np.sum(np.where(m > 0, np.exp(x[:-2]) * x[2:], np.log(1.0 - np.minimum(m, 0.0)) * y[1:-1]))

    both = grad(loss, argnums=(0, 1))
    assert "for " not in "".join(line.split("#")[0] for line in both.source(X, Y).splitlines())
    same(both(X, Y), grad(whole, argnums=(0, 1))(X, Y))
    same(accelerate(both, target="cpu")(X, Y), both(X, Y))


def test_mapped_loops() -> None:
    def f(x):
        s = 0.0
        for i in range(N):
            if x[i] > 0:
                s += x[i] * i
        return s

    same(accelerate(vmap(f), target="numpy")(A), np.array([f(a) for a in A]))
    assert forms(vmap(f), A) == ["vectorised"]


def test_an_index_out_of_range_under_a_branch() -> None:
    def asked_for(x):
        s = 0.0
        for i in range(N):
            if x[i] > 0:
                s += x[i + 1]
        return s

    def kept_inside(x):
        z = np.zeros(N)
        for i in range(N):
            if i + 1 < N and x[i] > 0:
                z[i] = x[i + 1] - x[i]
        return z

    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        accelerate(asked_for, target="numpy")(np.abs(X))
    assert run(asked_for, -np.abs(X)) == run(kept_inside, X) == "vectorised"
    assert "np.roll(x, -1)" in accelerate(kept_inside, target="numpy").source(X)  # nobody goes out of range


# ---- random loops --------------------------------------------------------------------------------


def check(program: Program, target: str) -> None:
    theirs, ours = copy.deepcopy(program.args), copy.deepcopy(program.args)
    fast = accelerate(program.fun, target=target)
    with np.errstate(all="ignore"):
        try:
            want = program.fun(*theirs)
        except IndexError:
            with pytest.raises(IndexError):
                fast(*ours)
            return
        try:
            got = fast(*ours)
        except UntracedError:
            assume(False)
    for g, w in zip((*got, *ours), (*want, *theirs), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9)


@given(program=loops())
def test_random_loops(program: Program) -> None:
    check(program, "numpy")


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_on_the_cpu(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    always_vectorised(monkeypatch)
    check(random_loops(Random(seed)), "cpu")


def test_what_all_iterations_have_in_common_is_computed_once() -> None:
    """The flag that none of them changes was asked for twice: by what follows iterations, and by what they choose."""

    def f(a, b, c, n):
        x0 = 0.25
        for _ in range(4):
            a[:] = c[::-1]
            c[:] = np.cumsum(np.abs(b))
            if n % 3 == 0:
                if n % 3 == 1:
                    c[1:] += 0.0
                x0 = b[3]
        return b, a, x0, n

    args = X[:6], Y[:6], A[0, :6]
    for n in (3, 4):
        same(vmap(f, in_axes=(0, 0, 0, None))(*(np.copy(x)[None] for x in args), n)[1][0], f(*map(np.copy, args), n)[1])
        same(accelerate(f, target="numpy")(*map(np.copy, args), n), f(*map(np.copy, args), n))


def test_a_loop_that_all_iterations_have_in_common_may_be_asked_for_in_parts() -> None:
    """By the running product for what it leaves, then for its tape too."""

    def powers(x, a):
        for _ in range(4):
            for _ in range(4):
                for _ in range(3):
                    a = a * x
        return np.sum(a)

    d_x, d_a = grad(powers, (0, 1))(0.9, A)
    assert d_x == pytest.approx(48 * 0.9**47 * np.sum(A))
    np.testing.assert_allclose(d_a, np.full(A.shape, 0.9**48))
    both = grad(lambda x, a, u, v: powers_beside(x, a, u, v), (0, 1))(0.9, A, X, Y)
    assert both[0] == pytest.approx(d_x)


def powers_beside(x, a, u, v):
    for _ in range(4):
        for _ in range(4):
            for _ in range(3):
                a = a * x
        u, v = v.copy(), u.copy()
    return np.sum(a)
