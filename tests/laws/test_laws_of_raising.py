"""The laws of programs that may raise: they are kept, in order, and raise what CPython raises."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from laws_helpers import check_l2, check_l2_l3_in_two_steps, read_program
from raising_programs import CALLS, Calls
from random_programs import Program, sources

from untraced.translator.batch.vmap import vmap
from untraced.translator.derive.reverse import vjp
from untraced.translator.errors import AliasError, CutError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Block, Raise, may_raise
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.simplify import simplify
from untraced.translator.printing.printer import executable
from untraced.translator.same import same
from untraced.translator.tree import flatten
from untraced.translator.verify import VerificationError, verify


def raised(fun: Callable[..., Any], *args: Any) -> Any:
    """What a call raises."""
    with np.errstate(all="ignore"), pytest.raises(Exception) as info:  # noqa: PT011 - the class is compared
        fun(*copy.deepcopy(args))
    return type(info.value), info.value.args


@pytest.mark.parametrize("calls", CALLS, ids=repr)
def test_laws(calls: Calls) -> None:
    function, leaves = read_program(calls.fun, calls.good)
    derivative = simplify(vjp(function, [0]))
    for program, more in ((function, ()), (simplify(function), ()), (derivative, (np.float64(1.0),))):
        verify(program)
        assert any(map(may_raise, program.body.statements))
        args = (*calls.good, *more)
        check_l2_l3_in_two_steps(program, args)
    for args in calls.bad:
        _, own = read_program(calls.fun, args)
        want = raised(calls.fun, *args)
        for program in (function, simplify(function), fuse(simplify(function))):
            assert raised(evaluate, program, own) == want


@pytest.mark.parametrize("calls", CALLS, ids=repr)
def test_laws_of_batches(calls: Calls) -> None:
    function, leaves = read_program(calls.fun, calls.good)
    batched = simplify(vmap(function, [0, *[None] * (len(leaves) - 1)], [0], 3)) if not function.mutated else function
    args = (np.stack([leaves[0]] * 3), *calls.good[1:]) if not function.mutated else calls.good
    verify(batched)
    check_l2_l3_in_two_steps(batched, args)
    check_l2(fuse(batched), args)


def test_what_may_be_raised_counts() -> None:
    """Programs with other exceptions, messages, orders or conditions are not the same."""

    def base(x: Any, k: float) -> Any:
        if k > 1:
            raise ValueError(f"k is {k}")
        assert x[0] < 2
        return np.sum(x)

    def reordered(x: Any, k: float) -> Any:
        assert x[0] < 2
        if k > 1:
            raise ValueError(f"k is {k}")
        return np.sum(x)

    def in_a_branch(x: Any, k: float) -> Any:
        if k > 1:
            if k > 1:
                raise ValueError(f"k is {k}")
        assert x[0] < 2
        return np.sum(x)

    def worded(x: Any, k: float) -> Any:
        if k > 1:
            raise ValueError(f"k is {k:.1f}")
        assert x[0] < 2
        return np.sum(x)

    def of_another(x: Any, k: float) -> Any:
        if k > 1:
            raise ValueError(f"k is {x[0]}")
        assert x[0] < 2
        return np.sum(x)

    def lacking(x: Any, k: float) -> Any:
        if k > 1:
            raise ValueError(f"k is {k}")
        return np.sum(x)

    args = (np.ones(3), 0.5)
    functions = [read_program(f, args)[0] for f in (base, reordered, in_a_branch, worded, of_another, lacking)]
    assert [same(functions[0], f) for f in functions] == [True, False, False, False, False, False]


def test_the_verifier_looks_into_them() -> None:
    def f(x: Any, k: float) -> Any:
        if k > 1:
            raise ValueError(f"k is {k}")
        return np.sum(x)

    function = read_program(f, (np.ones(3), 0.5))[0]
    raising = next(s for s in function.body.statements if isinstance(s, Raise))
    nothing = replace(raising, body=Block((), (), ()))
    no_condition = replace(raising, condition=function.body.params[1])
    for wrong, why in ((nothing, "0 values"), (no_condition, "bool")):
        statements = tuple(wrong if s is raising else s for s in function.body.statements)
        with pytest.raises(VerificationError, match=why):
            verify(replace(function, body=replace(function.body, statements=statements)))


def outcome(fun: Callable[..., Any], args: Any) -> Any:
    """What a call returns, or raises."""
    with np.errstate(all="ignore"):
        try:
            return flatten(fun(*copy.deepcopy(args)))[0]
        except (ValueError, KeyError, AssertionError) as error:
            return type(error), error.args


PASSES = {"read": lambda f: f, "simplify": simplify, "fuse": lambda f: fuse(simplify(f))}


@given(program=sources(raising=True))
def test_random_source(program: Program) -> None:
    want = outcome(program.fun, program.args)
    try:
        read_as, leaves = read_program(program.fun, program.args)
    except (AliasError, CutError):  # undecidable views and stores, and a message with data where the raise is certain
        assume(False)
    except (ValueError, KeyError, AssertionError):  # raised for certain, if nothing else is
        assert isinstance(want, tuple)
        return
    for name, passes in PASSES.items():
        function = passes(read_as)
        verify(function)
        for got in (outcome(executable(function), program.args), outcome(evaluate, (function, leaves))):
            assert type(got) is type(want)
            if isinstance(want, tuple):
                assert got == want
            else:
                for g, w in zip(got, want, strict=False):
                    np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-10)
        if name == "read":
            check_l2_l3_in_two_steps(function, program.args)
        else:
            check_l2(function, program.args)
