"""Two branches on one condition become one, where only the second uses what the first makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from untraced.translator.ir import If, walk
from untraced.translator.passes.branches import joined_branches
from untraced.translator.passes.simplify import simplify
from untraced.translator.printing.printer import executable
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract
from untraced.translator.verify import verify


def branches(fun: Any, *args: Any) -> int:
    """How many are left; the program gives what it gave."""
    before = simplify(read(fun, abstract(fun, args, {})).function)
    after = joined_branches(before)
    verify(after)
    np.testing.assert_array_equal(executable(after)(*args), fun(*args))
    assert joined_branches(after) is after
    return sum(isinstance(s, If) for s in walk(after.body))


def used_once(x: Any, c: Any) -> Any:
    t = np.exp(x) if c > 0 else x
    u = x * 2.0
    if c > 0:
        y = u * t
    else:
        y = t - u
    return y


def used_between(x: Any, c: Any) -> Any:
    t = np.exp(x) if c > 0 else x
    u = t * 2.0
    return u * t if c > 0 else t - u


def returned(x: Any, c: Any) -> Any:
    t = np.exp(x) if c > 0 else x
    y = t * x if c > 0 else t
    return y + t


def within_a_loop(x: Any, c: Any) -> Any:
    for i in range(3):
        t = np.exp(-x) if c > i else x
        x = x * t if c > i else x - t * 0.5
    return x


def test_branches() -> None:
    for c in (0.5, -0.5):
        assert branches(used_once, 1.5, c) == 1
        assert branches(used_between, 1.5, c) == 2
        assert branches(returned, 1.5, c) == 2
        assert branches(within_a_loop, 1.5, c) == 1
