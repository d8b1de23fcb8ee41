"""The function that asks LAPACK whether a matrix has a Cholesky factor: nothing in NumPy says so but the error.

It is an operation of programs (`ops.INDEFINITE`), for the branches that `try` becomes. Printed source has the function
in it, so that it runs with NumPy alone, and where it is read it is known by its syntax.
"""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from typing import Any

import numpy as np


def is_indefinite(a: Any) -> Any:
    found = np.zeros(a.shape[:-2], bool)
    for i in np.ndindex(found.shape):
        try:
            np.linalg.cholesky(a[i])
        except np.linalg.LinAlgError:
            found[i] = True
    return found[()]


@lru_cache(maxsize=1)
def _lines() -> list[str]:
    """The source of its body."""
    return inspect.getsource(is_indefinite).splitlines()[1:]


def verdict_source(name: str) -> str:
    """The function as it is printed, under a name."""
    return "\n".join((f"def {name}(a):", *_lines()))


def is_verdict(node: ast.AST) -> bool:
    """Whether this is the definition of such a function, under any name."""
    if not isinstance(node, ast.FunctionDef) or len(node.body) != 3 or not isinstance(node.body[1], ast.For):
        return False
    return [a.arg for a in node.args.args] == ["a"] and list(map(ast.dump, node.body)) == _syntax()


@lru_cache(maxsize=1)
def _syntax() -> list[str]:
    (made,) = ast.parse(verdict_source("is_indefinite")).body
    assert isinstance(made, ast.FunctionDef)
    return list(map(ast.dump, made.body))
