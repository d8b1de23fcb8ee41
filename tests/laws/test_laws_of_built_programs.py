"""The laws over programs built directly, without the reader's help."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from laws_helpers import check_l1, check_l2
from random_programs import functions

from untraced.translator.ir import Function
from untraced.translator.passes.simplify import simplify
from untraced.translator.printing.printer import print_function
from untraced.translator.same import difference
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
