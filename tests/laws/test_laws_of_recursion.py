"""The laws of programs with routines: their derivatives are read back as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from laws_helpers import check_l1, check_l2_l3_in_two_steps, read_program

import untraced
from untraced.translator.ir import Invoke, Routine, routines_of, walk
from untraced.translator.pipeline import simplified
from untraced.translator.purpose import purposed
from untraced.translator.routines import with_calls
from untraced.translator.same import same
from untraced.translator.verify import VerificationError, verify


def midpoints(a: Any, b: Any, tol: Any) -> Any:
    m = (a + b) / 2
    if b - a < tol:
        return np.sin(m) * (b - a)
    return midpoints(a, m, tol) + midpoints(m, b, tol)


def product_tree(x: Any) -> Any:
    return np.sin(x) if x < 1.0 else product_tree(x - 1.0) * product_tree(x - 2.0)


def pair(x: Any, s: Any) -> Any:
    if s > 4.0:
        return x, s
    a, b = pair(x * 1.5, s + x)
    return a + x, b * 0.5


def of_two(x: Any) -> Any:
    a, b = pair(x, 0.0)
    return a * b


def arrays(v: Any, w: Any) -> Any:
    return v if np.sum(v * v) < 1e-2 else arrays(np.tanh(w @ v), w) + v


def of_arrays(v: Any, w: Any) -> Any:
    return np.sum(arrays(v, w) ** 2)


@pytest.fixture(autouse=True)
def calls_stay() -> Iterator[None]:
    with purposed(keeps_calls=True):
        yield


CASES: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (midpoints, (0.0, 1.3, 0.2)),
    (product_tree, (4.3,)),
    (of_two, (1.1,)),
    (of_arrays, (np.array([1.0, -2.0]), np.array([[0.5, 0.2], [-0.1, 0.4]]))),
)


@pytest.mark.parametrize(("f", "args"), CASES)
def test_laws(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    gradient = untraced.grad(f)
    again = untraced.jacfwd(gradient)
    for fun in (f, gradient.fun, again.fun):
        function, leaves = read_program(fun, args)
        simple = simplified(function)
        verify(simple)
        check_l1(simple, args, leaves)
        check_l2_l3_in_two_steps(simple, args)


def test_routines_are_compared_and_verified() -> None:
    function, _ = read_program(midpoints, (0.0, 1.3, 0.2))
    (routine,) = routines_of(function.body)
    other = Routine("other")
    other.function = replace(
        routine.function, body=replace(routine.function.body, results=(routine.function.body.params[0],))
    )
    body = with_calls(function.body, lambda s: replace(s, routine=other))
    assert any(isinstance(s, Invoke) and s.routine is other for s in walk(body))
    assert not same(function, replace(function, body=body))
    fewer = with_calls(function.body, lambda s: replace(s, args=s.args[:1]))
    with pytest.raises(VerificationError, match="arguments of midpoints"):
        verify(replace(function, body=fewer))
