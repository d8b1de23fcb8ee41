"""Values taken apart into what a loop carries, arrays and numbers, and put together again around other ones.

    {"a": x, "b": (y, 2.0)}        leaves x, y, 2.0, and a shell that says where they stand
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from copy import copy
from typing import Any

import numpy as np

from ...tree import is_namedtuple
from ..core.values import (
    Maybe,
    Ref,
    Value,
    attributes_of,
    is_leaf,
    is_mapping,
    is_object,
    is_runtime,
    is_transformed,
    with_entries,
)

Shell = Any
LEAF = "leaf"
BOX = "array"  # an array without axes


def open_value(v: Value, leaves: list[Value], apart: Set[int] = frozenset()) -> Shell:
    """The structure of a value over its carried leaves: arrays, numbers and bool. All else must stay what it is, and so
    must containers and objects that are carried by themselves: those whose identities are in `apart`.
    """
    if type(v) is Ref and not v.aval.shape:
        leaves.append(v)
        return BOX
    if is_runtime(v) or isinstance(v, bool | int | float | complex | np.generic):
        leaves.append(v)
        return LEAF
    if isinstance(v, Maybe):
        return (type(v), None, (open_value(v.value, leaves, apart), open_value(v.absent, leaves, apart)))
    if id(v) in apart:
        return ("static", None, Same(v))
    if type(v) in (tuple, list):
        return (type(v), None, tuple(open_value(x, leaves, apart) for x in v))
    if is_mapping(v):
        return (Empty(v), tuple(v), tuple(open_value(x, leaves, apart) for x in v.values()))
    if is_namedtuple(v):
        return (type(v), None, tuple(open_value(x, leaves, apart) for x in v))
    if is_object(v) and not is_transformed(v):
        own = attributes_of(v)
        return (type(v), tuple(own), tuple(open_value(x, leaves, apart) for x in own.values()))
    return ("static", None, Same(v))


class Same:
    """Compares by identity, then by value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Same):
            return False
        if self.value is other.value:
            return True
        return type(self.value) is type(other.value) and not is_leaf(self.value) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


class Empty:
    """A dict without its entries: its class and, of a defaultdict, what it makes of a missing key."""

    def __init__(self, v: dict[Any, Value]) -> None:
        self.dict = copy(v)
        self.dict.clear()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Empty) or type(self.dict) is not type(other.dict):
            return False
        return getattr(self.dict, "default_factory", None) is getattr(other.dict, "default_factory", None)

    __hash__ = None  # type: ignore[assignment]


def close_value(shell: Shell, leaves: Iterator[Value]) -> Value:
    """The value of this structure with these leaves; containers and objects in it are new."""
    if shell in (LEAF, BOX):
        return next(leaves)
    kind, keys, parts = shell
    if kind == "static":
        return parts.value
    children = [close_value(p, leaves) for p in parts]
    if type(kind) is Empty:
        return with_entries(kind.dict, zip(keys, children, strict=True))
    if kind in (tuple, list):
        return kind(children)
    if keys is None:
        return kind(*children)
    instance = object.__new__(kind)
    for k, c in zip(keys, children, strict=True):
        object.__setattr__(instance, k, c)
    return instance
