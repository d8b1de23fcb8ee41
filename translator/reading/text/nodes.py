"""Walking syntax trees in half the time of `ast.walk`, without contexts and operators."""

from __future__ import annotations

import ast

_MARKS = ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in `node`, in order, but for contexts and operators, which hold nothing."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [x for x in value if isinstance(x, ast.AST) and not isinstance(x, _MARKS)]
        elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
            found.append(value)
    return found


def nodes_of(*roots: ast.AST) -> list[ast.AST]:
    """These nodes and all in them."""
    found = list(roots)
    for node in found:
        found += children(node)
    return found


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """The node and its descendants outside inner functions."""
    found, waiting = [], [node]
    while waiting:
        n = waiting.pop()
        found.append(n)
        if not isinstance(n, ast.FunctionDef | ast.Lambda):
            waiting += children(n)
    return found


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `c`; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
