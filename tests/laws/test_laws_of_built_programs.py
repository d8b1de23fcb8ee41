"""The laws over programs built directly, without the reader's help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from laws_helpers import check_l1, check_l2
from random_programs import functions

from untraced.translator import make
from untraced.translator.builder import Builder
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Aval, Function, Param, Var
from untraced.translator.ops.core import At, Dyn, Gather, Run
from untraced.translator.passes.simplify import simplify
from untraced.translator.printing.printer import print_function
from untraced.translator.same import difference
from untraced.translator.tree import LEAF
from untraced.translator.verify import verify


@given(functions())
def test_printed_source_means_the_program(case: tuple[Function, list[Any]]) -> None:
    function, args = case
    verify(function)
    assert difference(function, function) is None
    try:
        check_l1(function, args, args)
    except Exception as error:
        error.add_note(print_function(function))
        raise


@given(functions())
def test_printed_source_reads_back(case: tuple[Function, list[Any]]) -> None:
    function, args = case
    check_l2(simplify(function), args)  # simplified, for the reader folds constants and joins equal branches


BACKWARDS = {
    "a line": ((9,), (Run(Dyn(0), 3, -2),), (3,)),
    "beside a slice": ((9, 4), (Run(Dyn(0), 3, -2), Run(3, 2, -2)), (3, 2)),
    "of rows alike": ((9, 4), (Run(Dyn(0), 3, -1), Run(0, 4)), (4,)),
    "of one row": ((3, 9), (At(1), Run(Dyn(0), 3, -2)), (3,)),
    "behind gathered rows": ((3, 9), (Gather(1), Run(Dyn(0), 3, -2)), (2, 3)),
    "apart from gathered axes": ((3, 9, 2), (Gather(1), Run(Dyn(0), 3, -2), At(1)), (2, 3)),
}


@pytest.mark.parametrize("name", BACKWARDS)
@pytest.mark.parametrize("store", [make.put, make.put_add, None])
def test_backwards_from_a_place_that_the_run_decides(name: str, store: Any) -> None:
    """The front is reached, where a slice that runs backwards would wrap."""
    shape, dims, of_value = BACKWARDS[name]
    x, value = np.cos(np.arange(float(np.prod(shape)))).reshape(shape), np.arange(10.0, 10.0 + np.prod(of_value))
    args = [x, value.reshape(of_value), np.int64(4), np.array([2, 0])]
    params = [Var(f"x{k}", Aval(np.shape(a), np.asarray(a).dtype)) for k, a in enumerate(args)]
    b = Builder()
    dyn = params[2:]
    taken = make.index(b, params[0], dims, dyn)
    result = make.add(b, taken, 0.5) if store is None else store(b, params[0], params[1], dims, dyn)
    function = Function("f", tuple(Param(v.hint) for v in params), b.block(params, (result,)), LEAF)
    verify(function)
    key = tuple(
        args[2 + d.arg] if isinstance(d, Gather) else d.index if isinstance(d, At)
        else slice(4, None, d.step) if isinstance(d.start, Dyn) and d.step == -2
        else slice(4, 4 + d.size * d.step, d.step) if isinstance(d.start, Dyn)
        else slice(d.start, None, d.step)
        for d in dims
    )
    want = x.copy()
    if store is make.put:
        want[key] = args[1]
    elif store is make.put_add:
        want[key] += args[1]
    else:
        want = x[key] + 0.5
    np.testing.assert_array_equal(evaluate(function, args)[0], want)
    check_l1(function, args, args)
