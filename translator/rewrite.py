"""Copying programs with fresh variables, substituting, and dropping what is unused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from .builder import Builder
from .ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Range,
    Statement,
    Var,
    While,
    inputs_of,
    may_raise,
    walk,
    with_blocks,
    with_inputs,
    with_statements,
)
from .ops.attributes import ShapeAttrs
from .ops.core import BARRIER, CastAttrs, Ruled
from .ops.implicit import SLOPED
from .ops.selection import STOP_GRADIENT
from .ops.structural import ASTYPE, BROADCAST_TO

Substitution = dict[Var, Atom]


def splice_block(b: Builder, source: Function | Block, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
    """Append a copy of the statements of `source` to `b`, `atoms` in place of its parameters; the results.

    Every variable defined in the copy is fresh, so a block may be spliced any number of times. Variables that the
    block only uses, free ones, stay as they are.
    """
    block = source.body if isinstance(source, Function) else source
    if len(atoms) != len(block.params):
        raise ValueError(f"the block has {len(block.params)} parameters, {len(atoms)} atoms were given")
    mapping: Substitution = dict(zip(block.params, atoms, strict=True))
    b.statements.extend(copy_statement(s, mapping) for s in block.statements)
    return tuple(substitute(r, mapping) for r in block.results)


def substitute(atom: Atom, mapping: Mapping[Var, Atom]) -> Atom:
    return mapping.get(atom, atom) if isinstance(atom, Var) else atom


def copy_block(block: Block, mapping: Substitution) -> Block:
    """A copy with fresh parameters and variables; `mapping` gains an entry for each of them."""
    params = fresh_variables(block.params, mapping)
    statements = tuple(copy_statement(s, mapping) for s in block.statements)
    return Block(params, statements, tuple(substitute(r, mapping) for r in block.results))


def copy_statement(s: Statement, mapping: Substitution) -> Statement:
    """A copy of `s` with its inputs replaced by `mapping`, and fresh targets, which are added to `mapping`."""

    def use(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(substitute(a, mapping) for a in atoms)

    match s:
        case Apply():
            args = use(s.args)
            return Apply(fresh_variables(s.targets, mapping), s.op, args, s.attrs, s.span)
        case If():
            condition = substitute(s.condition, mapping)
            then, orelse = copy_block(s.then, mapping), copy_block(s.orelse, mapping)
            return If(fresh_variables(s.targets, mapping), condition, then, orelse, s.span)
        case For():
            start, stop, step = use((s.range.start, s.range.stop, s.range.step))
            inits, body = use(s.inits), copy_block(s.body, mapping)
            trip = Range(start, stop, step, s.range.reverse)
            return For(fresh_variables(s.targets, mapping), trip, inits, body, s.parallel, s.span)
        case While():
            inits = use(s.inits)
            condition_block, body = copy_block(s.condition, mapping), copy_block(s.body, mapping)
            return While(fresh_variables(s.targets, mapping), inits, condition_block, body, s.span)
        case Fused():
            args, body = use(s.args), copy_block(s.body, mapping)
            return Fused(fresh_variables(s.targets, mapping), args, body, s.kind, s.span)
        case Invoke():
            args = use(s.args)
            return Invoke(fresh_variables(s.targets, mapping), args, s.routine, s.span)
        case Raise():
            return Raise(substitute(s.condition, mapping), copy_block(s.body, mapping), s.error, s.span)
        case _:
            assert_never(s)


def fresh_variables(variables: Sequence[Var], mapping: Substitution) -> tuple[Var, ...]:
    """A new variable for each of these, which `mapping` leads to from now on."""
    fresh = tuple(Var(v.hint, v.aval) for v in variables)
    mapping.update(zip(variables, fresh, strict=True))
    return fresh


def prune(block: Block) -> Block:
    """Drop statements without a used target. Loops keep all that they carry; `simplify` narrows those."""
    live = {a for a in block.results if isinstance(a, Var)}
    return with_statements(block, _live_statements(block.statements, live))


def _live_statements(statements: Sequence[Statement], live: set[Var]) -> tuple[Statement, ...]:
    kept: list[Statement] = []
    for s in reversed(statements):
        if not any(t in live for t in s.targets) and not may_raise(s):
            continue
        s = _prune_inside(s, live)
        live.update(a for a in inputs_of(s) if isinstance(a, Var))
        kept.append(s)
    kept.reverse()
    return tuple(kept)


def _prune_inside(s: Statement, live: set[Var]) -> Statement:
    """The statement over pruned blocks; what the blocks use joins `live`."""

    def inner(block: Block) -> Block:
        live.update(a for a in block.results if isinstance(a, Var))
        return with_statements(block, _live_statements(block.statements, live))

    if isinstance(s, If):
        used = [i for i, t in enumerate(s.targets) if t in live]
        if len(used) < len(s.targets):
            s = _narrow(s, used)
    return with_blocks(s, inner)


def _narrow(s: If, used: Sequence[int]) -> If:
    def pick(block: Block) -> Block:
        return Block(block.params, block.statements, tuple(block.results[i] for i in used))

    return replace(s, targets=tuple(s.targets[i] for i in used), then=pick(s.then), orelse=pick(s.orelse))


def without_raises(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """The statements without their `Raise`s, to be run a second time: the first run raised nothing."""
    return tuple(_quiet(s) for s in statements if not isinstance(s, Raise))


def _quiet(s: Statement) -> Statement:
    return with_blocks(s, lambda block: with_statements(block, without_raises(block.statements)))


# ---- operations replaced, marks taken out --------------------------------------------------------


def without_rules(function: Function, barriers: bool = False) -> Function:
    """The program without the marks of `derive/ruled.py`: the same values, and no memory of their rules. Barriers stay
    where `barriers`: what runs later is not to be shared with what has run already.
    """

    def is_mark(s: Statement) -> bool:
        return isinstance(s, Apply) and isinstance(s.op, Ruled) and not (barriers and s.op is BARRIER)

    marks = [s for s in walk(function.body) if isinstance(s, Apply) and is_mark(s)]
    if not marks:
        return function
    found: Substitution = {}
    for s in marks:  # outer before inner, in order: an argument that is a target itself has been replaced by then
        for t, a in zip(s.targets, s.args, strict=False):
            found[t] = found.get(a, a) if isinstance(a, Var) else a
    kept = rebuilt(function.body, lambda s: None if is_mark(s) else s)
    return replace(function, body=substituted(kept, found))


def without_stops(function: Function) -> Function:
    """The program without `stop_gradient` and `sloped`, which mean nothing once no derivative will be taken."""
    stops = [s for s in walk(function.body) if isinstance(s, Apply) and s.op in (STOP_GRADIENT, SLOPED)]
    if not stops:
        return function
    found: Substitution = {}
    for s in stops:
        t, a = s.targets[0], s.args[0]
        if t.aval == a.aval:
            found[t] = found.get(a, a) if isinstance(a, Var) else a

    def each(s: Apply) -> Sequence[Statement]:
        if s.op not in (STOP_GRADIENT, SLOPED):
            return (s,)
        return () if s.targets[0] in found else _widened(s)

    return replace(function, body=substituted(spelled_out(function.body, each), found))


def _widened(s: Apply) -> Sequence[Statement]:
    """The first argument, of the type of the result: a NumPy number of a Python one, as many as there are slopes."""
    given, made = s.args[0].aval, s.targets[0].aval
    cast = replace(s, op=ASTYPE, args=s.args[:1], attrs=CastAttrs(made.dtype))
    if given.shape == made.shape:
        return (cast,)
    narrow = Var(s.targets[0].hint, Aval(given.shape, made.dtype))
    return replace(cast, targets=(narrow,)), replace(s, op=BROADCAST_TO, args=(narrow,), attrs=ShapeAttrs(made.shape))


def substituted(block: Block, found: Mapping[Var, Atom]) -> Block:
    """The block with its free variables replaced as `found` says; its own variables stay."""
    statements = tuple(_substituted(s, found) for s in block.statements)
    return Block(block.params, statements, tuple(substitute(r, found) for r in block.results))


def _substituted(s: Statement, found: Mapping[Var, Atom]) -> Statement:
    if not isinstance(s, Fused):  # its body sees nothing from outside
        s = with_blocks(s, lambda block: substituted(block, found))
    return with_inputs(s, lambda a: substitute(a, found))


def rebuilt(block: Block, each: Callable[[Apply], Apply | None]) -> Block:
    """The block with `each(s)` in place of every operation, also of those in blocks inside; None drops it."""

    def one(s: Apply) -> Sequence[Statement]:
        made = each(s)
        return () if made is None else (made,)

    return spelled_out(block, one)


def spelled_out(block: Block, each: Callable[[Apply], Sequence[Statement]]) -> Block:
    """The block with the statements `each(s)` in place of every operation, also of those in blocks inside."""
    return with_statements(block, tuple(_spelled_out(block.statements, each)))


def _spelled_out(statements: Sequence[Statement], each: Callable[[Apply], Sequence[Statement]]) -> Iterator[Statement]:
    for s in statements:
        if isinstance(s, Apply):
            yield from each(s)
        else:
            yield with_blocks(s, lambda block: spelled_out(block, each))


def unique_names(wanted: Sequence[str], taken: set[str]) -> list[str]:
    """The names, made unique by numbers where they repeat or are taken already."""
    used = set(taken)
    names = []
    for w in wanted:
        name, n = w, 1
        while name in used:
            n += 1
            name = f"{w}_{n}"
        used.add(name)
        names.append(name)
    return names
