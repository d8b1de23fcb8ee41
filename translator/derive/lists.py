"""Tapes of unknown length: lists, and the rules of derivatives for them.

    y = x                          y_tape = []
    while cond(y):                 y = x
        y = f(y)                   while cond(y):
                                       y_tape.append(y)
                                       y = f(y)
                                   for y in reversed(y_tape):
                                       ...

A loop over a list, derived again, keeps its values at the places of the list's entries, since there are as many:

    for k in reversed(range(len(y_tape))):         d_y_tape = [None] * len(y_tape)
        y = y_tape[k]                              for k in reversed(range(len(y_tape))):
        d_y = g(d_y, y)                                d_y_tape[k] = d_y
                                                       d_y = g(d_y, y_tape[k])

The cotangent of a list is a list of the cotangents of its entries. An entry that is read adds to its own; what was
appended finds it at the place where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import Diagnostic, UnsupportedError
from ..ir import Apply, Atom, Block, For, Range, Statement, Var, const, free_variables, is_number
from ..ops.core import NO_ATTRS, TAPE_AVAL, ItemAttrs, Tape, is_store
from ..rewrite import without_raises
from .cotangents import adjoint_hint, strong

Makers = Mapping[Var, Apply]


def is_list(a: Atom) -> bool:
    return a.aval == TAPE_AVAL


def zero_list(b: Builder, like: Atom, makers: Makers, hint: str) -> Atom:
    """The derivative of a list that has none yet: zeros for its entries."""
    made = makers.get(like) if isinstance(like, Var) else None
    if made is not None and made.op is ops.TAPE:
        return b.apply(ops.TAPE, hint=hint)
    length = made.args[0] if made is not None and made.op in (ops.BLANK_TAPE, ops.ZERO_TAPE) else None
    return b.apply(ops.ZERO_TAPE, b.apply(ops.LENGTH, like) if length is None else length, hint=hint)


def goes_over(r: Range, makers: Makers) -> bool:
    """Whether a loop has a trip for each entry of a list, in order or in reverse."""
    made = makers.get(r.stop) if isinstance(r.stop, Var) else None
    return made is not None and made.op is ops.LENGTH and is_number(r.start, 0) and is_number(r.step, 1)


def kept_by(s: For, statements: Sequence[Statement]) -> dict[Var, Var]:
    """The values of a body that the loop puts on lists already, and what it leaves of these."""
    found: dict[Var, Var] = {}
    stores = {a.targets[0]: a for a in statements if isinstance(a, Apply) and a.op in (ops.APPEND, ops.SET_ITEM)}
    for param, result, target in zip(s.body.params[1:], s.body.results, s.targets, strict=True):
        store = stores.get(result) if isinstance(result, Var) else None
        if store is not None and store.args[0] is param and isinstance(store.args[1], Var):
            found.setdefault(store.args[1], target)
    return found


def on_lists(
    b: Builder, s: For, statements: Sequence[Statement], saved: Sequence[Var], length: Atom | None
) -> tuple[For, dict[Var, Var]]:
    """The loop over `statements` with a list, made in `b`, for each value in `saved`; the loop, the lists.

    `length`: the loop goes over a list of so many entries, and what it keeps stands at their places.
    """
    inner = Builder(s.span)
    index = s.body.params[0]
    op, size = (ops.TAPE, ()) if length is None else (ops.BLANK_TAPE, (length,))
    lists = {v: b.apply(op, *size, hint=f"{v.hint}_tape") for v in saved}
    written = {v: Var(t.hint, t.aval) for v, t in lists.items()}
    last: dict[Var, Atom] = {}

    def write(values: Sequence[Var]) -> None:
        for v in values:
            if v in written and length is None:
                last[v] = inner.apply(ops.APPEND, written[v], v, hint=written[v].hint)
            elif v in written:
                last[v] = inner.apply(ops.SET_ITEM, written[v], v, index, hint=written[v].hint)

    write(s.body.params)
    for statement in statements:
        inner.append(statement)
        write(statement.targets)
    finals = {v: Var(t.hint, t.aval) for v, t in lists.items()}
    body = inner.block((*s.body.params, *written.values()), (*s.body.results, *(last[v] for v in saved)))
    loop = For((*s.targets, *finals.values()), s.range, (*s.inits, *lists.values()), body, s.parallel, s.span)
    return loop, finals


def made_again(back: Block, forward: Sequence[Statement]) -> Block:
    """The backward block after the statements that make the lists which it reads, where those live in another block."""
    makers = {t: s for s in forward if _makes_lists(s) for t in s.targets}
    again: dict[int, Statement] = {}
    waiting = list(free_variables(back))
    while waiting:
        s = makers.get(waiting.pop())
        if s is not None and id(s) not in again:
            again[id(s)] = s
            waiting += free_variables(Block((), (s,), ()))
    if not again:
        return back
    statements = without_raises([s for s in forward if id(s) in again])
    return replace(back, statements=(*statements, *back.statements))


def _makes_lists(s: Statement) -> bool:
    """Whether it makes a list, or tells the length of one."""
    if isinstance(s, Apply):
        return isinstance(s.op, Tape) and s.op is not ops.ITEM
    return any(is_list(t) for t in s.targets)


def places_of(b: Builder, r: Range, length: Atom, index: Var, place: Var) -> tuple[Statement, ...]:
    """What computes the index of a trip from its place on a list. What does not depend on it is appended to `b`."""
    start, step = make.number(b, r.start, np.int64), make.number(b, r.step, np.int64)
    if r.reverse:
        start = make.add(b, start, make.multiply(b, make.subtract(b, length, const(1)), step))
        step = make.negative(b, step)
    inner = Builder(b.span)
    offset = make.multiply(inner, place, step)
    inner.append(Apply((index,), ops.ADD, (start, offset), NO_ATTRS, b.span))
    return tuple(inner.statements)


# ---- rules ---------------------------------------------------------------------------------------


def item_vjp(b: Builder, s: Apply, ct: Atom, so_far: Atom) -> Atom:
    """The cotangent of a list from which `s` reads an entry with this cotangent."""
    return b.apply(ops.ADD_ITEM, so_far, ct, s.args[1], hint=adjoint_hint(cast(Var, s.args[0])))


def kept_at(s: Apply, place: Atom | None) -> Atom:
    """Where on the list stands what `s` puts there. What is appended in a loop is at `place`."""
    if s.op is not ops.APPEND:
        place = s.args[2]
    if place is None:
        raise UnsupportedError(
            Diagnostic(
                "the derivative of a list to which a branch appends",
                s.span,
                why="where an entry stands then depends on the data",
                instead="append in every trip of the loop",
            )
        )
    return place


def kept_vjp(b: Builder, s: Apply, ct: Atom, place: Atom) -> Atom:
    """The cotangent of what `s` puts at this place of a list, whose cotangent is `ct`."""
    return b.apply(ops.ITEM, ct, place, attrs=ItemAttrs(strong(s.args[1].aval)))


def tape_jvp(b: Builder, s: Apply, t: Atom | None, value: Atom | None, makers: Makers) -> Atom | None:
    """The tangent of what `s` makes of a list with the tangent `t`, and of a value with the tangent `value`."""
    assert isinstance(s.op, Tape)
    if s.op is ops.ITEM:
        return None if t is None else b.apply(ops.ITEM, t, s.args[1], attrs=ItemAttrs(strong(s.targets[0].aval)))
    assert is_store(s.op)
    if t is None:
        t = zero_list(b, s.args[0], makers, adjoint_hint(s.targets[0]))
    if value is None:
        return t
    return b.apply(s.op, t, value, *s.args[2:])
