"""Derivatives of functions that call themselves until the data say so."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import untraced
from untraced.runtime.transforms.testing import check_grads
from untraced.translator.errors import UnsupportedError

TURN = np.array([[0.5, 0.2], [-0.1, 0.4]])


def squared(x):
    return x if x > 10 else squared(x * x)


SQUARED = np.vectorize(squared)


def midpoints(a, b, tol):
    m = (a + b) / 2
    if b - a < tol:
        return np.sin(m) * (b - a)
    return midpoints(a, m, tol) + midpoints(m, b, tol)


def bump(x):
    return np.exp(-x * x) * np.cos(3 * x)


def simpson(a, b, fa, fm, fb, whole, eps, w):
    m = 0.5 * (a + b)
    left_mid, right_mid = bump(w * 0.5 * (a + m)), bump(w * 0.5 * (m + b))
    left, right = (m - a) / 6 * (fa + 4 * left_mid + fm), (b - m) / 6 * (fm + 4 * right_mid + fb)
    error = left + right - whole
    if abs(error) <= 15 * eps:
        return left + right + error / 15
    first = simpson(a, m, fa, left_mid, fm, left, eps / 2, w)
    return first + simpson(m, b, fm, right_mid, fb, right, eps / 2, w)


def quadrature(w):
    fa, fm, fb = bump(0.0 * w), bump(w), bump(2.0 * w)
    return simpson(0.0, 2.0, fa, fm, fb, (fa + 4 * fm + fb) / 3, 1e-8, w)


def product_tree(x):
    return np.sin(x) if x < 1.0 else product_tree(x - 1.0) * product_tree(x - 2.0)


def fraction(x, k=1.0):
    return x if k > 20.0 else x + k / fraction(x, k + 1.0)


def even(x):
    return x * x if x < 1 else odd(x - 1) * 2.0


def odd(x):
    return np.exp(x) if x < 1 else even(x - 1) * x


def pair(x, s):
    if s > 4.0:
        return {"a": x, "rest": [s, None]}
    r = pair(x * 1.5, s + x)
    return {"a": r["a"] + x, "rest": [r["rest"][0] * 0.5, None]}


def of_two(x):
    r = pair(x, 0.0)
    return r["a"] * r["rest"][0]


def with_loops(x):
    if x < 0.2:
        return x
    t = x
    while t > 0.3:
        t = t * 0.7
    for i in range(4):
        t = t + with_loops(x * 0.3) * 0.1 * i
    return t * x


def enclosing(x):
    total = 0.0
    for k in range(3):
        c = x * (k + 1.0)

        def halved(y, c=c):
            return c * y if y < 0.5 else halved(y * 0.5) * c + y

        total = total + halved(x)
    return total


def arrays(v, turn=TURN):
    if np.sum(v * v) < 1e-2:
        return v
    w = np.tanh(turn @ v)
    w[0] *= 0.5
    return arrays(w, turn) + v * w[1]


def escaping(x):
    z = x + 0.5j
    return leaving(z)


def leaving(z):
    return (z * np.conj(z)).real if abs(z) > 4 else leaving(z * z + 0.3)


class Holder:
    def __init__(self, k):
        self.k = k

    def grown(self, x):
        return x * self.k if x > 10 else self.grown(x * x) + x


HOLDER = Holder(2.5)
NUMBERS = {
    squared: 1.7,
    quadrature: 1.3,
    product_tree: 4.3,
    fraction: 1.7,
    even: 5.3,
    of_two: 1.1,
    with_loops: 1.3,
    enclosing: 1.2,
    escaping: 1.2,
    lambda x: HOLDER.grown(x): 1.8,
    lambda x: midpoints(0.0, x, 0.2): 1.3,
    lambda x: np.sum(arrays(np.array([1.0, -2.0]) * x) ** 2): 1.1,
}


@pytest.mark.parametrize(("f", "x"), NUMBERS.items(), ids=lambda f: getattr(f, "__name__", None))
def test_both_modes_to_second_order(f, x):
    check_grads(f, (x,), order=2, modes=("fwd", "rev"))


def test_with_respect_to_arrays_of_the_arguments_and_of_outside():
    check_grads(lambda v, t: np.sum(arrays(v, t) ** 2), (np.array([1.0, -2.0]), TURN), order=1)


def test_elements_of_a_batch_that_go_one_way():
    """Cotangents and tangents of one point are mapped: jacobians, Hessians."""
    v = np.array([1.0, -2.0])
    np.testing.assert_allclose(untraced.jacrev(arrays)(v), untraced.jacfwd(arrays)(v), rtol=1e-12)
    twice = untraced.hessian(lambda v: np.sum(arrays(v) ** 2))(v)
    np.testing.assert_allclose(twice, twice.T, rtol=1e-9)


def test_the_derivative_reads_as_a_person_writes_it():
    line = inspect.getsourcelines(squared)[1] + 1
    source = untraced.grad(squared).inspect(1.7).source
    assert source.splitlines() == [
        "def squared_grad(x):",
        "    def squared_vjp(x, ct):",
        "        if x > 10:",
        "            d_x = ct",
        "        else:",
        f"            d_t = squared_vjp(x * x, ct)  # from line {line}: squared(x * x)",
        f"            d_x = d_t * (2.0 * x)         # from line {line}: x * x",
        "        return d_x",
        "",
        "    return squared_vjp(x, np.float64(1.0))",
    ]


def test_one_routine_for_all_calls():
    """Other arguments become active within: one derivative serves for the first call and for those inside."""
    assert untraced.grad(midpoints).inspect(0.0, 1.3, 0.2).source.count("def midpoints_vjp") == 1


def test_what_is_not_needed_is_not_called():
    """Of a sum the pullback needs no values, so its work is that of the function."""
    assert "def midpoints(" not in untraced.grad(midpoints).inspect(0.0, 1.3, 0.2).source
    assert "def fraction(" in untraced.grad(fraction).inspect(1.7).source


def test_printed_and_derived_again():
    space = {"np": np}
    exec(untraced.grad(product_tree).inspect(4.3).source, space)
    assert space["product_tree_grad"](4.3) == untraced.grad(product_tree)(4.3)


def test_accelerated_functions_and_derivatives_are_called_by_cpython():
    for f, x in ((squared, 1.7), (quadrature, 1.3), (of_two, 1.1)):
        assert untraced.accelerate(f)(x) == pytest.approx(f(x), rel=1e-12)
        gradient = untraced.accelerate(untraced.grad(f), target="cpu")
        assert gradient(x) == pytest.approx(untraced.grad(f)(x), rel=1e-12)
        assert gradient.inspect(x).target == "numpy"


def test_deep():
    def summed(x, k):
        return x * 0.0 if k > 300.0 else np.sin(x * k) + summed(x, k + 1.0)

    want = sum(k * np.cos(0.3 * k) for k in range(1, 301))
    assert untraced.grad(summed)(0.3, 1.0) == pytest.approx(want, rel=1e-10)


def test_what_is_raised_inside():
    def checked(x):
        if x < 0.2:
            raise ValueError(f"{x} is small")
        return x if x < 0.5 else checked(x * 0.5) * x

    check_grads(checked, (1.7,), order=2)
    with pytest.raises(ValueError, match="is small"):
        untraced.grad(checked)(0.1)


def test_a_recursion_that_ends_by_known_numbers_stays_written_out():
    def powers(x, n):
        return 1.0 if n == 0 else x * powers(x, n - 1)

    assert "def" not in untraced.grad(powers).inspect(1.5, 4).source.split("\n", 1)[1]


def test_a_recursion_in_branches_does_not_grow_with_its_depth():
    def halves(a, b, depth):
        middle, s = 0.5 * (a + b), np.sin(a * b)
        if depth == 0 or abs(b - a) < 0.05:
            return s * (b - a)
        return halves(a, middle, depth - 1) + halves(middle, b, depth - 1)

    lines = [len(untraced.grad(halves).source(0.3, 2.0, depth).splitlines()) for depth in (6, 9)]
    assert max(lines) < 60
    check_grads(lambda a, b: halves(a, b, 6), (0.3, 2.0), order=2)


def test_refused():
    def written(v):
        if v[0] > 3.0:
            return np.sum(v)
        v[0] *= 2.0
        return written(v)

    with pytest.raises(UnsupportedError, match="writes to what was made outside"):
        untraced.grad(lambda v: written(v * 1.0))(np.array([1.0, 2.0]))

    def endless(x):
        return endless(x * 0.5)

    with pytest.raises(UnsupportedError, match="every way through endless calls it again"):
        untraced.grad(endless)(1.0)

    def shapes(v):
        if np.sum(v) > 3:
            return v
        s = shapes(v * 2)
        return np.concatenate([s, v])

    with pytest.raises(UnsupportedError, match="different shapes or dtypes|an array of shape"):
        untraced.grad(lambda v: np.sum(shapes(v)))(np.array([1.0, 0.5]))

    def told(x):
        return x if x > 10 else told(x * x) + untraced.lax.psum(x, "i")

    with pytest.raises(UnsupportedError, match="vmap of told"):
        untraced.vmap(told, axis_name="i")(np.array([1.5, 2.5]))


def test_batches_whose_elements_call_to_different_depths():
    def ackermann(m, n):
        if m == 0:
            return n + 1
        return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    m, n = np.array([0, 1, 2, 2]), np.array([3, 2, 1, 3])
    np.testing.assert_array_equal(untraced.vmap(ackermann)(m, n), [4, 4, 5, 9])

    def some(x, k):
        total = 0.0
        for i in range(k):
            total += squared(x + i)
        return squared(x) if k > 2 else total

    x, k = np.array([1.2, 2.5, 11.0, 1.7]), np.array([0, 2, 1, 3])
    want = [some(a, int(b)) for a, b in zip(x, k)]
    for lanes in ("auto", "loop", "lockstep"):
        np.testing.assert_allclose(untraced.vmap(some, lanes=lanes)(x, k), want)
    nested = untraced.jit(untraced.vmap(untraced.vmap(squared)))
    np.testing.assert_allclose(nested(x.reshape(2, 2)).ravel(), SQUARED(x))
    slopes = [untraced.grad(squared)(v) for v in x]
    np.testing.assert_allclose(untraced.vmap(untraced.grad(squared))(x), slopes)
    np.testing.assert_allclose(untraced.grad(lambda x: np.sum(untraced.vmap(squared)(x)))(x), slopes)
    assert "for lane in range(4):" in untraced.vmap(squared).source(x)
    for f in (untraced.vmap(squared), untraced.vmap(untraced.grad(squared)), untraced.jit(untraced.vmap(squared))):
        assert f(x[:0]).shape == (0,) and f(x[:0]).dtype == x.dtype
    assert untraced.vmap(ackermann)(m[:0], n[:0]).dtype == n.dtype


def test_with_rules_of_the_users_own():
    @untraced.custom_jvp
    def f(x):
        return x if x > 10 else f(x * x)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), 3.0 * tangents[0] * f(*primals)

    assert untraced.grad(f)(1.7) == pytest.approx(3.0 * f(1.7))
    kept = untraced.checkpoint(lambda x: product_tree(x) * x)
    check_grads(kept, (3.3,), order=2)

    @untraced.checkpoint
    def shrunk(x):
        return np.sin(x) if x < 1 else shrunk(x * 0.6) * x

    check_grads(shrunk, (3.7,), order=2)


def slope_of(f):
    def g(*args, **options):
        def total(*inner):
            return np.sum(f(*inner, **options))

        return untraced.grad(total)(*args)

    return g


def test_functions_of_one_text_are_not_one_function():
    x = np.linspace(-1.0, 1.0, 5)
    f, found = np.tanh, []
    for _ in range(4):
        f = slope_of(f)
        found.append(f(x))
    y, z = np.tanh(x), 1.0 - np.tanh(x) ** 2
    want = [z, -2.0 * y * z, (6.0 * y * y - 2.0) * z, (16.0 - 24.0 * y * y) * y * z]
    np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-14)
