"""Constructs outside the language are refused at their line, with a caret, a reason and a rewrite."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pytest

from untraced.translator.errors import CutError, UnsupportedError
from untraced.translator.reading.language import EXPRESSIONS, STATEMENTS
from untraced.translator.reading.reader import read
from untraced.translator.reading.text import fence
from untraced.translator.reading.text.fence import check, check_entry
from untraced.translator.reading.text.signature import abstract
from untraced.translator.reading.text.source import source_of


def tries(x):
    try:  # here
        return x + 1
    except ValueError:
        return x


def enters(x):
    with open("file") as f:  # here
        return x + len(f.read())


def defines_a_class(x):
    class Inner:  # here
        pass

    return x


def deletes_an_attribute(d):
    del d.x  # here
    return d


@pytest.mark.parametrize(
    "fun",
    [
        tries,
        enters,
        defines_a_class,
        deletes_an_attribute,
    ],
    ids=lambda f: f.__name__,
)
def test_refused_with_place_reason_and_rewrite(fun: Any) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check(source_of(fun))
    diagnostic = caught.value.diagnostic
    lines, first = inspect.getsourcelines(fun)
    marked = [first + i for i, line in enumerate(lines) if "# here" in line or "vectorize" in line]
    assert diagnostic.span.line in (marked[0], marked[0] + 1)
    assert diagnostic.span.file == __file__
    assert diagnostic.instead
    text = str(caught.value)
    assert f"{__file__}:{diagnostic.span.line}" in text
    assert "^" in text


def test_errstate_is_in_the_language() -> None:
    def f(x):
        with np.errstate(divide="ignore"):
            return np.log(x)

    check(source_of(f))
    read(f, abstract(f, (np.ones(3),), {}))


def test_the_first_of_several_is_told() -> None:
    def f(x):
        async def first():
            pass

        async def second():
            pass

    with pytest.raises(UnsupportedError) as caught:
        check(source_of(f))
    assert "first" in caught.value.diagnostic.span.text


def test_a_generator_function_alone() -> None:
    def f(x):
        yield x

    def g(x):
        return sum(f(x))

    check_entry(source_of(g))
    for waits in (f, lambda x: (yield x)):
        with pytest.raises(CutError, match="generator function cannot be compiled by itself"):
            check_entry(source_of(waits))


def test_each_kind_of_syntax_is_read_or_refused() -> None:
    """But for `*x`, which is read where it stands, and for what Python has since 3.12: that is cut."""
    later = {"TypeAlias", "TemplateStr", "Interpolation"}
    for parent, known in ((ast.expr, {*EXPRESSIONS, ast.Starred}), (ast.stmt, {*STATEMENTS})):
        kinds = {kind for kind in parent.__subclasses__() if kind.__module__ in ("ast", "_ast")}
        assert {k.__name__ for k in kinds - known - fence._REFUSED.keys() - fence._CUT.keys()} <= later


def test_statements_of_a_later_python_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        assert x is not None
        return x

    monkeypatch.delitem(STATEMENTS, ast.Assert)
    with pytest.raises(CutError, match="`Assert` statements"):
        read(f, abstract(f, (np.ones(3),), {}))
