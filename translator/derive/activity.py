"""Activity analysis: values that depend on an active input, and on which an active result depends.

    def f(x, n):                     wrt x:
        s = np.sum(x)                varied and useful: active
        k = n * 2.0                  not varied
        t = np.sin(x)                varied, not useful: it never reaches the result
        return s * k
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import assert_never

from ..float0 import zeros_node
from ..ir import Apply, Atom, Aval, Block, For, Fused, If, Invoke, Raise, Statement, Var, While
from ..ops.core import (
    ArgReduce,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    Cumulative,
    Draw,
    Elementwise,
    Fourier,
    Index,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    RuledAttrs,
    Sort,
    Tape,
)
from ..tree import Kind, TreeDef


def tangent_tree(tree: TreeDef, avals: Iterable[Aval]) -> TreeDef:
    """The structure of tangents or cotangents of a tree: integers and bools, Python's True and False among them, have
    zeros of dtype float0.
    """
    waiting = iter(avals)

    def visit(t: TreeDef) -> TreeDef:
        if t.kind is Kind.LEAF:
            aval = next(waiting)
            return t if inexact(aval) else zeros_node(aval.shape)
        if t.kind is Kind.STATIC:
            return zeros_node(()) if t.type is bool else t
        return dataclasses.replace(t, children=tuple([visit(c) for c in t.children])) if t.children else t

    return visit(tree)


def inexact(aval: Aval) -> bool:
    """Real or complex: the values that have derivatives. Kind V holds bfloat16, kind O are tapes."""
    return aval.dtype.kind in "fcVO"


def linked_args(s: Apply) -> tuple[int, ...]:
    """Positions of the arguments that a derivative flows through."""
    op = s.op
    if not any(inexact(t.aval) for t in s.targets):
        return ()
    match op:
        case Elementwise():
            curved = (i for i, a in enumerate(s.args) if a.aval.dtype.kind not in op.flat)
            candidates: Iterable[int] = (i for i in curved if _has_rule(op, i))
        case Reduce():
            candidates = (0,) if op.name in ("sum", "prod", "max", "min") else ()
        case ArgReduce() | Draw():
            candidates = ()
        case Tape():
            candidates = range(min(len(s.args), 2))
        case Cast() | Cumulative() | Sort() | Fourier() | Reshape() | Index():
            candidates = (0,)
        case Contract() | Put():
            candidates = (0, 1)
        case Linalg(truth=True):
            candidates = ()
        case Linalg():
            candidates = (i for i, core in enumerate(op.cores) if core)
        case Concatenate():
            candidates = range(len(s.args))
        case Create() | Collective():
            candidates = range(min(len(s.args), 1))
        case Ruled():
            assert isinstance(s.attrs, RuledAttrs)
            n = s.attrs.count
            candidates = range(n) if s.attrs.rule is None else range(n, len(s.args))
        case _:
            assert_never(op)
    return tuple(i for i in candidates if inexact(s.args[i].aval))


def _has_rule(op: Elementwise, i: int) -> bool:
    return i in op.unknown or any(i < len(rules) and rules[i] is not None for rules in (op.partials, op.jvps, op.vjps))


def varied(block: Block, seeds: Iterable[Var]) -> set[Var]:
    """The seeds and every value, also inside nested blocks, whose derivative with respect to a seed may be non-zero."""
    found = set(seeds)
    _varied_block(block, found)
    return found


def _varied_block(block: Block, found: set[Var]) -> None:
    for s in block.statements:
        _varied_statement(s, found)


def _varied_statement(s: Statement, found: set[Var]) -> None:
    match s:
        case Apply():
            if any(s.args[i] in found for i in linked_args(s)):
                found.update(t for t in s.targets if inexact(t.aval))
        case Invoke():
            if any(a in found for a in s.args):
                found.update(t for t in s.targets if inexact(t.aval))
        case If(then=then, orelse=orelse):
            for branch in (then, orelse):
                _varied_block(branch, found)
                _carry(branch.results, s.targets, found)
        case For(body=body) | While(body=body):
            carried = body.params[1:] if isinstance(s, For) else body.params
            _carry(s.inits, carried, found)
            while True:
                _varied_block(body, found)
                if not _carry(body.results, carried, found):
                    break
            _carry(carried, s.targets, found)
        case Raise():
            pass
        case Fused():
            raise AssertionError("derivatives are taken before fusion")
        case _:
            assert_never(s)


def _carry(sources: Iterable[Atom], targets: Iterable[Var], found: set[Var]) -> bool:
    """Mark each target whose source is marked; True when something was new."""
    new = {t for a, t in zip(sources, targets, strict=True) if a in found and t not in found and inexact(t.aval)}
    found |= new
    return bool(new)


def useful(block: Block, seeds: Iterable[Atom]) -> set[Var]:
    """The seeds and every value on which a seed depends differentiably."""
    found = {a for a in seeds if isinstance(a, Var) and inexact(a.aval)}
    _useful_block(block, found)
    return found


def _useful_block(block: Block, found: set[Var]) -> None:
    for s in reversed(block.statements):
        _useful_statement(s, found)


def _useful_statement(s: Statement, found: set[Var]) -> None:
    match s:
        case Apply():
            if any(t in found for t in s.targets):
                _mark((s.args[i] for i in linked_args(s)), found)
        case Invoke():
            if any(t in found for t in s.targets):
                _mark(s.args, found)
        case If(then=then, orelse=orelse):
            for branch in (then, orelse):
                _mark((r for t, r in zip(s.targets, branch.results, strict=True) if t in found), found)
                _useful_block(branch, found)
        case For(body=body) | While(body=body):
            carried = body.params[1:] if isinstance(s, For) else body.params
            # With no iteration the initial values are the final ones: a useful target makes its carried value useful.
            _mark((c for t, c in zip(s.targets, carried, strict=True) if t in found), found)
            while True:
                before = len(found)
                _mark((r for c, r in zip(carried, body.results, strict=True) if c in found), found)
                _useful_block(body, found)
                if len(found) == before:
                    break
            _mark((i for c, i in zip(carried, s.inits, strict=True) if c in found), found)
        case Raise():
            pass
        case Fused():
            raise AssertionError("derivatives are taken before fusion")
        case _:
            assert_never(s)


def _mark(atoms: Iterable[Atom], found: set[Var]) -> None:
    found.update(a for a in atoms if isinstance(a, Var) and inexact(a.aval))
