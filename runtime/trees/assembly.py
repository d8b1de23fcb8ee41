"""Building trees by generated code: `assembler(treedef)(leaves)` is `unflatten` at the speed of a literal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...translator.float0 import zeros_of
from ...translator.reading.text.signature import static_value
from ...translator.tree import Kind, TreeDef, close_node, in_order

Assembler = Callable[[Sequence[Any]], Any]


@lru_cache(maxsize=4096)
def assembler(tree: TreeDef) -> Assembler:
    """A function from the sequence of leaves to the tree around them. STATIC nodes give their values."""
    names: dict[str, Any] = {}
    text = _expression(tree, iter(range(tree.leaf_count)), names)
    made: Assembler = eval(
        f"lambda r: {text}", names
    )  # the text holds positions, literal keys and names from `names` only
    return made


@lru_cache(maxsize=4096)
def argument_assembler(trees: tuple[TreeDef, ...]) -> Assembler:
    """A function from all leaves to the list of arguments."""
    return assembler(TreeDef(Kind.LIST, trees))


def _expression(t: TreeDef, count: Any, names: dict[str, Any]) -> str:
    match t.kind:
        case Kind.LEAF:
            return f"r[{next(count)}]"
        case Kind.NONE:
            return "None"
        case Kind.STATIC:
            zeros = zeros_of(t)
            return _named(static_value(t), names) if zeros is None else f"{_named(zeros.array, names)}()"
        case Kind.TUPLE:
            return f"({''.join(_expression(c, count, names) + ', ' for c in t.children)})"
        case Kind.LIST:
            return f"[{', '.join(_expression(c, count, names) for c in t.children)}]"
        case Kind.DICT if t.type in (None, dict):
            parts = [_expression(c, count, names) for c in t.children]
            entries = in_order(t, dict(zip(t.keys, parts, strict=True)))
            return "{" + ", ".join(f"{_named(k, names)}: {part}" for k, part in entries.items()) + "}"
        case _:
            children = ", ".join(_expression(c, count, names) for c in t.children)
            return f"{_named(lambda *children: close_node(t, children), names)}({children})"


def _named(value: Any, names: dict[str, Any]) -> str:
    if type(value) in (str, int, bool):
        return repr(value)
    name = f"v{len(names)}"
    names[name] = value
    return name
