"""Programs with loops, branches, stores and views: derivatives against differences, and what the tapes hold."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import Program, active_leaves, check, check_source, count_ops, read_program

from untraced import accelerate, grad
from untraced.testing import check_grads
from untraced.translator.derive import forward, reverse
from untraced.translator.derive.tape import NeedTrip
from untraced.translator.ir import For, Function, walk

RNG = Drawn(5)
X = RNG.uniform(0.4, 1.4, 5)
A = RNG.uniform(-1, 1, (4, 5))


def decay(x):
    y = x
    for i in range(4):
        y = np.sin(y) * x
    return np.sum(y)


def recurrence(x, a):
    a = a.copy()
    for i in range(1, 5):
        a[i] = np.sin(a[i - 1]) * x[i]
    return a


def stencil(u):
    u = u.copy()
    for t in range(3):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u * u


def nonlinear_stencil(u):
    u = u.copy()
    for t in range(3):
        u[1:-1] += 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return u


def overwritten(x):
    y = x * x
    for i in range(3):
        y = np.sin(x) * (i + 1.0)
    return y


def swapped(x, y):
    for i in range(3):
        x, y = y, x * np.cos(y)
    return x, y


def accumulated(x):
    s = 0.0
    for i in range(5):
        s = s + x[i] * x[4 - i] * i
    return s


def backwards(x):
    y = np.ones(5)
    for i in reversed(range(0, 5, 2)):
        y = y * np.exp(x[i] * y)
    return y


def nested(x, a):
    y = x
    for i in range(2):
        z = y
        for j in range(3):
            z = np.sin(z) * a[j] + y
        y = z * x
    return y


def triangular(x, a):
    y = x
    for i in range(4):
        for j in range(i):
            y = np.tanh(y * a[j]) + x
    return y


def branch_in_loop(x):
    y = x * 1.0
    for i in range(5):
        if y[i] > 0.8:
            y[i] = np.sin(y[i]) * x[i]
        else:
            y = y * x
    return y


def branches(x, a):
    if np.sum(x) > 0.0:
        h = a @ x
        r = np.tanh(h) * h
    else:
        r = a[:, 0]
    return r * 2.0


def early_return(x):
    if x[0] > 100.0:
        return x
    y = x * x
    if x[1] > 0.0:
        return np.sin(y)
    return y


def view_store(x, a):
    a = a.copy()
    row = a[1]
    row[2:] = x[:3] * x[1]
    return a * a


def integers_carried(x):
    k = 1
    s = 0.0
    for i in range(4):
        s = s * x[k] + x[i]
        k = (k * 3 + 1) % 5
    return s


def python_numbers(x, c):
    w = c
    y = x
    for i in range(3):
        y = np.sin(y) * w
        w = w * w * 0.9
    return y * w


def rows(x, a):
    s = np.zeros(())
    for row in a:
        s = s + np.tanh(row @ x)
    return s * s


def newton(x):
    y = x
    for i in range(6):
        y = 0.5 * (y + x / y)
    return y


def products(x, a):
    h = x
    for i in range(3):
        h = np.tanh(a[:, :4] @ h[:4]) * x[:4]
    return h


def dictionary(p, x):
    h = np.tanh(x @ p["hidden"]["w"] + p["hidden"]["b"])
    return {"loss": np.mean((h @ p["out"]) ** 2), "h": h}


PARAMETERS = {
    "hidden": {"w": RNG.standard_normal((5, 3)), "b": RNG.standard_normal(3)},
    "out": RNG.standard_normal((3, 2)),
}

CASES = {
    decay: (X,),
    recurrence: (X, X + 0.1),
    stencil: (X,),
    nonlinear_stencil: (X,),
    overwritten: (X,),
    swapped: (X, X[::-1].copy()),
    accumulated: (X,),
    backwards: (X * 0.3,),
    nested: (X, A),
    triangular: (X, A),
    branch_in_loop: (X,),
    branches: (X, A),
    early_return: (X,),
    view_store: (X, A),
    integers_carried: (X,),
    python_numbers: (X, 0.7),
    rows: (X, A),
    newton: (X,),
    products: (X, A),
    dictionary: (PARAMETERS, RNG.standard_normal((4, 5))),
}


@pytest.mark.parametrize("fun", CASES, ids=lambda f: f.__name__)
def test_second_order(fun):
    check_source(fun, *CASES[fun], order=2)


@pytest.mark.parametrize("fun", [decay, recurrence, integers_carried, python_numbers], ids=lambda f: f.__name__)
def test_third_order(fun):
    check_source(fun, *CASES[fun], order=3)


@pytest.mark.parametrize("fun", CASES, ids=lambda f: f.__name__)
def test_the_two_halves_of_vjp_are_the_whole(fun):
    args = CASES[fun]
    p = read_program(fun, *args)
    f, wrt = p.function, active_leaves(p.function)
    ahead, back = reverse.vjp_split(f, wrt)
    outs = Program(ahead)(*args)
    n = f.out.leaf_count
    cts = [RNG.standard_normal(np.shape(y)) for y in outs[:n]]
    for got, want in zip(Program(back)(*outs[n:], *cts), Program(reverse.vjp(f, wrt))(*args, *cts), strict=True):
        np.testing.assert_array_equal(got, want)


def halving(x):
    n = 0
    while np.sum(x) > 0.5:
        x = x * 0.6 * np.cos(x)
        n = n + 1
    return x, n


def test_while_forwards():
    p = read_program(halving, X)
    check(p, (X,), order=2, modes=("fwd",))


def test_while_backwards():
    check(read_program(halving, X), (X,), order=2)


def test_a_while_that_carries_no_derivative_does_no_harm():
    def f(x, n):
        k = 1
        while k * k < n:
            k = k + 1
        return np.sin(x) * k

    check(read_program(f, X, 17), (X, 17))


def test_a_tape_needs_the_number_of_trips():
    def f(x, n):
        for i in range(n):
            x = np.sin(x)
        return x

    p = read_program(f, X, 4)
    with pytest.raises(NeedTrip) as e:
        reverse.vjp(p.function, [0])
    assert p.function.body.params[1] in e.value.atoms
    check(p, (X, 4), modes=("fwd",))


def test_a_linear_loop_needs_neither_tape_nor_trips():
    def f(x, n):
        for i in range(n):
            x = x * 0.5 + 1.0
        return x

    p = read_program(f, X, 4)
    check(p, (X, 4))
    assert not tapes(reverse.vjp(p.function, [0]))


def tapes(f: Function) -> list[tuple[int, ...]]:
    """The shapes of the tapes that the program's loops carry."""
    return [v.aval.shape for s in walk(f.body) if isinstance(s, For) for v in s.body.params if v.hint.endswith("_tape")]


@pytest.mark.parametrize(
    ("fun", "shapes"), [(decay, [(4, 5)]), (stencil, []), (recurrence, []), (overwritten, []), (accumulated, [])]
)
def test_tapes_hold_what_is_needed(fun, shapes):
    p = read_program(fun, *CASES[fun])
    assert tapes(reverse.vjp(p.function, active_leaves(p.function))) == shapes


def test_reads_of_a_captured_array_accumulate_in_place():
    """One buffer goes round the backward loop; each trip adds to one element of it."""
    p = read_program(accumulated, X)
    g = reverse.grad(p.function, [0])
    assert count_ops(g, "put_add") == 2 and count_ops(g, "full") == 1


def test_forward_mode_through_derivatives_of_loops():
    p = read_program(decay, X)
    g = reverse.grad(p.function, [0])
    h = forward.jvp(g, [True])
    check(Program(h), (X, X), order=1)


def test_a_branch_that_does_not_touch_a_value_keeps_its_cotangent():
    """x gets one from below the `if` and one from one branch; v only from the other branch."""

    def f(x, v):
        if v[0] > 0.1:
            v = np.sin(x)
        return v + x * x

    for first in (0.5, -0.5):
        check_source(f, X, np.array([first, 0.2, 0.3, 0.4, 0.5]))


def summed(x, a):
    s = np.float64(0.0)
    z = np.zeros(4)
    for i in range(4):
        if a[i, 0] > 0.0:
            s = s + np.sin(x[i])
        for j in range(5):
            s = s - a[i, j] * x[j] * x[j]
        z[i] += x[i] * x[i + 1]
    return s + np.sum(z * z)


def test_a_sum_carries_no_cotangent_backwards():
    """What is only added to has one cotangent for the whole loop; only the captured arrays' go round."""
    p = check_source(summed, X, A)
    g = reverse.grad(p.function, [0, 1])
    loops = [s for s in walk(g.body) if isinstance(s, For) and s.range.reverse]
    assert loops and all({v.hint for v in s.body.params[1:]} <= {"d_x", "d_a"} for s in loops)


def test_a_value_used_beside_its_sum_is_carried():
    def f(x):
        s = x[0]
        for i in range(4):
            s = s + x[i] * np.sin(s)
        return s

    check_source(f, X, order=3)


def diagonals_of_what_is_stored_into(a, u):
    a = a.copy()
    t = 0.0
    for i in range(3, 0, -1):
        a[:, i] += np.diag(a) * u
        t = a[i, 0]
    return t, a


def test_diagonals_are_views_which_printed_source_takes_before_stores():
    rng = np.random.default_rng(4)
    check_source(diagonals_of_what_is_stored_into, rng.normal(size=(4, 4)), rng.normal(size=4), order=2)


def beside(x):
    total = 0.0
    for i in range(1, len(x)):
        total += x[i - 4 : i][1:].sum()
    return total


@pytest.mark.parametrize("n", [4, 9])
def test_a_slice_that_counts_from_the_back_is_never_derived_wrongly(n):
    """The first slices are empty: x[-3:1]. What the backward pass adds to them must not land at the other end. Of four
    numbers all are: there x[i - 4 : i] counts from the back in every turn.
    """
    for run in (grad(beside), accelerate(grad(beside), target="cpu")):
        if n == 4:
            np.testing.assert_array_equal(run(np.arange(1.0, 5)), np.zeros(4))
            continue
        with pytest.raises(IndexError, match="leaves its axis"):
            run(np.arange(1.0, n + 1))


def gathered_again(x, c):
    m, first, x = 1, x[0], x * 1.5
    y, u = np.zeros(4), x
    for i in range(0, 4, 2):
        y[:] = np.array([c, first, x[0], 0.3])
        if x[2] > 0 or m == 1:
            break
        u = u * 0.5
    return np.sum(u) + np.sum(y * y)


def test_what_is_moved_out_of_a_loop_that_is_visited_twice():
    assert_close = np.testing.assert_allclose
    assert_close(grad(gathered_again)(X, 0.4), 1.5 + np.array([2 * X[0] + 4.5 * X[0], 0, 0, 0, 0]))


def nested_and_gathered(x, c):
    n, u = 1, x
    for i in range(3):
        k = np.sin(x) * (i + 1.0)
        for _ in range(4):
            u = np.where(k > 0.9, u * 0.9, u * np.cos(u)) + np.array([c * i, 0.3, 0.1, c, c])
        n = n + 0
    return np.sum(u) * n


def test_what_is_moved_between_loops_that_are_both_visited_twice():
    check_source(nested_and_gathered, X, 0.4, order=1)
    assert accelerate(grad(nested_and_gathered))(X, 0.4) == pytest.approx(grad(nested_and_gathered)(X, 0.4))


class Held:
    def __init__(self, **values):
        self.__dict__.update(values)


def attributes_set_in_a_branch(x):
    held = Held(a=x[0], b=x[1])
    if x[1] > 0:
        held.__dict__["a"] = x[1] * x[2]
        held.b = held.a * 2
    return held.a * x[0] + held.__dict__["b"]


def attributes_set_in_a_loop(x):
    held = Held(a=x[0], b=x[1])
    for i in range(4):
        held.__dict__.update(a=held.a * x[i])
    return held.a * held.b


def objects_made_in_a_loop(x):
    s = 0.0
    for i in range(4):
        held = Held(a=x[i], b=s)
        s = held.a**2 + np.sin(held.b)
    return s


@pytest.mark.parametrize("f", [attributes_set_in_a_branch, attributes_set_in_a_loop, objects_made_in_a_loop])
def test_attributes_set_through_the_dict_of_an_object(f):
    check_grads(f, (X,), order=2)
