"""A root that a branch does not use adds nothing, at any order: through loops, arrays, tapes and lists."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, jvp
from untraced.testing import check_grads

X, V, W = np.array([0.0, 0.7, 1.3]), np.array([0.3, -0.2, 0.9]), np.array([0.5, 1.1, -0.4])


def in_a_loop(x, root):
    total = 0.0
    for i in range(3):
        r = root(x[i])
        if x[i] > 0.5:
            total = total + r * r * r
    return total


def on_a_test_in_a_branch(x, root):
    r = root(x[0])
    total = x[1]
    if x[2] < 0.5:
        total = total + r
    else:
        q = x[1] * x[2]
        if np.sin(q) > 0.9:
            total = total + r * q
    return total * total


def in_nested_branches(x, root):
    total, r = 0.0, root(x[0])
    for i in range(3):
        q = root(x[i])
        if i < 2:
            if x[i] > 0.5:
                total = total + q * x[2]
            else:
                total = total + x[i] ** 3
        if x[1] > 0.5:
            if x[0] > 0.5:
                total = r * x[1]
    return total * total


def of_an_array(x, root):
    r, total = root(x), 0.0
    for i in range(3):
        if x[i] > 0.5:
            total = total + r[i] ** 3
        for j in range(i):
            if x[j] > 0.5:
                total = total + r[j] * x[i]
    return total


def chosen_in_a_loop(x, root):
    r, total = root(x), 0.0
    for i in range(3):
        total = total + np.where(x[i] > 0.5, r[i] ** 3, x[i])
    return total


def in_a_while(x, root):
    y, i = x[1], 0
    while i < 3 and y < 100.0:
        r, level = root(x[i]), np.log1p(x[i])
        if x[i] > 0.5:
            y = y * r * level + 1.0
        else:
            y = y * x[2] + x[i]
        i = i + 1
    return y


def carried(x, root):
    """The root of the root that one trip makes is used by the next, or not."""
    y, total = x[0], 0.0
    for i in range(3):
        if y > 0.1 * i:
            total = total + y * y
            z = x[1]
        else:
            z = x[i]
        y = root(z) * (i < 2)
    return total


def between_pairs(x, root):
    total = 0.0
    for i in range(3):
        for j in range(3):
            d = x[i] - x[j]
            q = root(d * np.sign(d))
            if i != j:
                total = total + q * d * x[i]
    return total


def left_early(x, root):
    total = x[1]
    for i in range(3):
        r = root(x[2 - i])
        if x[2 - i] < 0.5:
            break
        total = total * r
    return total


PROGRAMS = (
    in_a_loop, on_a_test_in_a_branch, in_nested_branches, of_an_array, chosen_in_a_loop, in_a_while, carried,
    between_pairs, left_early,
)  # fmt: skip


def guarded(t):
    """A root without a slope at 0: only by what is not used does it differ."""
    return np.where(t > 0, np.sqrt(np.where(t > 0, t, 1.0)), 0.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_roots_that_no_branch_uses(program):
    def orders(root):
        f = lambda x: program(x, root)
        slope = lambda x: grad(f)(x) @ V
        bent = lambda x: grad(slope)(x) @ W
        return slope, bent, grad(bent)

    slope, bent, third = orders(np.sqrt)
    for found, want in zip((slope, bent, third), orders(guarded), strict=True):
        assert np.all(np.isfinite(want(X)))
        np.testing.assert_allclose(found(X), want(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(jvp(slope, (X,), (W,))[1], bent(X), rtol=1e-12)
    np.testing.assert_allclose(accelerate(third, target="cpu")(X), third(X), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", [0.6, -0.5])
def test_tangents_of_branches_that_leave_a_number(x):
    def fall(x):
        depth = x if x > 0 else 0.0
        return np.sqrt(depth) + x * x

    want = 0.5 / np.sqrt(x) + 2.0 * x if x > 0 else 2.0 * x
    assert jvp(fall, (x,), (1.0,))[1] == pytest.approx(want, rel=1e-12)
    assert grad(fall)(x) == pytest.approx(want, rel=1e-12)
    assert jvp(lambda x: jvp(fall, (x,), (1.0,))[1], (x,), (1.0,))[1] == pytest.approx(grad(grad(fall))(x), rel=1e-12)


def test_masks_are_made_only_where_a_slope_may_be_infinite():
    def smooth(x):
        s, total = np.sin(x), 0.0
        for i in range(3):
            if x[i] > 0.5:
                total = total + s[i] * s[i]
        return total

    assert "_used" not in grad(lambda x: grad(smooth)(x) @ V).source(X)
    assert grad(lambda x: of_an_array(x, np.sqrt)).source(X).count("r_used[") == 2


def test_masks_of_what_a_loop_leaves_hold_for_its_last_trip_alone():
    def rotated(x):
        r, q, s = np.linalg.norm(x), np.linalg.norm(x * 2.0), 0.0
        for _ in range(3):
            s += r + q
            r, q = q, np.tanh(x[0])
        if s > 100.0:
            s += r * q
        return s

    check_grads(rotated, (np.array([0.5, 1.0, -0.3]),), order=2, modes=("fwd", "rev"))
