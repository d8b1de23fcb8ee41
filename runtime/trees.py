"""The namespace `untraced.tree`: pytrees under the names of `jax.tree` and `jax.tree_util`.

`map`, `flatten`, `unflatten`, `leaves`, `structure`, `reduce`, `all`, `transpose`, the `_with_path` forms, and
`register` with its variants. Containers are dict, list, tuple, namedtuple, dataclass, None and registered classes;
all else is a leaf.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..translator.reading.signature import static_value
from ..translator.tree import Kind, TreeDef, open_node
from ..translator.tree import flatten as flatten
from ..translator.tree import register as register
from ..translator.tree import tree_map as map
from ..translator.tree import unflatten as unflatten

__all__ = [
    "TreeDef",
    "all",
    "any",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "register",
    "register_pytree_node",
    "register_pytree_node_class",
    "structure",
    "transpose",
    "unflatten",
]

IsLeaf = Callable[[Any], bool] | None
Path = tuple[Any, ...]
_C = TypeVar("_C", bound=type)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves, in order; dict keys are visited sorted, None has no leaves."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> TreeDef:
    return flatten(tree, is_leaf)[1]


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(leaves(tree, is_leaf))


def any(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether some leaf is true."""
    return builtins.any(leaves(tree, is_leaf))


_UNSET = object()


def reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSET, is_leaf: IsLeaf = None) -> Any:
    """`functools.reduce` over the leaves; TypeError for a tree without leaves and without an initializer."""
    if initializer is _UNSET:
        return functools.reduce(function, leaves(tree, is_leaf))
    return functools.reduce(function, leaves(tree, is_leaf), initializer)


def transpose(outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of structure outer(inner) turned into inner(outer). `inner_treedef` None: that of the first child."""
    if inner_treedef is None:
        first = _children_at(outer_treedef, pytree_to_transpose)[0]
        inner_treedef = structure(first)
    flat = leaves(pytree_to_transpose)
    m, n = outer_treedef.leaf_count, inner_treedef.leaf_count
    if len(flat) != m * n:
        raise ValueError(f"a tree of {len(flat)} leaves is no {m} trees of {n} leaves")
    return unflatten(inner_treedef, [unflatten(outer_treedef, flat[i::n]) for i in range(n)])


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`prefix_tree` with every leaf repeated over the subtree of `full_tree` that it stands for."""
    treedef = structure(full_tree, is_leaf)
    return unflatten(treedef, broadcast_prefix(prefix_tree, treedef, "a tree", is_leaf))


def broadcast_prefix(prefix: Any, treedef: TreeDef, what: str, is_leaf: IsLeaf = None) -> list[Any]:
    """For each leaf of `treedef` the leaf of `prefix` above it. ValueError when `prefix` is not a prefix of it."""
    out: list[Any] = []
    _broadcast_into(out, prefix, treedef, what, is_leaf)
    return out


def _broadcast_into(out: list[Any], prefix: Any, t: TreeDef, what: str, is_leaf: IsLeaf) -> None:
    opened = None if is_leaf is not None and is_leaf(prefix) else open_node(prefix)
    if opened is None or t.kind is Kind.STATIC:
        out += [prefix] * t.leaf_count
        return
    children, shell = opened
    same_kind = shell.kind is t.kind and shell.keys == t.keys and len(children) == len(t.children)
    if not same_kind:
        raise ValueError(f"{what} {prefix!r} does not match the structure that it stands for: {describe(t)}")
    for child, subtree in zip(children, t.children, strict=True):
        _broadcast_into(out, child, subtree, what, is_leaf)


def describe(t: TreeDef, leaf: Callable[[], str] = lambda: "*") -> str:
    """A structure in a few words; `leaf` says what stands for each leaf in turn."""
    parts = [describe(c, leaf) for c in t.children]
    match t.kind:
        case Kind.LEAF:
            return leaf()
        case Kind.NONE:
            return "None"
        case Kind.STATIC:
            return repr(static_value(t))
        case Kind.TUPLE:
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        case Kind.LIST:
            return f"[{', '.join(parts)}]"
        case Kind.DICT:
            return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(t.keys, parts, strict=True)) + "}"
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            inner = ", ".join(f"{k}={p}" for k, p in zip(t.keys, parts, strict=True))
            return f"{t.type.__name__ if t.type else ''}({inner})"
        case Kind.CUSTOM:
            return f"{t.type.__name__ if t.type else ''}({', '.join(parts)})"


def _children_at(t: TreeDef, tree: Any) -> list[Any]:
    """The subtrees of `tree` that stand at the leaves of `t`."""
    if t.kind is Kind.LEAF:
        return [tree]
    opened = open_node(tree)
    children = () if opened is None else opened[0]
    return [x for c, child in zip(t.children, children, strict=True) for x in _children_at(c, child)]


def leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[Path, Any]]:
    """(path, leaf) pairs; a path is a tuple of dict keys, positions and field names."""
    opened = None if is_leaf is not None and is_leaf(tree) else open_node(tree)
    if opened is None:
        return [((), tree)]
    children, shell = opened
    keys: Iterable[Any] = shell.keys or range(len(children))
    return [
        ((k, *path), leaf) for k, c in zip(keys, children, strict=True) for path, leaf in leaves_with_path(c, is_leaf)
    ]


def flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[Path, Any]], TreeDef]:
    return leaves_with_path(tree, is_leaf), structure(tree, is_leaf)


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`map` with the path as first argument of `f`."""
    paths = iter([path for path, _ in leaves_with_path(tree, is_leaf)])
    return map(lambda *xs: f(next(paths), *xs), tree, *rest, is_leaf=is_leaf)


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """JAX's name for `register`."""
    register(nodetype, flatten_func, unflatten_func)


def register_pytree_node_class(cls: _C) -> _C:
    """Class decorator: `cls` has `tree_flatten(self) -> (children, aux)` and the class method `tree_unflatten(aux,
    children)`.
    """
    register(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_dataclass(nodetype: _C, data_fields: Sequence[str] = (), meta_fields: Sequence[str] = ()) -> _C:
    """A dataclass whose `meta_fields` are part of the structure. Without arguments nothing need be registered:
    dataclasses are nodes.
    """
    if not meta_fields:
        return nodetype

    def open_fields(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, n) for n in data_fields], tuple(getattr(x, n) for n in meta_fields)

    def close_fields(aux: Any, children: Sequence[Any]) -> Any:
        return nodetype(**dict(zip(meta_fields, aux, strict=True)), **dict(zip(data_fields, children, strict=True)))

    register(nodetype, open_fields, close_fields)
    return nodetype


for _function in (
    map,
    flatten,
    unflatten,
    leaves,
    structure,
    reduce,
    transpose,
    broadcast,
    leaves_with_path,
    flatten_with_path,
    map_with_path,
):
    _function.__dict__["__untraced_structural__"] = True

tree_map, tree_flatten, tree_unflatten, tree_leaves = map, flatten, unflatten, leaves
tree_structure, tree_reduce, tree_all, tree_transpose = structure, reduce, all, transpose
tree_map_with_path, tree_leaves_with_path, tree_flatten_with_path = map_with_path, leaves_with_path, flatten_with_path
