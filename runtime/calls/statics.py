"""`Static`: an argument declared static, on its way from the call to the structure of the signature."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...translator.reading.text.signature import value_key
from ...translator.tree import Kind, TreeDef, static


class Static:
    """Holds a hashable value. Equal only to one of the same type and value: 1, 1.0 and True differ."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        """Callable, hence static to the signature, which asks for no more."""
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and bool(value_key(other.value) == value_key(self.value))

    def __hash__(self) -> int:
        return hash(value_key(self.value))


def unwrap(tree: TreeDef) -> TreeDef:
    """The structure with the values themselves in its STATIC nodes."""
    if tree.kind is Kind.STATIC:
        return static(tree.aux.value) if isinstance(tree.aux, Static) else tree
    if not tree.children:
        return tree
    return dataclasses.replace(tree, children=tuple(unwrap(c) for c in tree.children))
