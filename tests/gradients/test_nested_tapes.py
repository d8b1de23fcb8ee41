"""Loops in loops write one tape, and read it element by element."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.testing import check_grads

X = np.linspace(0.2, 1.1, 6)


def sweeps(x):
    u = x.copy()
    for _ in range(3):
        for i in range(1, 5):
            u[i] = np.sin(u[i] * u[i + 1]) + np.cos(u[i - 1])
    return np.sum(u * u)


def states(x):
    h, s = x, 0.0
    for i in range(3):
        h = h * 0.5 + x[i]
        for _ in range(2 + 1):
            h = np.tanh(h * x) + h
        s = s + np.sum(h)
    return s


def three_deep(x):
    s = 1.0
    for i in range(2):
        s = np.sin(s + x[i])
        for j in range(3):
            s = np.sin(s * x[j])
            for k in range(i + 2):
                s = np.cos(s + x[k] * s)
    return s


def of_other_lengths(x):
    s = 1.0
    for i in range(4):
        for j in range(i, 4):
            s = np.sin(s * x[j] + x[i])
    return s * s


def backwards(x):
    s = 1.0
    for i in range(5, 0, -2):
        for j in reversed(range(1, i)):
            s = np.sin(s * x[j] + x[i])
    return s * s


ONE_TAPE = [sweeps, states, three_deep, of_other_lengths, backwards]


def under_a_branch(x):
    s = 1.0
    for i in range(4):
        if x[i] > 0.5:
            for j in range(3):
                s = np.sin(s * x[j] + x[i])
        else:
            s = np.cos(s)
    return s * s


def of_unknown_length(x):
    s = 1.0
    for i in range(3):
        while s > 0.3:
            s = s * x[i] - 0.1 * np.sin(s)
        s = s + 1.0
    return s


def read_in_between(x):
    rows = np.zeros((3, 4))
    for i in range(3):
        row = np.empty(4)
        for j in range(4):
            row[j] = np.sin(x[j] * x[i])
        rows[i] = row * row[0]
    return np.sum(rows * rows)


def one_behind_the_other(x):
    s = 0.0
    for i in range(3):
        y = np.empty(6)
        for j in range(6):
            y[j] = np.sin(x[j] * i)
        for j in range(6):
            y[j] = y[j] * x[j]
        s += np.sum(y * y)
    return s


OTHERS = [under_a_branch, of_unknown_length, read_in_between, one_behind_the_other]


@pytest.mark.parametrize("f", [*ONE_TAPE, *OTHERS], ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    check_grads(f, (X,), order=2, modes=("rev",))
    batch = np.stack([X, X + 0.05, 1.1 * X])
    wanted = np.stack([grad(f)(x) for x in batch])
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(X), wanted[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(vmap(grad(f))(batch), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", ONE_TAPE, ids=lambda f: f.__name__)
def test_no_array_for_each_trip(f: Callable[..., Any]) -> None:
    source = grad(f).source(X)
    assert "tape_tape" not in source and not re.search(r"^ {8}.*np\.empty", source, re.MULTILINE), source
