"""The namespace `untraced.tree`: the functions of `untraced.tree_util` under the names of `jax.tree`."""

from __future__ import annotations

import builtins
import dataclasses
from typing import Any

from ...translator.tree import register
from .tree_util import (
    IsLeaf,
    PyTreeDef,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from .tree_util import tree_all as all
from .tree_util import tree_broadcast as broadcast
from .tree_util import tree_flatten as flatten
from .tree_util import tree_flatten_with_path as flatten_with_path
from .tree_util import tree_leaves as leaves
from .tree_util import tree_leaves_with_path as leaves_with_path
from .tree_util import tree_map as map
from .tree_util import tree_map_with_path as map_with_path
from .tree_util import tree_reduce as reduce
from .tree_util import tree_reduce_associative as reduce_associative
from .tree_util import tree_structure as structure
from .tree_util import tree_transpose as transpose
from .tree_util import tree_unflatten as unflatten

__all__ = [
    "PyTreeDef",
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
    "reduce_associative",
    "register",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


def any(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether some leaf is true."""
    return builtins.any(leaves(tree, is_leaf))


def static(**kwargs: Any) -> Any:
    """`dataclasses.field` for a field that belongs to the structure of its dataclass: `name: str = tree.static()`."""
    metadata = {**kwargs.pop("metadata", {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)
