"""The edge of the language: constructs that are refused whatever their values, each with a reason and a rewrite."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..errors import UnsupportedError
from .source import FunctionNode, Source

Refusal = tuple[str, str, str]  # what, why, instead

_PURE = "the language is functions of arrays: what a name means must be decidable from the source of this function"

_NO_WAITING = "nothing inside a compiled function waits"
_IMPORT = ("`import` inside a compiled function", "a module is imported once", "import it at the top of the file")

_REFUSED: dict[type[ast.AST], Refusal] = {
    ast.Yield: (
        "`yield` is not in the language",
        "a generator keeps running between calls; a compiled function returns once",
        "collect the values in a list and return it",
    ),
    ast.YieldFrom: (
        "`yield from` is not in the language",
        "a generator keeps running between calls; a compiled function returns once",
        "collect the values in a list and return it",
    ),
    ast.Await: ("`await` is not in the language", _NO_WAITING, "call the function plainly"),
    ast.AsyncFor: ("`async for` is not in the language", _NO_WAITING, "write a plain `for`"),
    ast.AsyncWith: ("`async with` is not in the language", _NO_WAITING, "leave it outside"),
    ast.AsyncFunctionDef: ("`async def` is not in the language", _NO_WAITING, "write a plain `def`"),
    ast.Try: (
        "`try` is not in the language",
        "compiled code raises nothing that it could catch",
        "test for the condition with `if` or `np.where`, or catch the error around the call of this function",
    ),
    ast.ClassDef: (
        "a class cannot be defined inside a compiled function",
        "a class is made once, not at every call",
        "define it at the top of the module",
    ),
    ast.Global: (
        "`global` is not in the language",
        _PURE,
        "return the new value and assign it where the function is called",
    ),
    ast.Nonlocal: (
        "`nonlocal` is not in the language",
        _PURE,
        "return the new value from the inner function",
    ),
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
    ast.Match: ("`match` is not in the language yet", "", "write `if` / `elif` / `else`"),
}
if hasattr(ast, "TryStar"):
    _REFUSED[ast.TryStar] = _REFUSED[ast.Try]


def check(source: Source) -> None:
    """Raise UnsupportedError at the first construct (in source order) that is outside the language."""
    found = list(_violations(source.node))
    if not found:
        return
    node, (what, why, instead) = min(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))  # type: ignore[attr-defined]
    raise UnsupportedError(source.diagnostic(node, what, why, instead))


def _violations(root: FunctionNode) -> list[tuple[ast.AST, Refusal]]:
    found: list[tuple[ast.AST, Refusal]] = []
    # Decorators, annotations and defaults of the outer function ran when it was defined; only its body is read.
    waiting: list[ast.AST] = list(root.body) if isinstance(root, ast.FunctionDef) else [root.body]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind in _REFUSED:
            found.append((node, _REFUSED[kind]))
            continue
        special = _SPECIAL.get(kind)
        if special is not None:
            refusal = special(node)
            if refusal is not None:
                found.append((node, refusal))
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _with(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.With)
    calls = [item.context_expr for item in node.items]
    if all(isinstance(c, ast.Call) and _last_name(c.func) == "errstate" for c in calls):
        return None
    return (
        "`with` is not in the language",
        "a context manager runs Python code on entry and exit; only `np.errstate(...)` is known",
        "enter the context around the call of this function",
    )


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _delete(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.Delete)
    if all(isinstance(t, ast.Name) for t in node.targets):
        return None
    return (
        "`del` of an element or attribute is not in the language",
        "the structure of containers is fixed when the function is translated",
        "build the smaller container: {k: v for k, v in d.items() if k != key}",
    )


def _comprehension(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.comprehension)
    return ("`async for` is not in the language", "nothing waits", "write a plain `for`") if node.is_async else None


_SPECIAL: dict[type[ast.AST], Callable[[ast.AST], Refusal | None]] = {
    ast.With: _with,
    ast.Delete: _delete,
    ast.comprehension: _comprehension,
}
