"""Unpacking parameters and building results, as source: `params["w"]`, `{"w": d_w}`."""

from __future__ import annotations

import ast
import keyword
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..float0 import Zeros
from ..ir import Function, Param, Var
from ..tree import LEAF, Kind, Rows, TreeDef, close_node, factory_of, in_order, open_node, static_fields
from .pieces import call, dtype_literal, integer, name, number, subscript


class Scope:
    """Objects that the printed source refers to by a global name: classes of results, odd dictionary keys."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.shells: dict[TreeDef, TreeDef] = {}  # structures of registered classes, each once

    def refer(self, value: Any, hint: str) -> ast.expr:
        return name(self.named(value, hint))

    def named(self, value: Any, hint: str) -> str:
        """The name that the object goes by in the source."""
        chosen, n = hint, 0
        while chosen in self.objects and self.objects[chosen] is not value:
            n += 1
            chosen = f"{hint}_{n}"
        self.objects[chosen] = value
        return chosen

    def literal(self, value: Any) -> ast.expr:
        """The source of a value that is known at translation; its name where it has no literal."""
        if value is None or isinstance(value, bool | str | bytes):
            return ast.Constant(value)
        if value is Ellipsis:
            return ast.Constant(...)
        if type(value) in (int, float, complex):
            return number(value)
        if type(value) is Zeros:
            return call("np.zeros", self.literal(value.shape), ast.List([self.literal(("float0", "V"))], ast.Load()))
        if isinstance(value, np.dtype):
            written = dtype_literal(value)  # the class of its numbers, where it has one: that is no dtype yet
            return written if isinstance(written, ast.Call) else call("np.dtype", written)
        if type(value) is tuple:
            return ast.Tuple([self.literal(v) for v in value], ast.Load())
        hint = getattr(value, "__name__", "") or type(value).__name__.lower()
        return self.refer(value, hint if hint.isidentifier() and not keyword.iskeyword(hint) else "constant")


def leaf_paths(p: Param, scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """For each leaf of a parameter, the expression that reads it and a name for it."""
    yield from _paths(p.tree, name(p.name), p.name, scope)


def _paths(t: TreeDef, path: ast.expr, hint: str, scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    match t.kind:
        case Kind.LEAF:
            yield path, hint
        case Kind.NONE | Kind.STATIC:
            return
        case Kind.TUPLE | Kind.LIST:
            for i, child in enumerate(t.children):
                yield from _paths(child, subscript(path, integer(i)), f"{hint}_{i}", scope)
        case Kind.DICT:
            for key, child in zip(t.keys, t.children, strict=True):
                inner = key if isinstance(key, str) and key.isidentifier() else f"{hint}_{key}"
                yield from _paths(child, subscript(path, scope.literal(key)), inner, scope)
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            for field, child in zip(t.keys, t.children, strict=True):
                yield from _paths(child, ast.Attribute(path, field, ast.Load()), field, scope)
        case Kind.CUSTOM:
            opener = scope.refer(open_node, "open_node")
            children = subscript(ast.Call(opener, [path], []), integer(0))
            for i, child in enumerate(t.children):
                yield from _paths(child, subscript(children, integer(i)), f"{hint}_{i}", scope)


def result_tree(t: TreeDef, leaves: Iterator[ast.expr], scope: Scope) -> ast.expr:
    """The expression that builds the result from the expressions of its leaves."""

    def children() -> list[ast.expr]:
        return [result_tree(c, leaves, scope) for c in t.children]

    match t.kind:
        case Kind.LEAF:
            return next(leaves)
        case Kind.NONE:
            return ast.Constant(None)
        case Kind.STATIC:
            return scope.literal(t.aux)
        case Kind.TUPLE:
            return ast.Tuple(children(), ast.Load())
        case Kind.LIST:
            return ast.List(children(), ast.Load())
        case Kind.DICT:
            entries = in_order(t, dict(zip(t.keys, children(), strict=True)))
            plain = ast.Dict([scope.literal(k) for k in entries], list(entries.values()))
            return plain if t.type in (None, dict) else _mapping(t, plain, scope)
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            assert t.type is not None
            keywords = [ast.keyword(k, c) for k, c in zip(t.keys, children(), strict=True)]
            if t.kind is Kind.DATACLASS:
                keywords += [ast.keyword(k, scope.literal(v)) for k, v in static_fields(t)]
            return ast.Call(scope.refer(t.type, t.type.__name__), [], keywords)
        case Kind.CUSTOM:
            assert t.type is not None
            if t.type is set:
                return ast.Call(name("set"), [scope.literal(t.aux)], [])
            if t.type is Rows:
                (rows,) = children()
                return ast.Call(ast.Attribute(rows, "tolist"), [], []) if t.aux else ast.Call(name("list"), [rows], [])
            shell = replace(t, children=(LEAF,) * len(t.children))
            structure = scope.refer(scope.shells.setdefault(shell, shell), f"{t.type.__name__.lower()}_structure")
            closer = scope.refer(close_node, "close_node")
            return ast.Call(closer, [structure, ast.List(children(), ast.Load())], [])


def _mapping(t: TreeDef, plain: ast.expr, scope: Scope) -> ast.expr:
    assert t.type is not None
    if issubclass(t.type, defaultdict):
        return ast.Call(scope.refer(t.type, t.type.__name__), [scope.literal(factory_of(t)), plain], [])
    return ast.Call(scope.refer(t.type, t.type.__name__), [plain], [])


def is_plain(p: Param) -> bool:
    return p.tree.kind is Kind.LEAF


def leaf_variables(function: Function) -> Iterator[tuple[Param, Sequence[Var]]]:
    """Each parameter with the variables of its leaves."""
    position = 0
    for p in function.params:
        count = p.tree.leaf_count
        yield p, function.body.params[position : position + count]
        position += count
