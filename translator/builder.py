"""Appends typed statements to a block. All programs are made here, so canonical form is decided in one place."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager

from .errors import NOWHERE, ShapeError, Span
from .ir import Apply, Atom, Block, Statement, Var
from .ops.core import NO_ATTRS, Attrs, Op

MAX_NDIM = 64  # of NumPy's arrays


class Builder:
    """A block under construction. `span` is stamped on every statement; `at` sets it for a while."""

    def __init__(self, span: Span = NOWHERE) -> None:
        self.statements: list[Statement] = []
        self.definitions: MutableMapping[Var, Apply] = {}  # what made each variable of this block, for local rewrites
        self.span = span

    @contextmanager
    def at(self, span: Span) -> Iterator[None]:
        outer, self.span = self.span, span
        try:
            yield
        finally:
            self.span = outer

    def apply(self, op: Op, *args: Atom, attrs: Attrs = NO_ATTRS, hint: str = "t") -> Var:
        """Append `target = op(*args)` and return the target. Raises ShapeError or DTypeError as the type rule does."""
        (aval,) = op.infer([a.aval for a in args], attrs)
        if len(aval.shape) > MAX_NDIM:
            raise ShapeError(f"an array has at most {MAX_NDIM} dimensions, not {len(aval.shape)}")
        target = Var(hint, aval)
        made = Apply((target,), op, args, attrs, self.span)
        self.statements.append(made)
        self.definitions[target] = made
        return target

    def append(self, statement: Statement) -> tuple[Var, ...]:
        self.statements.append(statement)
        if isinstance(statement, Apply):
            self.definitions.update((t, statement) for t in statement.targets)
        return statement.targets

    def block(self, params: Sequence[Var], results: Sequence[Atom]) -> Block:
        return Block(tuple(params), tuple(self.statements), tuple(results))
