"""Pytrees: nested containers flattened to leaves and back. Leaf order is JAX's: keys sorted, but for OrderedDict."""

from __future__ import annotations

import dataclasses
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from .records import dataclass


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
    auxiliary data of a CUSTOM one, the static fields of a DATACLASS by name, or what else there is to a DICT.
    """

    kind: Kind
    children: tuple[TreeDef, ...] = ()
    keys: tuple[Any, ...] = ()
    type: type | None = None
    aux: Hashable = None

    def __hash__(self) -> int:
        parts = (self.kind, self.children, self.keys, self.type)
        try:
            return hash((*parts, self.aux))
        except TypeError:  # auxiliary data that has no hash is compared all the same, as JAX does
            return hash(parts)

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is Kind.LEAF else sum(c.leaf_count for c in self.children)


class Entries(NamedTuple):
    """Further structure of a DICT node: the order of its keys where that is not the sorted one, and the factory of a
    defaultdict.
    """

    order: tuple[Any, ...] | None = None
    factory: Callable[[], Any] | None = None


LEAF = TreeDef(Kind.LEAF)
ARRAY = TreeDef(Kind.LEAF, type=np.ndarray)  # a leaf of shape () that NumPy holds as an array, not as a number
NONE = TreeDef(Kind.NONE)


def static(value: Hashable) -> TreeDef:
    """A node that carries `value` in the structure itself. True, 1 and np.True_ are three nodes."""
    return TreeDef(Kind.STATIC, type=type(value), aux=value)


Flatten = Callable[[Any], tuple[Sequence[Any], Hashable]]
Unflatten = Callable[[Hashable, Sequence[Any]], Any]


class Registered(NamedTuple):
    """How a registered class is flattened and rebuilt; `keys` gives the keys of the children, if they have names."""

    flatten: Flatten
    unflatten: Unflatten
    keys: Callable[[Any], Sequence[Any]] | None = None


_registry: dict[type, Registered] = {}


def register(
    cls: type,
    flatten_node: Flatten,
    unflatten_node: Unflatten,
    keys_of_node: Callable[[Any], Sequence[Any]] | None = None,
) -> None:
    """Make `cls` a tree node: `flatten_node(x) -> (children, aux)`, `unflatten_node(aux, children) -> x`, and, where
    its children have names, `keys_of_node(x) -> keys`. ValueError for a class that is registered already, as Python's
    own containers are.
    """
    if cls in _registry or cls in (tuple, list, dict, OrderedDict, defaultdict, type(None)):
        raise ValueError(f"{cls.__qualname__} is registered already")
    _registry[cls] = Registered(flatten_node, unflatten_node, keys_of_node)


class Rows:
    """The type of a CUSTOM node: a list of the rows of its one leaf, an array; of Python's numbers where its auxiliary
    data say so. A list that a loop has filled leaves a program in one piece.
    """


def rows_node(numbers: bool) -> TreeDef:
    """A list of the rows of one leaf; `numbers`: of Python's own."""
    return TreeDef(Kind.CUSTOM, (LEAF,), type=Rows, aux=numbers)


def _list_of_rows(numbers: Hashable, children: Sequence[Any]) -> list[Any]:
    (array,) = children
    if not isinstance(array, np.ndarray):
        return [array[k] for k in range(array.shape[0])]
    return array.tolist() if numbers else list(array)


def _never_opened(_: Any) -> Any:
    raise AssertionError("a list of rows is a list")


_registry[Rows] = Registered(_never_opened, _list_of_rows)
# A set has no leaves: its elements belong to the structure.
_registry[set] = Registered(lambda x: ((), tuple(x)), lambda aux, _: set(aux))  # type: ignore[call-overload]


def registered(cls: type) -> Registered | None:
    """The registration of a class; None where it has none."""
    return _registry.get(cls)


def open_node(x: Any) -> tuple[Sequence[Any], TreeDef] | None:
    """The children of a container and its structure with LEAF in place of each child; None for a leaf."""
    opened = _opened(x)
    if opened is None:
        return None
    children, kind, keys, cls, aux = opened
    return children, NONE if kind is Kind.NONE else TreeDef(kind, (LEAF,) * len(children), keys, cls, aux)


def _opened(x: Any) -> tuple[Sequence[Any], Kind, tuple[Any, ...], type | None, Hashable] | None:
    """The children of a container, and the parts of its structure apart from the children."""
    cls = type(x)
    if x is None:
        return (), Kind.NONE, (), None, None
    if cls in _registry:
        children, aux = _registry[cls].flatten(x)
        return children if isinstance(children, list | tuple) else tuple(children), Kind.CUSTOM, (), cls, aux
    if cls is tuple or cls is list:
        return x, Kind.TUPLE if cls is tuple else Kind.LIST, (), None, None
    if isinstance(x, dict):
        keys = tuple(x) if isinstance(x, OrderedDict) else sorted_keys(x)
        return [x[k] for k in keys], Kind.DICT, keys, cls, _entries(x, keys)
    if is_namedtuple(x):
        return x, Kind.NAMEDTUPLE, x._fields, cls, None
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = dataclasses.fields(x)
        names = tuple(f.name for f in fields if not f.metadata.get("static"))
        kept = tuple((f.name, getattr(x, f.name)) for f in fields if f.metadata.get("static")) or None
        return [getattr(x, n) for n in names], Kind.DATACLASS, names, cls, kept
    return None


def is_namedtuple(x: Any) -> bool:
    """Whether `x` is a tuple with named fields of which `type(x)(*x)` is a copy: a class derived from one may compute
    its elements from others, ask for more of them, or keep attributes beside them.
    """
    cls = type(x)
    if not isinstance(x, tuple) or not hasattr(cls, "_fields") or _attributes(x):
        return False
    return _makes_plainly(cls) or _gives_back(cls, x)


def _makes_plainly(cls: Any) -> bool:
    """Whether the class makes its tuples as `collections.namedtuple` has written it."""
    code = getattr(cls.__new__, "__code__", None)
    if code is None or code.co_names != ("_tuple_new",) or cls.__init__ is not object.__init__:
        return False
    return code.co_argcount == len(cls._fields) + 1 and not code.co_kwonlyargcount


def _gives_back(cls: Any, x: tuple[Any, ...]) -> bool:
    try:
        again = cls(*x)
    except Exception:  # the user's code, which expects something else
        return False
    return type(again) is cls and len(again) == len(x) and all(map(operator.is_, again, x)) and not _attributes(again)


def _attributes(x: Any) -> dict[str, Any]:
    """The attributes that an object keeps for itself."""
    found: dict[str, Any] = getattr(x, "__dict__", {})
    return found


def _entries(x: dict[Any, Any], keys: tuple[Any, ...]) -> Entries | None:
    order = tuple(x)
    factory = x.default_factory if isinstance(x, defaultdict) else None
    return None if keys == order and factory is None else Entries(None if keys == order else order, factory)


def sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    """Keys of a dict in sorted order, as JAX has it; in insertion order where they do not compare."""
    try:
        return tuple(sorted(d))
    except (TypeError, ValueError):  # NumPy makes an array of the comparison of its number with a tuple
        return tuple(d)


def flatten(x: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """Leaves in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(x, leaves, is_leaf)


def _flatten_into(x: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeDef:
    opened = None if is_leaf is not None and is_leaf(x) else _opened(x)
    if opened is None:
        leaves.append(x)
        return LEAF
    children, kind, keys, cls, aux = opened
    if kind is Kind.NONE:
        return NONE
    return TreeDef(kind, tuple([_flatten_into(c, leaves, is_leaf) for c in children]), keys, cls, aux)


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
            for name, child in (*zip(t.keys, children, strict=True), *static_fields(t)):
                object.__setattr__(x, name, child)
            return x
        case Kind.CUSTOM:
            assert t.type is not None
            return _registry[t.type].unflatten(t.aux, children)
        case Kind.LEAF:
            raise AssertionError("a leaf is not a node")


def tuple_tree(count: int) -> TreeDef:
    """A tuple of `count` leaves."""
    return TreeDef(Kind.TUPLE, (LEAF,) * count)


def flat_tree(count: int) -> TreeDef:
    """A tuple of `count` leaves; the leaf itself when there is one."""
    return LEAF if count == 1 else tuple_tree(count)


def leaf_nodes(t: TreeDef) -> Iterator[TreeDef]:
    """LEAF or ARRAY for each leaf, in order."""
    if t.kind is Kind.LEAF:
        yield t
    for c in t.children:
        yield from leaf_nodes(c)


def with_leaf_nodes(t: TreeDef, nodes: Iterator[TreeDef]) -> TreeDef:
    """The structure with LEAF or ARRAY from `nodes` for each leaf, in order."""
    if t.kind is Kind.LEAF:
        return next(nodes)
    return dataclasses.replace(t, children=tuple([with_leaf_nodes(c, nodes) for c in t.children]))


def static_fields(t: TreeDef) -> tuple[tuple[str, Any], ...]:
    """The fields of a DATACLASS node that belong to the structure, with their values."""
    return t.aux or ()  # type: ignore[return-value]


def in_order(t: TreeDef, entries: dict[Any, Any]) -> dict[Any, Any]:
    """The entries of a DICT node in the order that the dict had."""
    order = t.aux.order if isinstance(t.aux, Entries) else None
    return entries if order is None else {k: entries[k] for k in order}


def factory_of(t: TreeDef) -> Callable[[], Any] | None:
    """What a DICT node that is a defaultdict makes of a missing key."""
    return t.aux.factory if isinstance(t.aux, Entries) else None


def without_order(t: TreeDef) -> TreeDef:
    """The structure as JAX compares it, without the order of dict entries."""
    children = tuple([without_order(c) for c in t.children])
    same = all(new is old for new, old in zip(children, t.children, strict=True))
    return _unordered(t) if same else _with_children(_unordered(t), children)


def _unordered(t: TreeDef) -> TreeDef:
    if t.kind is not Kind.DICT or t.aux is None:
        return t
    factory = factory_of(t)
    return TreeDef(t.kind, t.children, t.keys, t.type, Entries(None, factory) if factory else None)


def _with_children(t: TreeDef, children: tuple[TreeDef, ...]) -> TreeDef:
    return TreeDef(t.kind, children, t.keys, t.type, t.aux)


def _rebuild_mapping(t: TreeDef, plain: dict[Any, Any]) -> Any:
    make: Any = t.type
    return make(factory_of(t), plain) if issubclass(make, defaultdict) else make(plain)


def child_keys(x: Any, shell: TreeDef) -> Sequence[Any]:
    """How each child of the container `x` is reached: a position, a dict key, a field name, or the key that a
    registered class gives.
    """
    keys = _registry[type(x)].keys if shell.kind is Kind.CUSTOM else None
    return keys(x) if keys is not None else shell.keys or range(len(shell.children))


def flatten_up_to(t: TreeDef, x: Any, what: str = "tree", path: tuple[Any, ...] = ()) -> list[Any]:
    """The subtree of `x` at each leaf of `t`, which must be a prefix of the structure of `x`; else ValueError."""
    if t.kind is Kind.LEAF:
        return [x]
    opened = open_node(x)
    here = f"{what}{''.join(f'[{k!r}]' for k in path)}"
    if opened is None:
        raise ValueError(f"{here} is a leaf of type {type(x).__name__}, where the structure has {_shell(t)}")
    children, shell = opened
    if _with_children(_unordered(shell), ()) != _with_children(_unordered(t), ()) or len(children) != len(t.children):
        raise ValueError(f"{here} is {_shell(shell)}, where the structure has {_shell(t)}")
    parts = zip(t.children, children, child_keys(x, shell), strict=True)
    return [leaf for part, child, key in parts for leaf in flatten_up_to(part, child, what, (*path, key))]


def _shell(t: TreeDef) -> str:
    """One node of a structure in words."""
    match t.kind:
        case Kind.NONE:
            return "None"
        case Kind.DICT:
            return f"a {t.type.__name__ if t.type else 'dict'} with the keys {list(t.keys)}"
        case Kind.TUPLE | Kind.LIST:
            return f"a {t.kind.value} of length {len(t.children)}"
        case Kind.STATIC:
            return repr(t.aux)
        case _:
            aux = f" with {t.aux!r}" if t.aux is not None else ""
            return f"a {t.type.__name__ if t.type else t.kind.value} of {len(t.children)} children{aux}"


def leaf_paths(t: TreeDef, path: str = "") -> list[str]:
    """How Python would reach each leaf from `path`: `params['w'][0].bias`."""
    if t.kind is Kind.LEAF:
        return [path]
    pairs = zip(_steps(t), t.children, strict=True)
    return [found for step, child in pairs for found in leaf_paths(child, path + step)]


def _steps(t: TreeDef) -> list[str]:
    """How Python would reach each child."""
    match t.kind:
        case Kind.DICT:
            return [f"[{k!r}]" for k in t.keys]
        case Kind.NAMEDTUPLE | Kind.DATACLASS:
            return [f".{k}" for k in t.keys]
        case Kind.CUSTOM:
            return [f"[<flat index {k}>]" for k in range(len(t.children))]
        case _:
            return [f"[{k}]" for k in range(len(t.children))]


class Unlike(ValueError):
    """Two structures that differ; its text says where."""


def beside(t: TreeDef, other: TreeDef, path: str = "") -> Iterator[tuple[str, TreeDef]]:
    """For each leaf of `t` its path, and the node at its place in `other`, which has no children. What STATIC nodes
    hold may differ. Raises Unlike.
    """
    if t.kind is Kind.LEAF and not other.children:
        yield path, other
        return
    known = t.kind is Kind.STATIC and not other.leaf_count
    if not known and (t.kind is not other.kind or t.keys != other.keys or len(t.children) != len(other.children)):
        raise Unlike(path)
    for step, mine, its in zip(_steps(t), t.children, other.children, strict=False):
        yield from beside(mine, its, path + step)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply `f` to the leaves of `tree` and to what stands in the other trees there, leaves or subtrees."""
    leaves, treedef = flatten(tree, is_leaf)
    columns = [leaves, *(flatten_up_to(treedef, other, f"tree {i}") for i, other in enumerate(rest, 2))]
    return unflatten(treedef, [f(*xs) for xs in zip(*columns, strict=True)])


for _structural in (flatten, unflatten, tree_map):  # called while a function is read (reading/provided/hooks.py)
    _structural.__dict__["__untraced_structural__"] = True
