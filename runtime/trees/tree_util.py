"""The namespace `untraced.tree_util`: pytrees under the names of `jax.tree_util`, and with its semantics.

Containers are dict, list, tuple, namedtuple, dataclass, None and registered classes; all else is a leaf. The fields of
a dataclass are children, but for those marked `field(metadata={"static": True})`, which belong to the structure.
A path to a leaf is a tuple of DictKey, SequenceKey, GetAttrKey and FlattenedIndexKey; `keystr` writes it as Python
would: `['w'][0].bias`.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from ...translator import tree as trees
from ...translator.reading.text.signature import static_value
from ...translator.tree import Kind, TreeDef, child_keys, open_node, register, registered
from ...translator.tree import tree_map as tree_map

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[..., bool] | None
KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]
_C = TypeVar("_C", bound=type)
_UNSET: Any = object()


class _Key:
    """One step on the way to a leaf. Compared by kind and value; `str` gives it as Python source."""

    __slots__ = ("_value",)
    _field, _text = "", ""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash((type(self), self._value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._field}={self._value!r})"

    def __str__(self) -> str:
        return self._text.format(self._value)


class DictKey(_Key):
    __slots__ = ()
    _field, _text = "key", "[{!r}]"

    def __init__(self, key: Any) -> None:
        super().__init__(key)

    @property
    def key(self) -> Hashable:
        """The key in the dict."""
        return self._value  # type: ignore[no-any-return]


class SequenceKey(_Key):
    __slots__ = ()
    _field, _text = "idx", "[{!r}]"

    def __init__(self, idx: int) -> None:
        super().__init__(idx)

    @property
    def idx(self) -> int:
        """The index in the list or tuple."""
        return self._value  # type: ignore[no-any-return]


class GetAttrKey(_Key):
    __slots__ = ()
    _field, _text = "name", ".{}"

    def __init__(self, name: str) -> None:
        super().__init__(name)

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self._value  # type: ignore[no-any-return]


class FlattenedIndexKey(_Key):
    __slots__ = ()
    _field, _text = "key", "[<flat index {}>]"

    def __init__(self, key: int) -> None:
        super().__init__(key)

    @property
    def key(self) -> int:
        """The position among the children."""
        return self._value  # type: ignore[no-any-return]


class PyTreeDef:
    """The structure of a tree without its leaves. Hashable; two are equal where the trees differ in leaves, or in the
    order of a dict's entries, only.
    """

    __slots__ = ("node",)
    __untraced_value__ = True

    def __init__(self, node: TreeDef) -> None:
        self.node = trees.without_order(node)

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self.node.leaf_count

    @property
    def num_nodes(self) -> int:
        """Containers and leaves."""
        return 1 + sum(c.num_nodes for c in self.children())

    def children(self) -> list[PyTreeDef]:
        """The structures of the root's children."""
        return [PyTreeDef(c) for c in self.node.children]

    def node_data(self) -> tuple[type, Any] | None:
        """The type of the outermost container and what it has beside its children; None for a leaf."""
        t = self.node
        match t.kind:
            case Kind.LEAF:
                return None
            case Kind.DICT:
                return t.type or dict, list(t.keys)
            case Kind.TUPLE | Kind.LIST | Kind.NONE:
                return {Kind.TUPLE: tuple, Kind.LIST: list}.get(t.kind, type(None)), None
            case _:
                return t.type or object, t.aux

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves. ValueError for another number of them."""
        return tree_unflatten(self, leaves)

    def flatten_up_to(self, xs: Any) -> list[Any]:
        """The subtrees of `xs` at the leaves of this structure. ValueError where `xs` does not extend it."""
        return trees.flatten_up_to(self.node, xs)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` at each leaf."""
        return PyTreeDef(_with_leaves(self.node, iter([inner.node] * self.num_leaves)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyTreeDef) and self.node == other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"PyTreeDef({_as_jax_writes(self.node)})"


def _with_leaves(t: TreeDef, parts: Any) -> TreeDef:
    if t.kind is Kind.LEAF:
        return next(parts)  # type: ignore[no-any-return]
    return dataclasses.replace(t, children=tuple(_with_leaves(c, parts) for c in t.children))


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
            inner = "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(t.keys, parts, strict=True)) + "}"
            return inner if t.type in (None, dict) else f"{t.type.__name__}({inner})"
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            fields = [*zip(t.keys, parts, strict=True)]
            fields += [(k, repr(v)) for k, v in trees.static_fields(t)] if t.kind is Kind.DATACLASS else []
            return f"{t.type.__name__ if t.type else ''}({', '.join(f'{k}={p}' for k, p in fields)})"
        case Kind.CUSTOM:
            return f"{t.type.__name__ if t.type else ''}({', '.join(parts)})"


def _as_jax_writes(t: TreeDef) -> str:
    """A structure in the words of jaxlib: `CustomNode(class[what it has beside its children], [children])`."""
    parts = [_as_jax_writes(c) for c in t.children]
    name = t.type.__name__ if t.type else ""
    match t.kind:
        case Kind.LEAF:
            return "*"
        case Kind.NAMEDTUPLE:
            name, beside = "namedtuple", name
        case Kind.DATACLASS:
            beside = repr(tuple(value for _, value in trees.static_fields(t)))
        case Kind.CUSTOM:
            beside = repr(t.aux)
        case Kind.STATIC:
            name, beside = type(static_value(t)).__name__, repr(static_value(t))
        case Kind.DICT if t.type not in (None, dict):
            factory = t.aux.factory if isinstance(t.aux, trees.Entries) else None
            beside = repr(t.keys) if factory is None else repr((factory, t.keys))
        case _:
            leaves = iter(parts)
            return describe(dataclasses.replace(t, children=(trees.LEAF,) * len(parts)), lambda: next(leaves))
    return f"CustomNode({name}[{beside}], [{', '.join(parts)}])"


# ---- taking apart and putting together ---------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves in order, and the structure. The entries of a dict are visited by sorted keys; None has no leaves."""
    leaves, node = trees.flatten(tree, is_leaf)
    return leaves, PyTreeDef(node)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with these leaves. ValueError when their count is wrong."""
    return trees.unflatten(treedef.node, leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return trees.flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree: what `tree_unflatten` makes a tree of leaves with."""
    return tree_flatten(tree, is_leaf)[1]


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether no element is a container."""
    return builtins.all((is_leaf is not None and is_leaf(x)) or open_node(x) is None for x in iterable)


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(tree_leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSET, is_leaf: IsLeaf = None
) -> Any:
    """`functools.reduce` over the leaves; TypeError for a tree without leaves and without an initializer."""
    if initializer is _UNSET:
        return functools.reduce(function, tree_leaves(tree, is_leaf))
    return functools.reduce(function, tree_leaves(tree, is_leaf), initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _UNSET, is_leaf: IsLeaf = None
) -> Any:
    """The leaves combined pairwise, neighbours first: a chain of operations of logarithmic depth."""
    level = tree_leaves(tree, is_leaf)
    if not level:
        if identity is _UNSET:
            raise TypeError("a tree without leaves can be reduced only with an identity")
        return identity
    while len(level) > 1:
        pairs = [operation(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of structure outer(inner) turned into inner(outer). `inner_treedef` None: that of the first child.
    TypeError where the structure is another.
    """
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    flat, found = tree_flatten(pytree_to_transpose)
    if found != outer_treedef.compose(inner_treedef):
        raise TypeError(f"the tree is {found}, not {outer_treedef.compose(inner_treedef)}")
    n = inner_treedef.num_leaves
    return tree_unflatten(inner_treedef, [tree_unflatten(outer_treedef, flat[i::n]) for i in range(n)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`prefix_tree` with every leaf repeated over the subtree of `full_tree` that it stands for."""
    node = trees.flatten(full_tree, is_leaf)[1]
    return trees.unflatten(node, broadcast_prefix(prefix_tree, node, "a tree", is_leaf))


def broadcast_prefix(prefix: Any, node: TreeDef, what: str, is_leaf: IsLeaf = None) -> list[Any]:
    """For each leaf of `node` the leaf of `prefix` above it. ValueError when `prefix` is not a prefix of it."""
    out: list[Any] = []
    _broadcast_into(out, prefix, node, what, is_leaf)
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


class _Registry:
    """The classes that are taken apart, as JAX's object of that name answers for them."""

    @staticmethod
    def flatten_one_level(tree: Any) -> tuple[Sequence[Any], Any] | None:
        """As `flatten_one_level`; None for a leaf."""
        return None if tree_structure(tree).node.kind is Kind.LEAF else flatten_one_level(tree)


default_registry = _Registry()


def flatten_one_level(tree: Any) -> tuple[Sequence[Any], Any]:
    """The children of a container, and what it has beside them: the keys of a dict (behind the factory of a
    defaultdict), the class of a namedtuple, the auxiliary data of a registered class, None of others. ValueError for
    a leaf.
    """
    children, treedef = tree_flatten(tree, is_leaf=lambda x: x is not tree)
    node = treedef.node
    match node.kind:
        case Kind.LEAF:
            raise ValueError(f"can't tree-flatten type: {type(tree)}")
        case Kind.DICT:
            keys = tuple(node.keys)
            factory = getattr(tree, "default_factory", None)
            return (tuple(children), keys) if factory is None else (children, (factory, keys))
        case Kind.TUPLE | Kind.NONE:
            return tuple(children), None
        case Kind.LIST:
            return children, None
        case Kind.NAMEDTUPLE:
            return children, type(tree)
        case _:
            return children, node.aux


# ---- paths -------------------------------------------------------------------------------------------


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """(path, leaf) pairs, and the structure. With `is_leaf_takes_path`, `is_leaf(path, x)` is asked."""
    found: list[tuple[KeyPath, Any]] = []
    node = _flatten_into(tree, (), found, is_leaf, is_leaf_takes_path)
    return found, PyTreeDef(node)


def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) for each leaf of a tree, in order."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> Any:
    """`tree_map` with the path as first argument of `f`."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(x) for x in rest]
    return treedef.unflatten([f(path, leaf, *xs) for (path, leaf), *xs in zip(pairs, *others, strict=True)])


def _flatten_into(x: Any, path: KeyPath, found: list[tuple[KeyPath, Any]], is_leaf: IsLeaf, with_path: bool) -> TreeDef:
    stop = is_leaf is not None and (is_leaf(path, x) if with_path else is_leaf(x))
    opened = None if stop else open_node(x)
    if opened is None:
        found.append((path, x))
        return trees.LEAF
    children, shell = opened
    steps = _steps(x, shell)
    parts = [_flatten_into(c, (*path, k), found, is_leaf, with_path) for k, c in zip(steps, children, strict=True)]
    return dataclasses.replace(shell, children=tuple(parts))


def _steps(x: Any, shell: TreeDef) -> list[Any]:
    keys = child_keys(x, shell)
    match shell.kind:
        case Kind.DICT:
            return [DictKey(k) for k in keys]
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            return [GetAttrKey(k) for k in keys]
        case Kind.CUSTOM:
            record = registered(type(x))
            return [*keys] if record is not None and record.keys is not None else [FlattenedIndexKey(k) for k in keys]
        case _:
            return [SequenceKey(k) for k in keys]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: `['a'][0].b`; with `simple` only the names, joined by `separator`: `a/0/b`."""
    if simple:
        return separator.join(str(k._value) if isinstance(k, _Key) else str(k) for k in keys)
    return separator.join(str(k) if isinstance(k, _Key) else f"[{k!r}]" for k in keys)


# ---- structures and nodes ----------------------------------------------------------------------------


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether it is one node: a leaf, None or an empty container."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures."""
    return PyTreeDef(TreeDef(Kind.TUPLE, tuple(t.node for t in treedefs)))


# ---- classes of the user's ---------------------------------------------------------------------------


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make `nodetype` a container: `flatten_func(x) -> (children, aux)`, `unflatten_func(aux, children) -> x`, and for
    paths `flatten_with_keys_func(x) -> ((key, child), ...), aux`. `aux` must be hashable.
    """
    if flatten_with_keys_func is None:
        register(nodetype, flatten_func, unflatten_func)
    else:
        with_keys = flatten_with_keys_func
        register(nodetype, flatten_func, unflatten_func, lambda x: [k for k, _ in with_keys(x)[0]])


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_func: Callable[[Any], tuple[Sequence[Any], Any]] | None = None,
) -> None:
    """`register_pytree_node` by the function that gives keys and children together."""

    def without_keys(x: Any) -> tuple[Sequence[Any], Any]:
        pairs, aux = flatten_with_keys(x)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: _C) -> _C:
    """Class decorator: `cls` has `tree_flatten(self) -> (children, aux)` and the class method `tree_unflatten(aux,
    children)`.
    """
    register(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: _C) -> _C:
    """Class decorator: `cls` has `tree_flatten_with_keys(self) -> ((key, child), ...), aux` and the class method
    `tree_unflatten(aux, children)`.
    """
    without_keys = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten, without_keys)  # type: ignore[attr-defined]
    return cls


def register_static(cls: _C) -> _C:
    """Class decorator: an instance is part of the structure and has no leaves. It must be hashable."""
    register(cls, lambda x: ((), x), lambda aux, _: aux)
    return cls


def register_dataclass(
    nodetype: _C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> _C:
    """A class whose `data_fields` are children and whose `meta_fields` belong to the structure; `drop_fields` are left
    to the class's `__init__`. A dataclass need name neither: its fields are children, but for those that are `static`.
    """
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype) or data_fields is not meta_fields:
            raise ValueError("data_fields and meta_fields: give both, or neither for a dataclass")
        return nodetype
    _check_fields(nodetype, data_fields, meta_fields, drop_fields)

    def open_fields(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, n) for n in data_fields], tuple(getattr(x, n) for n in meta_fields)

    def close_fields(aux: Any, children: Sequence[Any]) -> Any:
        return nodetype(**dict(zip(meta_fields, aux, strict=True)), **dict(zip(data_fields, children, strict=True)))

    register(nodetype, open_fields, close_fields, lambda _: [GetAttrKey(n) for n in data_fields])
    return nodetype


def _check_fields(cls: type, data: Sequence[str], meta: Sequence[str], drop: Sequence[str]) -> None:
    if not dataclasses.is_dataclass(cls):
        return
    wanted = {f.name for f in dataclasses.fields(cls) if f.init} - set(drop)
    given = [*data, *meta]
    if set(given) != wanted or len(set(given)) != len(given):
        raise ValueError(f"{cls.__name__} has the fields {sorted(wanted)}; data_fields and meta_fields name {given}")


class Partial(functools.partial):  # type: ignore[type-arg]
    """`Partial(func, *args, **kwargs)`: `functools.partial` whose arguments are leaves; its function belongs to the
    structure.
    """


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, parts: Partial(func, *parts[0], **parts[1]),
    lambda p: (((GetAttrKey("args"), p.args), (GetAttrKey("keywords"), p.keywords)), p.func),
)

# Called while a function is read, on containers of abstract values (translator/reading/provided/hooks.py).
for _function in (
    tree_map,
    tree_flatten,
    tree_unflatten,
    tree_leaves,
    tree_structure,
    tree_reduce,
    tree_reduce_associative,
    tree_transpose,
    tree_broadcast,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
    all_leaves,
    PyTreeDef.unflatten,
    PyTreeDef.flatten_up_to,
):
    _function.__dict__["__untraced_structural__"] = True
