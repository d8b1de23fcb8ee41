"""Random programs mean the same after simplification, and a second time changes nothing."""

from typing import Any

import numpy as np
from hypothesis import given
from random_programs import functions

from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function, walk
from untraced.translator.passes.simplify import dead_code, simplify
from untraced.translator.same import difference
from untraced.translator.verify import verify


@given(functions(statements=16))
def test_simplify(case: tuple[Function, list[Any]]) -> None:
    f, leaves = case
    g = simplify(f)
    verify(g)
    with np.errstate(all="ignore"):
        for want, got in zip(evaluate(f, leaves), evaluate(g, leaves), strict=True):
            assert np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)
    again = simplify(g)
    assert difference(again, g) is None
    assert [type(s) for s in walk(again.body)] == [type(s) for s in walk(g.body)]


@given(functions(statements=16))
def test_dead_code(case: tuple[Function, list[Any]]) -> None:
    f, leaves = case
    g = dead_code(f)
    verify(g)
    assert difference(g, f) is None
    assert dead_code(g) is g
    with np.errstate(all="ignore"):
        for want, got in zip(evaluate(f, leaves), evaluate(g, leaves), strict=True):
            np.testing.assert_array_equal(got, want)
