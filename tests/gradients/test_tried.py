"""Derivatives of functions with `try`: what is caught becomes a branch, or is raised by the derivative as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.errors import UntracedError
from untraced.testing import check_grads


def reciprocal(x, y):
    try:
        return y / x
    except ZeroDivisionError:
        return 3.0 * y


def two_ways(x):
    try:
        y = math.log(x)
        z = math.sqrt(y)
    except ValueError as error:
        print("no logarithm, or no root:", error)
        z = x * x
    else:
        z = z + x
    return z


def checked(v):
    if v < 0:
        raise ValueError(f"negative: {v}")
    return np.sqrt(v)


def of_each(x):
    total = 0.0
    for i in range(len(x)):
        try:
            total += checked(x[i])
        except ValueError:
            total -= x[i] ** 3
            continue
        total *= 1.5
    return total


def looked_up(x, places):
    total = 0.0
    for k in places:
        try:
            total += x[k] ** 2
        except IndexError:
            total += x[0]
    return total


def found(x, names):
    try:
        scale = names["scale"]
    except KeyError:
        scale = 2.0
    finally:
        x = x * x
    return scale * np.sum(x)


def known_inside_loops(x):
    while True:
        try:
            x = x * 0.5
            if x < 0.1:
                raise StopIteration
        except StopIteration:
            break
    return x * x


CASES = [
    (reciprocal, (0.7, 1.3), (-1.3 / 0.49, 1 / 0.7)),
    (reciprocal, (0.0, 1.3), (0.0, 3.0)),
    (two_ways, (1.7,), (1 / (2 * 1.7 * math.sqrt(math.log(1.7))) + 1,)),
    (two_ways, (0.7,), (1.4,)),
    (two_ways, (-0.7,), (-1.4,)),
    (known_inside_loops, (1.3,), (2 * 1.3 / 2**8,)),
]


@pytest.mark.filterwarnings("ignore:.*leaves `print` out")
@pytest.mark.parametrize(("f", "args", "slopes"), CASES)
def test_the_branch_that_is_taken(f, args, slopes):
    which = tuple(range(len(args)))
    np.testing.assert_allclose(grad(f, argnums=which)(*args), slopes, rtol=1e-12)
    np.testing.assert_allclose(accelerate(grad(f, argnums=which))(*args), slopes, rtol=1e-12)


def test_arrays():
    x = np.array([0.3, -0.4, 0.7, -0.2])
    check_grads(of_each, (x,))
    check_grads(lambda x: looked_up(x, np.array([0, 5, 2, -7])), (x,))
    np.testing.assert_allclose(grad(found)(x, {}), 4 * x)
    np.testing.assert_allclose(grad(found)(x, {"scale": 3.0}), 6 * x)


def rooted(x):
    try:
        return checked(x)
    except ValueError:
        return 5.0 * x


def test_batches():
    np.testing.assert_allclose(vmap(rooted)(np.array([0.25, 0.0, -0.7])), [0.5, 0.0, -3.5])
    np.testing.assert_allclose(vmap(grad(rooted))(np.array([0.25, -0.7])), [1.0, 5.0])


def places_known(x):
    total = 0.0
    for k in np.array([0, 5, 2, -7]):
        total += x[0] if k < -4 or k >= 4 else x[k] ** 2
    return total


def test_a_mask_that_is_known():
    x = np.array([0.3, -0.4, 0.7, -0.2])
    np.testing.assert_allclose(grad(places_known)(x), [2.6, 0.0, 1.4, 0.0])


def factored(a, x):
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return 3.0 * x
    return 2.0 * x


def with_jitter(a, x):
    """What is added grows until there is a factor."""
    jitter = 0.0
    while True:
        try:
            factor = np.linalg.cholesky(a + jitter * np.eye(len(x)))
            break
        except np.linalg.LinAlgError:
            jitter = 0.01 if jitter == 0.0 else 2.0 * jitter
    return np.sum(np.linalg.solve(factor, x) ** 2) + np.sum(np.log(np.diag(factor)))


def inverted(a, x):
    try:
        return x @ np.linalg.inv(a) @ x
    except np.linalg.LinAlgError:
        return x @ np.linalg.pinv(a) @ x * np.sum(a)


def solved(a, x):
    try:
        y = np.linalg.solve(a, x)
    except np.linalg.LinAlgError:
        y = x * np.sum(a)
    return np.sum(y**2)


DEFINITE = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.1]])
SINGULAR = np.outer([1.0, 2.0, 0.5], [1.0, 2.0, 0.5])


@pytest.mark.parametrize("a", [DEFINITE, SINGULAR - 0.3 * np.eye(3)], ids=["definite", "indefinite"])
def test_factors(a):
    x = np.array([0.3, -0.4, 0.7])
    sym = lambda f: lambda a, x: f((a + a.T) / 2, x)  # noqa: E731
    check_grads(sym(with_jitter), (a, x), order=2)
    check_grads(accelerate(sym(with_jitter)), (a, x))
    assert grad(factored, argnums=1)(a, 1.0) == (2.0 if a is DEFINITE else 3.0)
    assert accelerate(grad(factored, argnums=1))(a, 1.0) == (2.0 if a is DEFINITE else 3.0)


@pytest.mark.parametrize("f", [inverted, solved])
@pytest.mark.parametrize("a", [DEFINITE, SINGULAR], ids=["regular", "singular"])
def test_systems(f, a):
    x = np.array([0.3, -0.4, 0.7])
    check_grads(lambda x: f(a, x), (x,), order=2)
    by_matrix = grad(f)(a, x)
    np.testing.assert_allclose(accelerate(grad(f))(a, x), by_matrix, rtol=1e-10)
    if a is DEFINITE:
        check_grads(f, (a, x))


@pytest.mark.parametrize("f", [with_jitter, inverted, solved])
def test_batches_of_matrices(f):
    a, x = np.stack([DEFINITE, SINGULAR, DEFINITE - np.eye(3), -DEFINITE]), np.array([0.3, -0.4, 0.7])
    expected = [f(each, x) for each in a]
    for each in (vmap(f, (0, None)), accelerate(vmap(f, (0, None)))):
        np.testing.assert_allclose(each(a, x), expected, rtol=1e-10)
    slopes = vmap(grad(f, argnums=1), (0, None))(a, x)
    np.testing.assert_allclose(slopes, [grad(f, argnums=1)(each, x) for each in a], rtol=1e-9)


def test_the_source_asks_lapack_with_numpy_alone():
    source = grad(factored, argnums=1).source(DEFINITE, 1.0)
    names = {"np": np}
    exec(source, names)
    assert names["factored_grad"](DEFINITE, 1.0) == 2.0
    assert names["factored_grad"](-DEFINITE, 1.0) == 3.0
    assert "except np.linalg.LinAlgError" in source


def in_turn(a, x):
    try:
        for _ in range(3):
            x = np.linalg.solve(a, x)
    except np.linalg.LinAlgError:
        return 3.0 * x
    return x


def test_what_a_loop_inside_meets_is_raised():
    assert grad(lambda x: np.sum(in_turn(2.0 * np.eye(2), x)))(np.ones(2)).tolist() == [0.125, 0.125]
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda x: np.sum(in_turn(np.zeros((2, 2)), x)))(np.ones(2))


def emptied(x):
    total = [x]
    try:
        total.append(1.0 / total.pop())
    except ZeroDivisionError:
        total.append(5.0 * x)
    return total[0]


def test_half_a_statement_is_refused():
    with pytest.raises(UntracedError, match="may fail later"):
        grad(emptied)(1.0)


def in_a_branch(x):
    try:
        if x > 0:
            y = x * 2
        else:
            y = math.log(x)
    except ValueError:
        y = 5 * x
    return y


def in_a_loop(x):
    y = 0.0
    try:
        for i in range(3):
            y = y + math.log(x - i)
    except ValueError:
        y = 5 * x
    return y


def in_a_handler(x):
    try:
        try:
            y = 1.0 / (x - 1)
        except ZeroDivisionError:
            y = math.log(x - 1)
    except ValueError:
        return 5 * x
    return y


def without_a_condition(x):
    try:
        y = math.sinh(x)
    except OverflowError:
        y = 0.0 * x
    return y


def beyond_all_numbers(x):
    try:
        y = x**400
    except OverflowError:
        y = 0.0 * x
    return y


@pytest.mark.parametrize(
    "f", [in_a_branch, in_a_loop, in_a_handler, without_a_condition, beyond_all_numbers], ids=lambda f: f.__name__
)
def test_failures_that_no_condition_tells_are_refused(f: Any) -> None:
    with pytest.raises(UntracedError, match="in a `try` that catches it"):
        grad(f)(1.5)


def inverted(x):
    try:
        y = x**-1
    except ZeroDivisionError:
        y = 3.0 * x
    return y


def test_negative_powers_of_zero() -> None:
    assert grad(inverted)(0.0) == 3.0
    assert grad(inverted)(2.0) == -0.25
