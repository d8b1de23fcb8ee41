"""Copying programs with fresh variables, and dropping what nobody uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from .builder import Builder
from .ir import Apply, Atom, Block, For, Function, Fused, If, Range, Statement, Var, While, blocks_of, inputs_of

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
    params = _fresh(block.params, mapping)
    statements = tuple(copy_statement(s, mapping) for s in block.statements)
    return Block(params, statements, tuple(substitute(r, mapping) for r in block.results))


def copy_function(function: Function) -> Function:
    """The same function over fresh variables."""
    return replace(function, body=copy_block(function.body, {}))


def copy_statement(s: Statement, mapping: Substitution) -> Statement:
    """`s` over `mapping`, with fresh targets, which `mapping` gains."""

    def use(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(substitute(a, mapping) for a in atoms)

    match s:
        case Apply():
            args = use(s.args)
            return Apply(_fresh(s.targets, mapping), s.op, args, s.attrs, s.span)
        case If():
            condition = substitute(s.condition, mapping)
            then, orelse = copy_block(s.then, mapping), copy_block(s.orelse, mapping)
            return If(_fresh(s.targets, mapping), condition, then, orelse, s.span)
        case For():
            start, stop, step = use((s.range.start, s.range.stop, s.range.step))
            inits, body = use(s.inits), copy_block(s.body, mapping)
            trip = Range(start, stop, step, s.range.reverse)
            return For(_fresh(s.targets, mapping), trip, inits, body, s.parallel, s.span)
        case While():
            inits = use(s.inits)
            condition_block, body = copy_block(s.condition, mapping), copy_block(s.body, mapping)
            return While(_fresh(s.targets, mapping), inits, condition_block, body, s.span)
        case Fused():
            args, body = use(s.args), copy_block(s.body, mapping)
            return Fused(_fresh(s.targets, mapping), args, body, s.kind, s.span)
        case _:
            assert_never(s)


def _fresh(variables: Sequence[Var], mapping: Substitution) -> tuple[Var, ...]:
    fresh = tuple(Var(v.hint, v.aval) for v in variables)
    mapping.update(zip(variables, fresh, strict=True))
    return fresh


def prune(block: Block) -> Block:
    """Drop statements none of whose targets is used. Loops keep all they carry; `simplify` narrows those."""
    live = {a for a in block.results if isinstance(a, Var)}
    statements = _live_statements(block.statements, live)
    return Block(block.params, statements, block.results)


def _live_statements(statements: Sequence[Statement], live: set[Var]) -> tuple[Statement, ...]:
    kept: list[Statement] = []
    for s in reversed(statements):
        if not any(t in live for t in s.targets):
            continue
        s = _prune_inside(s, live)
        live.update(a for a in inputs_of(s) if isinstance(a, Var))
        kept.append(s)
    kept.reverse()
    return tuple(kept)


def _prune_inside(s: Statement, live: set[Var]) -> Statement:
    """The statement over pruned blocks; what the blocks use joins `live`."""
    if not blocks_of(s):
        return s

    def inner(block: Block) -> Block:
        live.update(a for a in block.results if isinstance(a, Var))
        return Block(block.params, _live_statements(block.statements, live), block.results)

    match s:
        case If():
            used = [i for i, t in enumerate(s.targets) if t in live]
            if len(used) < len(s.targets):
                s = _narrow(s, used)
            return replace(s, then=inner(s.then), orelse=inner(s.orelse))
        case For() | Fused():
            return replace(s, body=inner(s.body))
        case While():
            return replace(s, condition=inner(s.condition), body=inner(s.body))
        case Apply():
            return s
        case _:
            assert_never(s)


def _narrow(s: If, used: Sequence[int]) -> If:
    def pick(block: Block) -> Block:
        return Block(block.params, block.statements, tuple(block.results[i] for i in used))

    return replace(s, targets=tuple(s.targets[i] for i in used), then=pick(s.then), orelse=pick(s.orelse))
