"""Syntax trees to text, by astor, and lines to a source file with comments in a column."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..ir import Statement
from ..records import dataclass

COMMENT_COLUMN, LAST_COMMENT_COLUMN = 40, 66


@dataclass(slots=True)
class Line:
    """`origins` are the statements of the program that the line is made of, the one that it is about first."""

    indent: int
    text: str
    comment: str = ""
    origins: tuple[Statement, ...] = ()


@lru_cache(maxsize=1)
def _astor() -> Any:
    import astor  # heavier than NumPy to import, and needed only where source is printed

    return astor


def text_of(node: ast.AST) -> str:
    """The node on one line, strings in double quotes."""
    if isinstance(node, ast.Tuple) and len(node.elts) == 1:
        (item,) = node.elts
        inner = text_of(item)  # of several items without the parentheses that tell them from the tuple around
        return f"(({inner}),)" if isinstance(item, ast.Tuple) and len(item.elts) > 1 else f"({inner},)"
    if isinstance(node, ast.expr):
        node = ast.Expr(node)  # a bare expression would get parentheses
    source: str = _astor().to_source(node, pretty_string=_double_quoted, pretty_source="".join)
    return source.strip()


def _double_quoted(s: str, *_: object, **__: object) -> str:
    quoted = repr(s)
    if quoted.startswith("'") and '"' not in s:
        inner = quoted[1:-1].replace("\\'", "'")
        return f'"{inner}"'
    return quoted


def join(lines: Sequence[Line]) -> str:
    """The lines as source text. Comments stand in one column where the code leaves room for it."""
    codes = ["    " * line.indent + line.text for line in lines]
    commented = [len(c) for c, line in zip(codes, lines, strict=True) if line.comment]
    column = max([COMMENT_COLUMN, *(n + 2 for n in commented if n + 2 <= LAST_COMMENT_COLUMN)]) if commented else 0
    out = []
    for code, line in zip(codes, lines, strict=True):
        out.append(f"{code.ljust(column - 2)}  # {line.comment}" if line.comment else code)
    return "\n".join(out) + "\n"


def join_elif(lines: list[Line], mark: int) -> None:
    """Write `elif` for the `else:` at `lines[mark]` if it holds one `if` and nothing beside it."""
    first, *rest = lines[mark + 1 :]
    if not first.text.startswith("if "):
        return
    if any(line.indent == first.indent and not line.text.startswith(("elif ", "else:")) for line in rest):
        return
    del lines[mark]
    first.text = f"el{first.text}"
    for line in lines[mark:]:
        line.indent -= 1
