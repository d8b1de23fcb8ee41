"""Dead code elimination: drops what no result needs, also inside loops that only feed themselves.

    def f(x, n):                        def f(x, n):
        tape = np.empty((5, 3))             y = x
        y = x                               for i in range(5):
        for i in range(5):                      y = np.sin(y)
            tape[i] = y                     return y
            y = np.sin(y)
        return y
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    may_raise,
    with_statements,
)

T = TypeVar("T")


def dead_code(function: Function) -> Function:
    """`function` without the statements, carried values and branch results that its results do not need.

    One linear walk finds what each variable is computed from, a second keeps what is reached from the results, and from
    what decides whether something is raised. A loop that is not needed goes, whether it would have ended or not; so
    does an index that would have been out of range, of which `reading.unread` has made a `Raise`. A `Raise` never goes.
    """
    body = _kept_block(function.body, live_variables(function.body))
    return function if body is function.body else replace(function, body=body)


def live_variables(block: Block) -> set[Var]:
    """The variables that the results, or the conditions of raised errors, are made from."""
    sources: dict[Var, tuple[Atom, ...]] = {}
    roots = [*block.results]
    _note_block(block, sources, roots)
    return _reached(roots, sources)


def _note_block(block: Block, sources: dict[Var, tuple[Atom, ...]], roots: list[Atom]) -> bool:
    """Adds to `sources` what each variable is made from, and what decides how often it is; to `roots` what decides
    whether something is raised, and what. Whether the block may raise.
    """
    raises = False
    for s in block.statements:
        inside = False
        match s:
            case Apply():
                for t in s.targets:
                    sources[t] = s.args
            case If(condition=condition, then=then, orelse=orelse):
                for t, a, b in zip(s.targets, then.results, orelse.results, strict=True):
                    sources[t] = (condition, a, b)
                inside = _note_block(then, sources, roots) | _note_block(orelse, sources, roots)
                roots += (condition,) if inside else ()
            case For(range=r, inits=inits, body=body):
                turns = (r.start, r.stop, r.step)
                sources[body.params[0]] = turns
                for t, p, init, result in zip(s.targets, body.params[1:], inits, body.results, strict=True):
                    sources[t] = (p, *turns)
                    sources[p] = (init, result, *turns)
                inside = _note_block(body, sources, roots)
                roots += turns if inside else ()
            case While(inits=inits, condition=test, body=body):
                stop = test.results[0]
                rows = zip(s.targets, test.params, body.params, inits, body.results, strict=True)
                for t, c, p, init, result in rows:
                    sources[t] = (p, stop)
                    sources[c] = (p,)
                    sources[p] = (init, result, stop)
                inside = _note_block(test, sources, roots) | _note_block(body, sources, roots)
                roots += (stop,) if inside else ()
            case Raise(condition=condition, body=body):
                inside = True
                roots += (condition, *body.results)
                _note_block(body, sources, roots)
            case Invoke(args=args):
                sources.update((t, args) for t in s.targets)
                inside = may_raise(s)
                roots += args if inside else ()
            case Fused(args=args, body=body):
                sources.update((p, (a,)) for p, a in zip(body.params, args, strict=True))
                sources.update((t, (r,)) for t, r in zip(s.targets, body.results, strict=True))
                _note_block(body, sources, roots)
            case _:
                assert_never(s)
        raises = raises or inside
    return raises


def _reached(roots: Sequence[Atom], sources: dict[Var, tuple[Atom, ...]]) -> set[Var]:
    live: set[Var] = set()
    waiting = list(roots)
    while waiting:
        a = waiting.pop()
        if isinstance(a, Var) and a not in live:
            live.add(a)
            waiting += sources.get(a, ())
    return live


def _kept_block(block: Block, live: set[Var]) -> Block:
    statements: list[Statement] = []
    for s in block.statements:
        kept = _kept(s, live)
        if kept is not None:
            statements.append(kept)
    return with_statements(block, statements)


def _kept(s: Statement, live: set[Var]) -> Statement | None:
    """The statement narrowed to what is live; None when nothing of it is."""
    match s:
        case Apply():
            return s if any(t in live for t in s.targets) else None
        case Invoke():
            return s if any(t in live for t in s.targets) or may_raise(s) else None
        case If():
            slots = [i for i, t in enumerate(s.targets) if t in live]
            then, orelse = (_kept_block(_with_results(b, slots), live) for b in (s.then, s.orelse))
            new: Statement = replace(s, targets=_pick(s.targets, slots), then=then, orelse=orelse)
        case For():
            slots = [i for i, p in enumerate(s.body.params[1:]) if p in live]
            params = (s.body.params[0], *_pick(s.body.params[1:], slots))
            body = _kept_block(_with_results(s.body, slots, params), live)
            new = replace(s, targets=_pick(s.targets, slots), inits=_pick(s.inits, slots), body=body)
        case While():
            slots = [i for i, p in enumerate(s.body.params) if p in live]
            condition = s.condition
            if len(slots) < len(s.targets):
                condition = Block(_pick(condition.params, slots), condition.statements, condition.results)
            body = _kept_block(_with_results(s.body, slots, _pick(s.body.params, slots)), live)
            new = replace(
                s,
                targets=_pick(s.targets, slots),
                inits=_pick(s.inits, slots),
                condition=_kept_block(condition, live),
                body=body,
            )
        case Fused():
            slots = [i for i, t in enumerate(s.targets) if t in live]
            used = [i for i, p in enumerate(s.body.params) if p in live]
            body = _kept_block(_with_results(s.body, slots, _pick(s.body.params, used)), live)
            new = replace(s, targets=_pick(s.targets, slots), args=_pick(s.args, used), body=body)
        case Raise():
            slots = []
            new = replace(s, body=_kept_block(s.body, live))
        case _:
            assert_never(s)
    if not slots and not may_raise(new):
        return None
    same = len(new.targets) == len(s.targets) and all(map(operator.is_, blocks_of(new), blocks_of(s)))
    return s if same else new


def _pick(items: tuple[T, ...], slots: Sequence[int]) -> tuple[T, ...]:
    return items if len(slots) == len(items) else tuple(items[i] for i in slots)


def _with_results(block: Block, slots: Sequence[int], params: tuple[Var, ...] | None = None) -> Block:
    """The block with only these results; itself when they are all of them."""
    params = block.params if params is None else params
    if len(slots) == len(block.results) and len(params) == len(block.params):
        return block
    return Block(params, block.statements, _pick(block.results, slots))
