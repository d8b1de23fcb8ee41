"""Arguments of a call: the key of their kind, the leaves that hold data, and their conversion for a program.

The key is flat and prefix-free, so it is cheap to make and to hash: the hot path of every call.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...translator.errors import UntracedError, tell_place
from ...translator.float0 import FLOAT0, is_float0
from ...translator.ir import Aval
from ...translator.reading.text.signature import (
    Opaque,
    Signature,
    abstract_with_leaves,
    aval_of,
    is_array_without_axes,
    is_swapped,
    known,
    signature_of,
)
from ...translator.records import dataclass
from ...translator.tree import TreeDef, open_node, sorted_keys, tree_map
from ..arrays.adopted import OnGpu, is_on_gpu
from ..arrays.array import Array
from ..arrays.hosted import HostArray
from ..arrays.numbers import NUMBERS, python
from .naming import place_of
from .statics import unwrap

Key = tuple[Any, ...]
_NUMBERS = (float, int, complex)
_NAMES = (bool, str, type(None))
WIDEST = 2**62  # of ints that compiled programs take: none gets from there over 64 bits by small steps, or by its sign


def open_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
    """The key of a call, and its data leaves in call order. Strings, functions and None belong to the key."""
    key: list[Any] = [len(args)]
    leaves: list[Any] = []
    for x in args:
        _open(x, key, leaves)
    for name in kwargs:
        key.append(name)
        _open(kwargs[name], key, leaves)
    return tuple(key), leaves


def _open(x: Any, key: list[Any], leaves: list[Any]) -> None:
    cls = type(x)
    if cls is np.ndarray and x.itemsize:
        key.append(x.dtype)
        key.append(x.shape)
        leaves.append(x)
    elif cls is Array:
        key.append(x._spec)
        leaves.append(x)
    elif cls is HostArray:  # one program serves both
        key.append(x.dtype)
        key.append(x.shape)
        leaves.append(x)
    elif cls in _NUMBERS:
        key.append(cls)
        leaves.append(x)
    elif cls is list or cls is tuple:
        key.append(cls)
        key.append(len(x))
        for child in x:
            _open(child, key, leaves)
    elif cls is dict:
        names = sorted_keys(x)
        key.append(cls)
        key.append(tuple(x))
        for name in names:
            _open(x[name], key, leaves)
    elif cls in _NAMES:
        key.append((cls, x))
    else:
        _open_rare(x, key, leaves)


def are_wide(leaves: list[Any]) -> bool:
    """Whether a Python int among the leaves is too large for a compiled program."""
    return any(type(x) is int and not -WIDEST <= x <= WIDEST for x in leaves)


def _open_rare(x: Any, key: list[Any], leaves: list[Any]) -> None:
    if type(x) in NUMBERS:
        _open(python(x), key, leaves)
        return
    if is_float0(x):
        key.append((np.ndarray, FLOAT0, x.shape))
        return
    if isinstance(x, np.ndarray | np.generic) or type(x) is Aval:
        key.append((np.generic if isinstance(x, np.generic) else type(x), x.dtype, x.shape))
        leaves.append(x)
        return
    opened = None if type(x) is Opaque else open_node(x)
    if opened is not None:
        children, shell = opened
        key.append(shell if shell.aux is None else _kept(shell))
        for child in children:
            _open(child, key, leaves)
    elif isinstance(x, slice):
        key.append((slice, repr(x)))
    elif is_on_gpu(x):
        raise OnGpu(f"an array of {type(x).__module__} on a GPU: make it an Array with untraced.device_put")
    elif isinstance(aval_of(x), Aval):
        key.append((type(x), aval_of(x)))
        leaves.append(x)
    else:
        key.append((type(x), known(x)))


def _kept(shell: TreeDef) -> TreeDef:
    """The structure as it stays in a key: auxiliary data that may change has no hash, and is copied."""
    try:
        hash(shell.aux)
    except TypeError:
        return dataclasses.replace(shell, aux=copy.deepcopy(shell.aux))
    return shell


@dataclass(frozen=True, slots=True)
class Binding:
    """The signature of a call, and the source of each leaf: a position in call order, or a default value."""

    signature: Signature
    sources: tuple[int | Default, ...]

    def gather(self, leaves: Sequence[Any]) -> list[Any]:
        return [leaves[s] if type(s) is int else s.value for s in self.sources]  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class Default:
    value: Any


class _Slot:
    """Stands for a data leaf while arguments are bound."""

    __slots__ = ("aval", "is_array", "position")

    def __init__(self, aval: Aval, position: int, is_array: bool) -> None:
        self.aval, self.position, self.is_array = aval, position, is_array


def bind_arguments(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Binding:
    """Raises as `translator.signature.abstract` does."""
    _, leaves = open_arguments(args, kwargs)
    count = iter(range(len(leaves)))

    def mark(x: Any) -> Any:
        x = python(x)
        aval = aval_of(x)
        return x if aval is None else _Slot(aval, next(count), is_array_without_axes(x))

    try:
        marked = [_marked(mark, a, fun, i) for i, a in enumerate(args)]
        named = {k: _marked(mark, v, fun, k) for k, v in kwargs.items()}
        signature, slots = abstract_with_leaves(fun, marked, named)
    except UntracedError as error:
        error.name_place(place_of(fun))
        raise
    except TypeError as error:
        tell_place(error, place_of(fun), own_words=True)
        raise
    sources = tuple(s.position if isinstance(s, _Slot) else Default(s) for s in slots)
    values = tuple(_number(leaves[s]) if isinstance(s, int) else signature.values[i] for i, s in enumerate(sources))
    params = tuple((name, unwrap(tree)) for name, tree in signature.params)
    given = [leaves[s] if isinstance(s, int) else s.value for s in sources]
    swapped = frozenset(i for i, x in enumerate(given) if is_swapped(x))
    immutable = frozenset(i for i, x in enumerate(given) if type(x) is Array)
    bound = dataclasses.replace(signature, params=params, values=values, swapped=swapped, immutable=immutable)
    return Binding(bound, sources)


def _marked(mark: Callable[[Any], Any], x: Any, fun: Callable[..., Any], where: int | str) -> Any:
    """The argument with `mark` over its leaves. Errors name the argument, given by position or name."""
    try:
        return tree_map(mark, x, is_leaf=_is_whole)
    except UntracedError as error:
        names = list(signature_of(fun).parameters)
        name = where if isinstance(where, str) else names[where] if where < len(names) else f"number {where + 1}"
        error.say(dataclasses.replace(error.diagnostic, what=f"{error.diagnostic.what}, as {name} is here"))
        raise


def _is_whole(x: Any) -> bool:
    return type(x) is Aval or type(x) is Opaque  # a leaf, though a dataclass


def _number(x: Any) -> Any:
    return x if type(x) in _NUMBERS or isinstance(x, np.generic) else None
