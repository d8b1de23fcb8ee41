"""Derivatives and batches of sorts and Fourier transforms: finite differences, loops over elements, JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import Drawn
from test_families import C, F, arrays, run

import untraced
from untraced import UntracedError, accelerate, grad, value_and_grad, vmap
from untraced.runtime.transforms.testing import check_grads
from untraced.translator import make, ops
from untraced.translator.ir import const

RNG = Drawn(11)
X = (RNG.permutation(30).reshape(5, 6) - 14.3) / 8  # far enough apart that no difference crosses a tie
V = X.ravel()[:9].copy()
W = RNG.standard_normal((5, 6))
Z = RNG.standard_normal((4, 6)) + 1j * RNG.standard_normal((4, 6))


@pytest.mark.parametrize("axis", [0, 1])
def test_sort(axis):
    run(lambda b, v: make.multiply(b, make.sort(b, make.multiply(b, v, v), axis), const(W)), X, order=2)


@pytest.mark.parametrize("name", ["fft", "ifft"])
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1), (2, 0, 1)])
def test_complex_transforms(name, axes):
    op = getattr(ops, name.upper())
    for dtype in (F, C):
        (x,) = arrays((2, 3, 4), dtype=dtype)
        run(lambda b, v: make.fourier(b, op, make.multiply(b, v, v), axes), x)  # noqa: B023


@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1), (2, 0, 1)])
def test_real_transforms(axes):
    (x,) = arrays((2, 5, 4))
    run(lambda b, v: make.fourier(b, ops.RFFT, make.multiply(b, v, v), axes), x)
    (z,) = arrays((3, 4, 4), dtype=C)
    for size in (2 * (z.shape[axes[-1]] - 1), 2 * z.shape[axes[-1]] - 1):
        run(lambda b, v: make.fourier(b, ops.IRFFT, make.multiply(b, v, v), axes, size), z)  # noqa: B023


def smallest(x):
    return np.sum(np.sort(x, axis=None)[:5] ** 2)


def middles(x):
    return np.median(x, axis=1) * np.percentile(x, [20.0, 70.0], axis=1)


def ordered_by(x, y):
    return x[np.argsort(y)] * np.sort(x) * np.partition(x, 2)


def interpolated(x, y):
    return np.interp(x, np.array([-2.0, -0.5, 0.4, 2.0]), y)


def filtered(x, y):
    return np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), n=6)


def power(x):
    return np.abs(np.fft.fft2(x)) ** 2


def running(x):
    return np.maximum.accumulate(x, axis=1) ** 2


def slopes(x):
    return np.gradient(x**2, np.array([0.0, 0.5, 2.0, 2.5, 4.0]), axis=0)


PROGRAMS = [
    (smallest, (X,)),
    (middles, (X,)),
    (ordered_by, (V, V[::-1].copy())),
    (interpolated, (X * 0.9, V[:4])),
    (filtered, (X, W)),
    (power, (X,)),
    (running, (X,)),
    (slopes, (X,)),
]


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda c: getattr(c, "__name__", ""))
def test_programs(fun, args):
    check_grads(fun, args, order=2)


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda c: getattr(c, "__name__", ""))
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_batches_and_compiled_gradients(fun, args, target):
    batch = [np.stack([a, 1.3 * a + 0.1, -a]) for a in args]
    wanted = np.stack([fun(*(a[k] for a in batch)) for k in range(3)])
    found = untraced.accelerate(untraced.vmap(fun), target=target)(*batch)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)  # transforms round in another order

    def energy(*xs):
        return np.sum(fun(*xs) ** 2)

    plain, compiled = untraced.grad(energy), untraced.accelerate(untraced.grad(energy), target=target)
    np.testing.assert_allclose(compiled(*args), plain(*args), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fft2", "rfft2", "irfft2"])
def test_cotangents_follow_jax(name):
    x = Z.real if name.startswith("rfft") else Z

    def transform(x):
        return getattr(np.fft, name)(x)

    y, pull = untraced.vjp(transform, x)
    ct = RNG.standard_normal(y.shape) + (1j * RNG.standard_normal(y.shape) if y.dtype.kind == "c" else 0.0)
    with jax.enable_x64(True):
        _, theirs = jax.vjp(getattr(jnp.fft, name), jnp.asarray(x))
        np.testing.assert_allclose(pull(ct)[0], theirs(jnp.asarray(ct))[0], rtol=1e-12, atol=1e-12)


def test_ties_go_to_the_first():
    gradient = untraced.grad(lambda x: np.sum(np.sort(x)[:2]))(np.array([3.0, 1.0, 3.0, 3.0]))
    np.testing.assert_array_equal(gradient, [1.0, 1.0, 0.0, 0.0])


def by_rank(v):
    levels = [v[0] * 2.0, v[1], float(v[2]), 1.0]
    levels.sort(reverse=True)
    first, second, *rest = sorted(v, reverse=True)
    return levels[0] * levels[2] + first * second**2 + sum(rest) * sorted([v[0] * v[1], v[2]])[0]


def test_numbers_that_python_sorts():
    v = np.array([0.3, 0.9, 0.5, 1.4])
    check_grads(by_rank, (v,), order=2)
    np.testing.assert_allclose(vmap(by_rank)(np.stack([v, v[::-1]])), [by_rank(v), by_rank(v[::-1])], rtol=1e-14)
    by_tuples = grad(lambda v: sorted([v[:2], v[2:]], key=lambda r: (r[0], -r[1]), reverse=True)[0][1])
    np.testing.assert_array_equal([by_tuples(v), by_tuples(v[::-1])], [[0, 0, 0, 1], [0, 1, 0, 0]])


def test_polydiv():
    check_grads(np.polydiv, (np.array([1.0, 0.2, 3.0, 0.4]), np.array([2.0, 0.7, 1.1])), order=2)
    with pytest.raises(ValueError, match="leading zeros"):
        grad(lambda p: np.polydiv(p, np.array([1.0, 1.0, 1.0]))[0][0])(np.array([1.0, 1.0, 1.0, 2.0]))


def test_a_sorts_cotangents_are_stored() -> None:
    x, m = np.array([0.3, 0.1, 0.7, 0.2]), np.arange(12.0).reshape(3, 4)[::-1] ** 2
    for f, a in (
        (lambda x: np.sum(np.sort(x) * np.arange(4.0)), x),
        (lambda x: np.sum(np.sort(x, axis=0) ** 2 * np.arange(3.0)[:, None]), m),
        (lambda x: np.sum(np.sort(x, axis=1) ** 2 * np.arange(4.0)), m),
        (lambda x: np.sum(x[np.argsort(x)] ** 2 * np.arange(4.0)), x),
    ):
        check_grads(f, (a,))
        assert "add.at" not in accelerate(grad(f), target="numpy").inspect(a).source


def sorted_in_three_rows(x, w):
    order = np.argsort(x)
    rows = np.zeros((3, 1), dtype=np.int64)
    return np.sum(w * np.stack([x, x * 2])[rows, order])


def test_elements_that_are_sorted_several_times() -> None:
    x, w = np.array([3.0, 1.0, 2.0]), np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(grad(sorted_in_three_rows)(x, w), [15.0, 9.0, 12.0])


def farthest(points):
    return sum(max(points, key=np.linalg.norm) ** 3)


def pivoted(x):
    """A place by a key; it is an index then."""
    total = 0.0
    for k in range(3):
        j = max(range(k, len(x)), key=lambda i: abs(x[i]))
        x[[k, j]] = x[[j, k]]
        total += x[k] ** 2 * (k + 1)
    return total


def by_second(x, y):
    pairs = sorted(zip(x, y), key=lambda p: -p[1])
    return sum(i * a * d for i, ((a, _), (_, d)) in enumerate(zip(pairs, pairs[1:])))


def smallest_first(x):
    xs = [x[0], x[1] * x[2], x[2]]
    xs.sort(key=lambda v: v * v, reverse=True)
    i, v = min(enumerate(xs), key=lambda p: p[1])
    return xs[0] + 2 * xs[1] * xs[2] + i * v**2


KEYED = [
    (farthest, (np.array([[0.3, -1.2], [2.1, 0.7], [-0.4, 0.6]]),)),
    (pivoted, (np.array([0.3, -1.2, 2.1, 0.7]),)),
    (by_second, (np.array([0.3, -1.2, 2.1, 0.7]), np.array([0.2, 1.1, -0.3, 0.8]))),
    (smallest_first, (np.array([0.3, -1.2, 2.1]),)),
]


@pytest.mark.parametrize(("fun", "args"), KEYED)
def test_orders_by_a_key(fun, args):
    check_grads(fun, args, order=2)
    nums = tuple(range(len(args)))
    for got, want in zip(accelerate(grad(fun, nums))(*args), grad(fun, nums)(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    stacked = [np.stack([a, -2 * a[::-1]]) for a in args]
    np.testing.assert_allclose(vmap(fun)(*stacked), [fun(*map(np.copy, p)) for p in zip(*stacked)], rtol=1e-12)


def test_keys_that_are_nan_or_tie_are_pythons():
    def chosen(x):
        return max(x, key=abs) * 10 + min(range(len(x)), key=lambda i: x[i] ** 2)

    for x in ([np.nan, 1.0, -3.0], [1.0, np.nan, -3.0], [2.0, -2.0, np.nan], [-2.0, 2.0, 2.0]):
        np.testing.assert_array_equal(value_and_grad(chosen)(np.array(x))[0], chosen(np.array(x)))
    tied = sorted(range(6), key=lambda i: [1, 0, 1, 0, 1, 0][i], reverse=True)
    ranks = vmap(lambda x: np.array(sorted(range(6), key=lambda i: x[i], reverse=True)))
    assert ranks(np.array([[1.0, 0, 1, 0, 1, 0]])).tolist() == [tied]


def test_what_a_key_has_chosen_is_not_written():
    """In Python it is the row itself."""

    def written(x):
        row = max(x, key=np.linalg.norm)
        row *= 2
        return np.sum(x**2)

    def written_before(x):
        row = max(x, key=np.linalg.norm)
        x[:] = x * 2
        return np.sum(row)

    for fun in (written, written_before):
        with pytest.raises(UntracedError, match="one of two"):
            grad(fun)(np.array([[0.3, -1.2], [2.1, 0.7]]))
