"""Calls of grad(f), vmap(f), accelerate(f) and the like inside a function: their programs are spliced in."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from ... import tree
from ...derive.tape import NeedTrip
from ...errors import AliasError, UntracedError
from ...ir import Apply, Var
from ...ops.core import Ruled
from ...rewrite import splice_block
from ...tree import Kind
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.demand import ask, demand, refuse_undefined
from ..core.guards import fetch, space_of
from ..core.layout import note_kind
from ..core.values import (
    Bound,
    Closure,
    Foreign,
    Masked,
    Partial,
    Ref,
    Undefined,
    Value,
    is_leaf,
    is_runtime,
)
from ..functions.inner import Argument, outside
from ..parts.selection import concrete
from ..text.signature import abstract_with_leaves, aval_of
from .draws import generators_of, is_draw, may_draw, spliced_draw


def call_transformed(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A call of grad(f), vmap(f), ...: their own reading is spliced in."""

    def shown(v: Value) -> Any:
        if isinstance(v, Foreign):
            return v.value
        if isinstance(v, Undefined):
            refuse_undefined(ctx, v, node)
        return v.aval if is_runtime(v) else v

    label = f"an argument of {getattr(f, '__name__', f)}"
    args = [concrete(ctx, v, node, label) if isinstance(v, Masked) else v for v in args]
    kwargs = {k: concrete(ctx, v, node, label) if isinstance(v, Masked) else v for k, v in kwargs.items()}
    flat, structure = tree.flatten([*args, *kwargs.values()], is_leaf=is_leaf)
    flat = [Argument(ctx, v, node) if isinstance(v, Closure | Bound | Partial) else v for v in flat]
    values = tree.unflatten(structure, flat)
    tree_of_avals = tree.unflatten(structure, [shown(v) for v in flat])
    keywords = dict(zip(kwargs, tree_of_avals[len(args) :], strict=True))
    signature, _ = abstract_with_leaves(f, tree_of_avals[: len(args)], keywords)
    _, leaves = abstract_with_leaves(f, *_marked(values, len(args), kwargs))
    leaves = [m.value if isinstance(m, _Mark) else m for m in leaves]  # the others are defaults
    known = tuple(v if not is_runtime(v) else _value_of(ctx, v) for v in leaves)
    immutable = frozenset(k for k, v in enumerate(leaves) if type(v) is Ref and v.cell.immutable)
    signature = dataclasses.replace(signature, values=known, immutable=immutable)
    try:
        reading = f.__untraced_read__(signature)
    except NeedTrip as need:  # a loop of an inner function whose length comes from outside it
        demand(ctx, need.atoms, node, "a number of trips")
        raise
    except UntracedError as error:
        ask(ctx, [v for v in leaves if _is_guessed(ctx, v)])
        error.sites = ()  # the statement of the call is what stays with CPython
        raise
    needed = [leaves[i] for i in reading.statics if is_runtime(leaves[i])]
    if needed:
        demand(ctx, needed, node, f"an argument of {getattr(f, '__name__', f)}")
    given = generators_of(f, args, kwargs)
    return _splice_reading(ctx, reading, [v for i, v in enumerate(leaves) if i not in reading.statics], given, node)


class _Mark:
    """A leaf that carries its abstract value through the binding of arguments."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.aval = value.aval if is_runtime(value) else aval_of(value)


def _marked(values: list[Value], count: int, kwargs: dict[str, Value]) -> tuple[list[Any], dict[str, Any]]:
    flat, structure = tree.flatten(values, is_leaf=is_leaf)

    def mark(v: Value) -> Any:
        if is_runtime(v) or aval_of(v) is not None:
            return _Mark(v)
        return v.value if isinstance(v, Foreign) else v

    marked = tree.unflatten(structure, [mark(v) for v in flat])
    return marked[:count], dict(zip(kwargs, marked[count:], strict=True))


def _value_of(ctx: Context, v: Value) -> Any:
    leaf = ctx.numbers.leaf_of.get(v) if type(v) is Var else None
    if leaf is not None:
        return ctx.numbers.leaf_values[leaf]
    return 1 if _is_guessed(ctx, v) else None


def _is_guessed(ctx: Context, v: Value) -> bool:
    """Whether this is an int that only the run knows: where a reading needs its value it is taken to be 1, and asked
    for behind the reading, or when that fails.
    """
    return type(v) is Var and v not in ctx.numbers.leaf_of and v.aval.weak and v.aval.dtype.kind == "i"


def _splice_reading(
    ctx: Context, reading: Any, leaves: list[Value], given: list[Any], node: ast.AST
) -> Value:
    function = reading.function
    renewed: dict[Any, Any] = {}  # what is of one call of a derivative
    atoms = [ctx.atom(v if not isinstance(v, _Mark) else v.value) for v in leaves]
    cells: list[Value] = list(leaves)
    for p in function.params:
        free = outside(p)
        if free is not None:
            cells.append(free)
            atoms.append(free)
        elif is_draw(p) and p.capture is not None:
            aval, draw = function.body.params[len(atoms)].aval, p.capture.function.owner
            value = spliced_draw(ctx, draw, aval, given, renewed) if may_draw(ctx) else NotImplemented
            if value is NotImplemented:
                ctx.cut(node, "a derivative that draws random numbers cannot be compiled")
            cells.append(value)
            atoms.append(ctx.atom(value))
        elif p.capture is not None:
            value = fetch(p.capture)
            captured = ctx.captures.adopt(value, p.capture, space_of(p.capture.function, p.capture.name))
            cells.append(captured)
            atoms.append(ctx.atom(captured))
    ctx.captures.merge(reading.guards)
    ctx.at(node)
    first = len(ctx.b.statements)
    results = splice_block(ctx.b, function, atoms)
    for i, s in enumerate(ctx.b.statements[first:], first):
        if isinstance(s, Apply) and isinstance(s.op, Ruled):  # its rule's errors are told at the call
            ctx.b.statements[i] = dataclasses.replace(s, span=ctx.b.span)
    count = function.out.leaf_count
    for position, new in zip(function.mutated, results[count:], strict=True):
        target = cells[position]
        assert type(target) is Ref
        _check_apart(ctx, target, [v for i, v in enumerate(cells) if i != position], node)
        ctx.write(target, new)
    made = [ctx.wrap(r) for r in results[:count]]
    note_kind(made, *leaves)
    return unflatten(function.out, made)


def _check_apart(ctx: Context, target: Ref, others: list[Value], node: ast.AST) -> None:
    """Raises AliasError where what is written in place may be the memory of another argument."""
    memory = memory_of(target.cell)
    if any(type(v) is Ref and not memory.isdisjoint(memory_of(v.cell)) for v in others):
        raise ctx.error(
            AliasError,
            node,
            "an argument that is written in place shares memory with another argument",
            why="the function was read for arguments that do not overlap",
            instead="pass a copy of one of them",
        )


def unflatten(structure: tree.TreeDef, leaves: list[Value]) -> Value:
    assert structure.kind in Kind
    return tree.unflatten(structure, leaves)
