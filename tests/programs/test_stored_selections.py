"""What was told of a selection when it was made holds no longer when something is stored into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, value_and_grad
from untraced.translator.errors import UntracedError

X = np.arange(1.0, 13.0)
PLACES = np.array([0, 3, 6, 1])


def add_a_number(y: Any) -> None:
    y += 1.0


def add_a_line(y: Any) -> None:
    y += np.array([1.0, 2.0, 3.0])


def store_first(y: Any) -> None:
    y[0] = 50.0


def store_all(y: Any) -> None:
    y[:] = 2.0


def store_under_a_mask(y: Any) -> None:
    y[y > 10] = 10.0


def give_out(y: Any) -> None:
    np.multiply(y, 3.0, out=y)


CHANGES = [add_a_number, add_a_line, store_first, store_all, store_under_a_mask, give_out]
READINGS: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "product": lambda y: y @ np.array([1.0, 2.0, 3.0]),
    "row": lambda y: y,
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_stores_into_what_was_computed_of_slices(change: Callable[[Any], None], reading: str) -> None:
    read = READINGS[reading]

    def f(x: Any, places: Any) -> Any:
        out = np.zeros((len(places), 3))
        for k in range(len(places)):
            i = places[k]
            y = x[i : i + 3] * 2
            z = y
            change(y)
            out[k] = read(z)
        return out

    for target in ("numpy", "cpu"):
        np.testing.assert_allclose(accelerate(f, target=target)(X, PLACES), f(X, PLACES))


def test_derivatives_of_such_stores() -> None:
    def f(x: Any) -> Any:
        i = int(x[1])
        y = x[i : i + 3] * 2
        y[0] = 50.0
        return np.sum(y * np.array([1.0, 2.0, 3.0]))

    value, slope = value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(slope, [0, 0, 0, 4, 6, *[0] * 7])


def test_what_a_loop_was_found_to_carry_is_not_taken_for_anothers() -> None:
    """In the second reading a branch has become data, with a loop more in front of those that are met again."""

    def f(x: Any, n: int) -> Any:
        state, q, out = [0], 0.0, np.zeros(8)

        def bump(v: int) -> None:
            state[0] = state[0] + v

        for i in range(n):
            if state[0] > 2:
                for k in range(n):
                    q = q * 0.5 + x[k]
            for c in (1, 0.5):
                t = 1
                for _ in range(n):
                    t = t * c + 1152921504606846977
                if c == 1:
                    out[i] = t % 1000
            bump(1)
        return out, q

    for ours, theirs in zip(accelerate(f)(X, 4), f(X, 4), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def moved_places(x: Any, m: Any) -> Any:
    i = np.nonzero(m)[0]
    i += 1
    return np.sum(x[i] * x[i])


def moved_columns(x: Any, m: Any) -> Any:
    r = np.nonzero(m)[0]
    r += 1
    r %= 4
    w = x * 1.0
    w[r[:, None], r[None, :]] = 0.0
    return np.sum(w)


def changed_behind_a_view(x: Any, m: Any) -> Any:
    r = np.nonzero(m)[0]
    c, e = r[:, None], r[None, :]
    r[0] = 1
    w = x * 1.0
    w[c, e] = 0.0
    return np.sum(w)


def diagonal(x: Any, m: Any) -> Any:
    s = x[m][:, m]
    d = np.diagonal(s)
    s *= 2
    return np.sum(d)


MASK = np.array([True, False, True, False])
SQUARE = np.arange(16.0).reshape(4, 4)


@pytest.mark.parametrize("f", [moved_places, moved_columns, changed_behind_a_view, diagonal])
def test_places_and_views_of_what_was_stored_into(f: Callable[..., Any]) -> None:
    """They are right, or refused."""
    try:
        value, _ = value_and_grad(f)(SQUARE, MASK)
    except UntracedError:
        return
    assert value == pytest.approx(f(SQUARE, MASK))


def test_errors_of_masks_and_sizes() -> None:
    short = np.array([True, False, True])
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(x[MASK, short]))(SQUARE)
    with pytest.raises(ValueError, match="negative dimensions"):
        grad(lambda x: np.sum(np.ones(np.sum(x > 14.5) - 3)) + np.sum(x))(SQUARE[0])
