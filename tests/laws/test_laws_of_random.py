"""The three laws for programs that draw random numbers, their derivatives and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from laws_helpers import check_against_numpy, check_l1, check_l2_l3_in_two_steps, read_program

from untraced import random
from untraced.translator.batch.vmap import vmap
from untraced.translator.derive.reverse import vjp
from untraced.translator.passes.simplify import simplify

KEY = random.key(3)
X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def dropout(x: Any, key: Any) -> Any:
    return np.where(random.bernoulli(key, 0.8, x.shape), x / 0.8, 0.0)


def sampled(x: Any, key: Any) -> Any:
    """A variational encoder's sample, mean and scale in the rows of x."""
    return np.sum(x[0] + np.exp(0.5 * x[1]) * random.normal(key, (4,), np.float64))


def walked(x: Any, key: Any) -> Any:
    for _ in range(3):
        key, sub = random.split(key)
        x = x * random.uniform(sub, (4,), np.float64)
    return np.sum(x)


def picked(x: Any, key: Any) -> Any:
    first, second = random.split(key)
    return x[random.permutation(first, 3)], random.categorical(second, x), random.fold_in(key, 5)


def scaled_gamma(x: Any, key: Any) -> Any:
    return np.sum(random.gamma(key, np.exp(x), dtype=np.float64) * x)


@pytest.mark.parametrize("fun", [dropout, sampled, walked, picked, scaled_gamma])
def test_laws(fun: Callable[..., Any]) -> None:
    function, leaves = read_program(fun, (X, KEY))
    check_against_numpy(fun, function, (X, KEY))
    check_l1(function, (X, KEY), leaves)
    check_l2_l3_in_two_steps(function, (X, KEY))


@pytest.mark.parametrize("fun", [sampled, walked, scaled_gamma])
def test_laws_of_derivatives_and_batches(fun: Callable[..., Any]) -> None:
    function, _ = read_program(fun, (X, KEY))
    derivative = simplify(vjp(function, [0]))
    args = (X, KEY, np.float64(0.7))
    check_l1(derivative, args, args)
    check_l2_l3_in_two_steps(derivative, args)
    batch = simplify(vmap(function, [0, 0], [0], 3))
    stack = (np.stack([X, -X, X / 2]), random.split(KEY, 3))
    check_l1(batch, stack, stack)
    check_l2_l3_in_two_steps(batch, stack)
