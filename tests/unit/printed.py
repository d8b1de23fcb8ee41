"""Programs as they are printed, for the tests of the printer."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from untraced.translator.builder import Builder
from untraced.translator.ir import (
    Atom,
    Aval,
    Block,
    DType,
    Function,
    Param,
    Var,
)
from untraced.translator.printing.printer import print_function
from untraced.translator.tree import LEAF, TreeDef

F8, I8 = np.dtype(np.float64), np.dtype(np.int64)
INDEX = Aval((), I8, weak=True)


def array(hint: str, *shape: int, dtype: DType = F8) -> Var:
    return Var(hint, Aval(shape, dtype))


def function(body: Block, out: TreeDef = LEAF, mutated: tuple[int, ...] = (), name: str = "f") -> Function:
    return Function(name, tuple(Param(v.hint) for v in body.params), body, out, mutated)


def expression(build: Callable[..., Atom], *params: Var) -> str:
    """What stands after `return` when the function returns what `build` makes."""
    b = Builder()
    result = build(b, *params)
    text = print_function(function(b.block(params, [result])))
    lines = text.splitlines()
    assert len(lines) == 2, text
    return lines[1].strip().removeprefix("return ")


def body_of(f: Function, **options: bool) -> str:
    return textwrap.dedent("\n".join(print_function(f, **options).splitlines()[1:]))


def lines(text: str) -> str:
    return inspect.cleandoc(text)


def named(b: Builder, hint: str, op: Any, *args: Atom) -> Var:
    return b.apply(op, *args, hint=hint)
