"""Errors of unused results: dead code that NumPy would fail at keeps a `Raise` in its place.

    before                              after
    unused = x[k]                       if k < -5 or k >= 5:
    return x + 1                            raise IndexError("index out of bounds for axis 0 with size 5")
                                        return x + 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ... import make
from ...bounds import (
    Status,
    divides_python_numbers,
    is_comparison,
    is_python_function,
    is_python_int,
    is_python_power,
    refuses_negative,
)
from ...builder import Builder
from ...checked import Checked
from ...failures import outside_axis
from ...ir import Apply, Atom, Block, For, Function, If, Statement, Var, While, blocks_of, with_blocks
from ...ops.core import At, Dyn, Elementwise, Gather, IndexAttrs, Linalg
from ...passes.dead import live_variables
from ...tree import LEAF

Failure = tuple[Atom, type[Exception], str]


def unread(block: Block) -> Block:
    """The block of a function as it was read, with a `Raise` behind each statement that no result needs and that may
    fail.
    """
    live = live_variables(block)
    if not any(_is_unread(s, live) for s in _walk(block)):
        return block
    checked = Checked(Function("function", (), block, LEAF))
    return _Writer(live, checked).block(block) if checked.enabled else block


def _is_unread(s: Statement, live: set[Var]) -> bool:
    return isinstance(s, Apply) and not any(t in live for t in s.targets)


def _walk(block: Block) -> Iterator[Statement]:
    for s in block.statements:
        yield s
        for b in _entered(s):
            yield from _walk(b)


def _entered(s: Statement) -> tuple[Block, ...]:
    """The blocks in which something may be raised."""
    match s:
        case While(body=body):
            return (body,)
        case If() | For():
            return blocks_of(s)
    return ()


class _Writer:
    def __init__(self, live: set[Var], checked: Checked) -> None:
        self.live = live
        self.checked = checked

    def block(self, block: Block) -> Block:
        b = Builder()
        for s in block.statements:
            with b.at(s.span):
                match s:
                    case If():
                        b.append(with_blocks(s, self.block))
                    case For() | While():  # a condition reads what it needs
                        b.append(replace(s, body=self.block(s.body)))
                    case Apply() if _is_unread(s, self.live) and self.checked.apply(s):
                        b.append(s)
                        for failure in self.failures(b, s):
                            make.raise_if(b, *failure)
                    case _:
                        b.append(s)
        return b.block(block.params, block.results)

    def failures(self, b: Builder, s: Apply) -> Iterator[Failure]:
        """When the statement fails, and how."""
        yield from self.narrowed(b, s)
        if isinstance(s.attrs, IndexAttrs):
            yield from self.leaving(b, s)
        elif is_python_int(s) and s.args[0].aval.dtype.kind == "f":
            yield _beyond_numbers(b, s.args[0]), OverflowError, "cannot convert float to integer"
        elif isinstance(s.op, Linalg):
            yield _is_no_number(b, s.targets[0]), np.linalg.LinAlgError, f"{s.op.name} fails"
        elif divides_python_numbers(s):
            yield make.equal(b, s.args[1], 0), ZeroDivisionError, "division by zero"
        elif refuses_negative(s):
            yield make.less(b, s.args[1], 0), ValueError, refuses_negative(s)
        elif is_python_function(s) or is_python_power(s):
            of = [a for a in (*s.targets, *s.args) if a.aval.dtype.kind == "f"]
            yield _beyond_numbers(b, of[0]), OverflowError, f"{s.op.name} may fail here"

    def narrowed(self, b: Builder, s: Apply) -> Iterator[Failure]:
        """Python numbers that the dtype beside them does not hold; comparisons take every number."""
        if isinstance(s.op, Elementwise) and is_comparison(s.op):
            return
        for i, dtype in self.checked.too_large(s):
            x, info = s.args[i], np.iinfo(dtype)
            inside = make.logical_and(b, make.greater_equal(b, x, int(info.min)), make.less_equal(b, x, int(info.max)))
            yield make.logical_not(b, inside), OverflowError, f"Python number out of bounds for {dtype}"

    def leaving(self, b: Builder, s: Apply) -> Iterator[Failure]:
        """Indices outside their axes."""
        assert isinstance(s.attrs, IndexAttrs)
        for axis, (d, n) in enumerate(zip(s.attrs.dims, s.args[0].aval.shape, strict=True)):
            match d:
                case At(index=Dyn(arg=arg)) | Gather(arg=arg) if self.checked.status(s, d, n) is Status.UNKNOWN:
                    message = f"index out of bounds for axis {axis} with size {n}"
                    yield outside_axis(b, s.args[arg], n), IndexError, message


def _is_no_number(b: Builder, x: Atom) -> Atom:
    return make.not_equal(b, x, x)


def _beyond_numbers(b: Builder, x: Atom) -> Atom:
    """Whether a float is NaN or beyond 64 bits, where CPython has to say what becomes of it."""
    inside = make.logical_and(b, make.greater(b, x, -(2.0**63)), make.less(b, x, 2.0**63))
    return make.logical_not(b, inside)
