"""Derivatives of functions in which a name is a number or an array without axes (`np.where` of numbers), as the data
decide.
"""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, value_and_grad
from untraced.errors import CutError
from untraced.testing import check_grads

X = np.array([1.2, 2.0, -0.3])


def returned_early(x, s):
    for i in range(3):
        if x[i] > 1.5:
            return np.where(x[0] > 0, x[1] * s, x[2])
        s = s + x[i]
    return s * 2


def bound_in_a_branch(x, s):
    t = s
    if x[0] > 0:
        t = np.where(x[1] > 1, x[1] * x[1], 2.0)
    return t * x[0]


def carried(x, s):
    t = s
    for i in range(3):
        if x[i] > 0:
            t = np.where(x[i] > 1, x[i] * t, 2.0 * t)
    t += 1.0
    return t * t


def changed_in_the_body(x, s):
    t = s
    for i in range(3):
        t = np.where(x[i] > 0, x[i] * t, s)
        q = t
        t += 0.5
    return t * q


def limited(v, high):
    if v > high:
        return 1.0
    return v


def beside_a_literal(x, s):
    return limited(np.where(x[1] > 1, x[0] * s, s), 0.5) * limited(np.where(x[1] > 1, s, s), 2.0)


@pytest.mark.parametrize("f", [beside_a_literal, returned_early, bound_in_a_branch, carried, changed_in_the_body])
@pytest.mark.parametrize("sign", [1, -1])
def test_derivatives(f, sign):
    args = (sign * X, 1.5)
    assert value_and_grad(f)(*args)[0] == pytest.approx(f(*args))
    check_grads(f, args, order=2)
    for got, expected in zip(accelerate(grad(f, (0, 1)))(*args), grad(f, (0, 1))(*args), strict=True):
        np.testing.assert_allclose(got, expected)


def with_two_names(x, s):
    t = np.where(x[0] > 0, x[0], 1.0)
    if x[1] > 0:
        t = s
    q = t
    t += 1.0
    return t + q


def with_two_names_in_a_loop(x, s):
    t = s
    for i in range(3):
        q = t
        t += 1.0
        s = s + q
        t = np.where(x[i] > 0, x[i] * t, 1.0)
    return t + s


def in_a_container(x, s):
    t = s
    if x[0] > 0:
        t = np.where(x[1] > 1, x[1], 2.0)
    kept = [t]
    t += 1.0
    return t + kept[0]


@pytest.mark.parametrize("f", [with_two_names, with_two_names_in_a_loop, in_a_container])
def test_a_store_that_only_an_array_would_show_is_refused(f):
    with pytest.raises(CutError, match="may be an array without axes"):
        grad(f)(X, 1.5)
    assert accelerate(f)(X, 1.5) == f(X, 1.5)
    assert accelerate(f)(-X, 1.5) == f(-X, 1.5)
