"""Pytrees: nested containers flattened to leaves and back. Leaf order is JAX's: keys sorted, but for OrderedDict."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    LEAF = "leaf"
    NONE = "none"
    STATIC = "static"  # a value known when the function is specialised; it has no leaves
    TUPLE = "tuple"
    LIST = "list"
    DICT = "dict"
    NAMEDTUPLE = "namedtuple"
    DATACLASS = "dataclass"
    CUSTOM = "custom"  # a class registered with `register`


@dataclass(frozen=True, slots=True)
class TreeDef:
    """The structure of a tree without its leaves; hashable, so that it can stand in a cache key.

    `keys` are dict keys or field names, `type` the class to rebuild, `aux` the static value of a STATIC node, the
    auxiliary data of a CUSTOM one, or the keys of a DICT in the order of the dict where that is another.
    """

    kind: Kind
    children: tuple[TreeDef, ...] = ()
    keys: tuple[Any, ...] = ()
    type: type | None = None
    aux: Hashable = None

    @property
    def leaf_count(self) -> int:
        return 1 if self.kind is Kind.LEAF else sum(c.leaf_count for c in self.children)


LEAF = TreeDef(Kind.LEAF)
NONE = TreeDef(Kind.NONE)


def static(value: Hashable) -> TreeDef:
    """A node that carries `value` in the structure itself."""
    return TreeDef(Kind.STATIC, aux=value)


Flatten = Callable[[Any], tuple[Sequence[Any], Hashable]]
Unflatten = Callable[[Hashable, Sequence[Any]], Any]
_registry: dict[type, tuple[Flatten, Unflatten]] = {}


def register(cls: type, flatten_node: Flatten, unflatten_node: Unflatten) -> None:
    """Make `cls` a tree node: `flatten_node(x) -> (children, aux)`, `unflatten_node(aux, children) -> x`."""
    if cls in _registry:
        raise ValueError(f"{cls.__qualname__} is registered already")
    _registry[cls] = (flatten_node, unflatten_node)


_registry[set] = (lambda x: ((), tuple(x)), lambda aux, _: set(aux))  # type: ignore[call-overload]  # all static


def open_node(x: Any) -> tuple[Sequence[Any], TreeDef] | None:
    """The children of a container and its structure with LEAF in place of each child; None for a leaf."""
    if x is None:
        return (), NONE
    cls = type(x)
    if cls in _registry:
        children, aux = _registry[cls][0](x)
        return children, TreeDef(Kind.CUSTOM, (LEAF,) * len(children), type=cls, aux=aux)
    if cls is tuple or cls is list:
        return x, TreeDef(Kind.TUPLE if cls is tuple else Kind.LIST, (LEAF,) * len(x))
    if isinstance(x, dict):
        keys = tuple(x) if isinstance(x, OrderedDict) else sorted_keys(x)
        order = None if keys == tuple(x) else tuple(x)
        return [x[k] for k in keys], TreeDef(Kind.DICT, (LEAF,) * len(keys), keys, cls, order)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return x, TreeDef(Kind.NAMEDTUPLE, (LEAF,) * len(x), x._fields, cls)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return [getattr(x, n) for n in names], TreeDef(Kind.DATACLASS, (LEAF,) * len(names), names, cls)
    return None


def sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    """Keys of a dict in sorted order, as JAX has it; in insertion order where they do not compare."""
    try:
        return tuple(sorted(d))
    except TypeError:
        return tuple(d)


def flatten(x: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """Leaves in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(x, leaves, is_leaf)


def _flatten_into(x: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeDef:
    opened = None if is_leaf is not None and is_leaf(x) else open_node(x)
    if opened is None:
        leaves.append(x)
        return LEAF
    children, shell = opened
    if not children:
        return shell
    return dataclasses.replace(shell, children=tuple(_flatten_into(c, leaves, is_leaf) for c in children))


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with these leaves. Raises ValueError when the count of leaves is wrong."""
    feed = list(leaves)
    if len(feed) != treedef.leaf_count:
        raise ValueError(f"the structure has {treedef.leaf_count} leaves, {len(feed)} were given")
    return _unflatten_from(treedef, iter(feed))


def _unflatten_from(t: TreeDef, feed: Any) -> Any:
    if t.kind is Kind.LEAF:
        return next(feed)
    return close_node(t, [_unflatten_from(c, feed) for c in t.children])


def close_node(t: TreeDef, children: Sequence[Any]) -> Any:
    """The container of structure `t` around `children`: the inverse of `open_node`."""
    match t.kind:
        case Kind.NONE:
            return None
        case Kind.STATIC:
            return t.aux
        case Kind.TUPLE:
            return tuple(children)
        case Kind.LIST:
            return list(children)
        case Kind.DICT:
            plain = in_order(t, dict(zip(t.keys, children, strict=True)))
            return plain if t.type in (None, dict) else _rebuild_mapping(t, plain)
        case Kind.NAMEDTUPLE:
            assert t.type is not None
            return t.type(*children)
        case Kind.DATACLASS:
            assert t.type is not None
            x: Any = object.__new__(t.type)
            for name, child in zip(t.keys, children, strict=True):
                object.__setattr__(x, name, child)
            return x
        case Kind.CUSTOM:
            assert t.type is not None
            return _registry[t.type][1](t.aux, children)
        case Kind.LEAF:
            raise AssertionError("a leaf is not a node")


def in_order(t: TreeDef, entries: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of a DICT node in the order that the dict had."""
    return entries if t.aux is None else {k: entries[k] for k in t.aux}  # type: ignore[attr-defined]


def without_order(t: TreeDef) -> TreeDef:
    """The structure as JAX compares it: the order of a dict's entries is no part of it."""
    aux = None if t.kind is Kind.DICT else t.aux
    return dataclasses.replace(t, children=tuple(map(without_order, t.children)), aux=aux)


def _rebuild_mapping(t: TreeDef, plain: dict[Any, Any]) -> Any:
    """A dict subclass around the entries: a defaultdict without its factory, which is not part of the structure."""
    from collections import defaultdict

    make: Any = t.type
    return make(None, plain) if issubclass(make, defaultdict) else make(plain)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply `f` to corresponding leaves; all trees must have the structure of the first."""
    leaves, treedef = flatten(tree, is_leaf)
    columns = [leaves]
    for other in rest:
        other_leaves, other_def = flatten(other, is_leaf)
        if other_def != treedef and without_order(other_def) != without_order(treedef):
            raise ValueError(f"structures differ: {treedef} and {other_def}")
        columns.append(other_leaves)
    return unflatten(treedef, [f(*xs) for xs in zip(*columns, strict=True)])
