"""What the tests of the reader share: a program read and run by the reference interpreter, beside CPython and NumPy."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, NamedTuple

import numpy as np
from drawn import Drawn

from untraced.translator import tree
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import walk
from untraced.translator.reading.core.guards import fetch
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract_with_leaves
from untraced.translator.verify import verify

RNG = Drawn(0)


def run(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[Any], Any]:
    """The result of the program read from `fun`, the argument leaves after it, and the program."""
    signature, leaves = abstract_with_leaves(fun, args, kwargs)
    reading = read(fun, signature)
    function = reading.function
    verify(function)
    assert all(g.holds() for g in reading.guards)
    run_time = [i for i in range(len(leaves)) if i not in reading.statics]
    hidden = [np.copy(fetch(p.capture)) for p in function.params if p.capture is not None]
    inputs = [np.copy(leaves[i]) if isinstance(leaves[i], np.ndarray) else leaves[i] for i in run_time] + hidden
    results = evaluate(function, inputs)
    count = function.out.leaf_count
    after = [copy.copy(x) for x in leaves]
    for position, value in zip(function.mutated, results[count:], strict=True):
        if position < len(run_time):
            after[run_time[position]] = value
    return tree.unflatten(function.out, results[:count]), after, function


def same(found: Any, expected: Any) -> None:
    a, ta = tree.flatten(found)
    b, tb = tree.flatten(expected)
    assert ta == tb, (found, expected)
    for x, y in zip(a, b, strict=True):
        if isinstance(y, np.ndarray | np.generic):
            assert np.asarray(x).dtype == y.dtype, (x, y)
            assert np.shape(x) == y.shape
        else:
            # A number that is Python's on one path and NumPy's on another is NumPy's in the program.
            assert np.asarray(x).dtype == np.asarray(y).dtype, (x, y)
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


def check(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """The program agrees with NumPy in results and in what it does to its arguments; the program."""
    found, after, function = run(fun, *copy.deepcopy(args), **copy.deepcopy(kwargs))
    mine, mine_kw = copy.deepcopy(args), copy.deepcopy(kwargs)
    expected = fun(*mine, **mine_kw)
    same(found, expected)
    _, expected_after = abstract_with_leaves(fun, mine, mine_kw)
    for x, y in zip(after, expected_after, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)
    return function


def count(function: Any, kind: type) -> int:
    return sum(isinstance(s, kind) for s in walk(function.body))


X = RNG.standard_normal(6)
A = RNG.standard_normal((4, 5))
B = RNG.standard_normal((5, 3))


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class State:
    position: Any
    speed: Any

    @property
    def energy(self):
        return 0.5 * np.sum(self.speed**2)

    def step(self, dt):
        return State(self.position + dt * self.speed, self.speed)


class Model:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return self.w * x + self.b

    def doubled(self, x):
        return 2 * self(x)
