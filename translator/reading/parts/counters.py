"""Bounds of the counter of a `while` loop.

    while i < n and x[i] > 0:           in the body i is one of range(0, n)
        i += 2
"""

from __future__ import annotations

import ast

import numpy as np

from ...ir import Var
from ..core.context import Context
from ..core.values import Ref, Value
from ..text.nodes import own_nodes
from .carry import Entered, Place


def note_counters(ctx: Context, node: ast.While, entered: Entered) -> None:
    """Note the ranges of numbers that the test compares with a known end and the body only brings closer to it."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    for test in tests:
        match test:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt() | ast.LtE() as order], comparators=[end]):
                _note(ctx, node, entered, name, end, 1, isinstance(order, ast.LtE))
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Gt() | ast.GtE() as order], comparators=[end]):
                _note(ctx, node, entered, name, end, -1, isinstance(order, ast.GtE))
            case ast.Compare(left=ast.BinOp(left=ast.Name(id=name))):  # i * i <= n says where `i` begins
                _note(ctx, node, entered, name, None, 1, False)


def _note(
    ctx: Context, node: ast.While, entered: Entered, name: str, end: ast.expr | None, sign: int, included: bool
) -> None:
    leaves, live = entered.leaves.get(Place("name", name), []), ctx.frame.live
    if len(leaves) != 1 or name in live.shared | live.nonlocals | live.globals:
        return
    start, stop = leaves[0].init, None if end is None else _known(ctx, node, end)
    counts = type(start) is int or (type(start) is Var and not start.aval.shape and start.aval.dtype == np.int64)
    if counts and (stop is not None or end is None) and _advances(ctx, node, name, sign):
        ctx.loops.counters[leaves[0].param] = (start, stop + sign if included and stop is not None else stop, sign)


def _advances(ctx: Context, node: ast.While, name: str, sign: int) -> bool:
    """Whether the body binds the name by `name += k` and the like only, with known positive `k` (negative: by `-=`)."""
    nodes = [n for s in node.body for n in own_nodes(s)]
    bindings = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    forward: type[ast.operator] = ast.Add if sign > 0 else ast.Sub
    steps: list[ast.expr] = []
    for n in nodes:
        match n:
            case ast.AugAssign(target=ast.Name(id=target), op=op, value=step) if target == name and type(op) is forward:
                steps.append(step)
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp(left=ast.Name(id=old), op=op, right=step)):
                if target == old == name and type(op) is forward:
                    steps.append(step)
    known = [_known(ctx, node, step) for step in steps]
    return len(bindings) == len(steps) and all(k is not None and k > 0 for k in known)


def _known(ctx: Context, node: ast.While, e: ast.expr) -> int | None:
    """An int that the loop does not change: a number, a name, a sum of such, the length of an array."""
    stored = ctx.frame.live.stored[node]
    for n in ast.walk(e):
        match n:
            case ast.Name(id=name) if name not in stored:
                continue
            case ast.Constant() | ast.BinOp() | ast.operator() | ast.Load():
                continue
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if type(ctx.frame.env.get(name)) is Ref:
                continue
        return None
    value: Value = ctx.read_block(lambda: ctx.eval(e)).flow
    return value if type(value) is int else None
