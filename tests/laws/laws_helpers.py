"""The three laws, for a program and arguments for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function
from untraced.translator.printing.executable import captured_value
from untraced.translator.printing.printer import executable, print_function
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract, abstract_with_leaves
from untraced.translator.same import difference
from untraced.translator.tree import flatten
from untraced.translator.verify import verify


def read_program(fun: Callable[..., Any], args: Sequence[Any]) -> tuple[Function, list[Any]]:
    """The program of a call, and the leaves that its body takes."""
    signature, leaves = abstract_with_leaves(fun, args, {})
    reading = read(fun, signature)
    return reading.function, [x for i, x in enumerate(leaves) if i not in reading.statics]


def check_against_numpy(fun: Callable[..., Any], function: Function, args: Sequence[Any]) -> None:
    """The printed source returns, and writes into its arguments, what the user's function does."""
    theirs, ours = copy.deepcopy(list(args)), copy.deepcopy(list(args))
    expected = fun(*theirs)
    got = executable(function)(*ours)
    expected_leaves, expected_tree = flatten((expected, theirs))
    got_leaves, got_tree = flatten((got, ours))
    assert got_tree == expected_tree
    for g, e in zip(got_leaves, expected_leaves, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12)  # products may be rounded in another order
        assert np.asarray(g).dtype == np.asarray(e).dtype


def check_l1(function: Function, args: Sequence[Any], leaves: Sequence[Any]) -> None:
    """L1: the printed source computes what the reference interpreter computes, and writes what is mutated only."""
    expected = evaluate(function, copy.deepcopy(list(leaves)))
    given = copy.deepcopy(list(args))
    got, _ = flatten(executable(function)(*given))
    for g, e in zip(got, expected[: function.out.leaf_count], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-9)  # BLAS and einsum round differently
        assert np.asarray(g).dtype == np.asarray(e).dtype and np.shape(g) == np.shape(e)
    if not function.mutated:
        for after, before in zip(flatten(given)[0], flatten(list(args))[0], strict=True):
            np.testing.assert_array_equal(after, before)


def reread(function: Function, args: Sequence[Any]) -> Function:
    """The program that the printed source is read as."""
    printed = executable(function)
    hidden = {p.name: captured_value(p.capture) for p in function.params if p.capture is not None}
    return read(printed, abstract(printed, args, hidden)).function


def check_l2(function: Function, args: Sequence[Any]) -> Function:
    """L2: reading the printed source gives the program back. Returns what was read."""
    again = reread(function, args)
    verify(again)
    found = difference(function, again)
    assert found is None, f"{found}\n{print_function(function)}\n{print_function(again)}"
    return again


def check_l2_l3(function: Function, args: Sequence[Any]) -> None:
    """L2, and L3: printing what was read gives the same text."""
    assert print_function(check_l2(function, args)) == print_function(function)


def check_l2_l3_in_two_steps(function: Function, args: Sequence[Any]) -> None:
    """L2, and L3 for programs that no source was read as: their text is put in the reader's order once, then stays.

    The reader takes a view where it is first used, and calls a temporary what the source first calls it.
    """
    check_l2_l3(check_l2(function, args), args)


def check_laws(function: Function, args: Sequence[Any], leaves: Sequence[Any]) -> None:
    verify(function)
    check_l1(function, args, leaves)
    check_l2_l3(function, args)
