"""The edge of the language: constructs that are refused whatever their values, each with a reason and a rewrite."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable

from ...errors import CutError, UnsupportedError
from ...verdict import is_verdict
from .nodes import last_name, own_nodes
from .source import FunctionNode, Source

Refusal = tuple[str, str, str]  # what, why, instead


_NO_WAITING = "nothing inside a compiled function waits"

_REFUSED: dict[type[ast.AST], Refusal] = {
    ast.Await: ("`await` is not in the language", _NO_WAITING, "call the function plainly"),
    ast.AsyncFor: ("`async for` is not in the language", _NO_WAITING, "write a plain `for`"),
    ast.AsyncWith: ("`async with` is not in the language", _NO_WAITING, "leave it outside"),
    ast.AsyncFunctionDef: ("`async def` is not in the language", _NO_WAITING, "write a plain `def`"),
}

_TRY = (
    "`try` cannot be compiled",
    "compiled code raises nothing that it could catch",
    "test for the condition with `if` or `np.where`, or catch the error around the call of this function",
)
_WITH = (
    "`with` cannot be compiled",
    "a context manager runs Python code on entry and exit; only `np.errstate(...)` is known",
    "enter the context around the call of this function",
)
_CUT: dict[type[ast.AST], Refusal] = {  # CPython goes through these, and what is around them is compiled
    ast.Try: _TRY,
    ast.TryStar: _TRY,
    ast.ClassDef: (
        "a class that is made at every call cannot be compiled",
        "compiled code makes no classes",
        "define it at the top of the module",
    ),
}


def check(source: Source, transforms: bool = False) -> None:
    """Raise at the first construct (in source order) that is outside the language: UnsupportedError, or CutError where
    CPython can go through all that is found. `transforms`: what is read is to be differentiated or batched (`trying`).
    """
    found = _violations(source.node)
    if transforms:
        found = tuple(pair for pair in found if not isinstance(pair[0], ast.Try))
    if not found:
        return
    refused = [pair for pair in found if not _is_cut(pair[0])]
    node, (what, why, instead) = min(refused or found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))
    error = (UnsupportedError if refused else CutError)(source.diagnostic(node, what, why, instead))
    error.sites = (node,)
    raise error


def check_entry(source: Source, transforms: bool = False) -> None:
    """Raise CutError for a generator function: one that is read may call it, alone it is CPython's, around regions."""
    check(source, transforms)
    found = _yields(source.node)
    if found:
        what = "a generator function cannot be compiled by itself"
        why = "a generator keeps running between calls; a compiled function returns once"
        error = CutError(source.diagnostic(found[0], what, why, "collect the values in a list and return it"))
        error.sites = (found[0],)
        raise error


@functools.lru_cache(maxsize=1024)
def _yields(root: FunctionNode) -> tuple[ast.AST, ...]:
    body = root.body if isinstance(root, ast.FunctionDef) else [root.body]
    return tuple(n for s in body for n in own_nodes(s) if isinstance(n, ast.Yield | ast.YieldFrom))


def _is_cut(node: ast.AST) -> bool:
    return type(node) in _CUT or isinstance(node, ast.With | ast.Delete)


@functools.lru_cache(maxsize=1024)
def _violations(root: FunctionNode) -> tuple[tuple[ast.AST, Refusal], ...]:
    """The violations in a function's syntax, kept because the function is read once for each specialisation."""
    found: list[tuple[ast.AST, Refusal]] = []
    # Decorators, annotations and defaults of the outer function ran when it was defined; only its body is read.
    waiting: list[ast.AST] = list(root.body) if isinstance(root, ast.FunctionDef) else [root.body]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if is_verdict(node):
            continue
        if kind in _REFUSED:
            found.append((node, _REFUSED[kind]))
            continue
        if kind in _CUT:
            found.append((node, _CUT[kind]))
        special = _SPECIAL.get(kind)
        if special is not None:
            refusal = special(node)
            if refusal is not None:
                found.append((node, refusal))
        waiting.extend(ast.iter_child_nodes(node))
    return tuple(found)


def _with(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.With)
    return None if may_be_read(node) else _WITH


def may_be_read(node: ast.With) -> bool:
    """Whether its blocks have names of such as change no result; what the names mean is seen when they are read."""
    calls = [item.context_expr for item in node.items]
    return all(isinstance(c, ast.Call) and last_name(c.func) in READABLE_CONTEXTS for c in calls)


READABLE_CONTEXTS = ("errstate", "named_scope", "default_matmul_precision", "ensure_compile_time_eval", "disable_jit")


def _delete(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.Delete)
    if not any(isinstance(t, ast.Attribute) for t in node.targets):
        return None
    return (
        "`del` of an attribute is not in the language",
        "which attributes an object has is fixed when the function is translated",
        "set it to None",
    )


def _comprehension(node: ast.AST) -> Refusal | None:
    assert isinstance(node, ast.comprehension)
    return ("`async for` is not in the language", "nothing waits", "write a plain `for`") if node.is_async else None


_SPECIAL: dict[type[ast.AST], Callable[[ast.AST], Refusal | None]] = {
    ast.With: _with,
    ast.Delete: _delete,
    ast.comprehension: _comprehension,
}
