"""Collectives by the name of a mapped axis, under the names of `jax.lax`: NumPy source over four of them.

`x` may be any tree; `axis_name` may be a tuple of names, which are one axis then: the last of them counts fastest.
`axis_index_groups`, lists of positions, divide an axis into groups of one size: each element then speaks with its own
group, in the order in which that is listed. Outside a mapped function there is no axis: NameError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..axes import size_of
from ..tree import tree_map

# ---- what the language knows: outside a mapped function `size_of` raises ------------------------


def sum_over(x: Any, axis_name: Any) -> Any:
    return size_of(axis_name)


def gather_over(x: Any, axis_name: Any) -> Any:
    return size_of(axis_name)


def permute_over(x: Any, axis_name: Any, perm: Any) -> Any:
    return size_of(axis_name)


def index_over(axis_name: Any) -> Any:
    return size_of(axis_name)


def size_over(axis_name: Any) -> int:
    return size_of(axis_name)


# ---- the names of jax.lax ------------------------------------------------------------------------


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, a known number; of several their product."""
    n = 1
    for name in _names(axis_name):
        n = n * size_over(name)
    return n


def axis_index(axis_name: Any) -> Any:
    """The own position along a named axis; along several, the last counts fastest."""
    first, *others = _names(axis_name)
    i = index_over(first)
    for name in others:
        i = i * size_over(name) + index_over(name)
    return i


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum over the axis. Of a known number, known: psum(1, "i") is the size."""
    return tree_map(lambda leaf: _summed(leaf, axis_name, axis_index_groups), x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over the named axis, element by element: of the shape of `x`, for each leaf of a tree."""
    n = axis_size(axis_name) if axis_index_groups is None else len(axis_index_groups[0])
    return tree_map(lambda leaf: leaf / n, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest over the named axis, element by element: of the shape and dtype of `x`, for each leaf of a tree."""
    return tree_map(lambda leaf: _extreme(np.max, leaf, axis_name, axis_index_groups), x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest over the named axis, element by element: of the shape and dtype of `x`, for each leaf of a tree."""
    return tree_map(lambda leaf: _extreme(np.min, leaf, axis_name, axis_index_groups), x)


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all, along a new axis of the result, or one behind the other along one of `x` where `tiled`."""
    return tree_map(lambda leaf: _placed(_gathered(leaf, axis_name, axis_index_groups), axis, tiled), x)


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """The value of another element: `perm` has (source, destination) pairs. Zeros where nobody sends."""
    pairs = [(source, destination) for source, destination in perm]
    names = _names(axis_name)
    if len(names) == 1:
        return tree_map(lambda leaf: permute_over(leaf, names[0], pairs), x)
    sent = {destination: source for source, destination in pairs}
    n = axis_size(axis_name)
    if len(sent) < len(pairs) or not all(0 <= i < n for pair in pairs for i in pair):
        raise ValueError(f"ppermute over {axis_name!r} of size {n}: perm={pairs} is no permutation of some of it")
    place = axis_index(axis_name)
    source = np.array([sent.get(i, 0) for i in range(n)])[place]
    reached = np.array([i in sent for i in range(n)])[place]

    def received(leaf: Any) -> Any:
        got = _gathered(leaf, axis_name, None)[source]
        return np.where(reached, got, np.zeros_like(got))

    return tree_map(received, x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """The value of element perm[i], at position i; `perm` is a permutation of the axis, known before the run."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle over {axis_name!r}: perm={list(perm)} is no permutation of its positions")
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(perm)])


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """Each `x` is cut along `split_axis`; of the pieces every element gets its own from all, along `concat_axis`."""

    def exchanged(leaf: Any) -> Any:
        every = _gathered(leaf, axis_name, axis_index_groups)
        return _placed(_own_piece(every, axis_name, axis_index_groups, split_axis, 1, tiled), concat_axis, tiled)

    return tree_map(exchanged, x)


def pswapaxes(x: Any, axis_name: Any, axis: int) -> Any:
    """The named axis and an axis of the array exchanged, which must be of one size."""
    return all_to_all(x, axis_name, axis, axis)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """What the element at position `source` of the named axis has, at all positions."""
    return tree_map(lambda leaf: _gathered(leaf, axis_name, None)[source], x)


def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False
) -> Any:
    """The own piece, along `scatter_dimension`, of the sum over the axis."""

    def scattered(leaf: Any) -> Any:
        total = _summed(leaf, axis_name, axis_index_groups)
        return _own_piece(total, axis_name, axis_index_groups, scatter_dimension, 0, tiled)

    return tree_map(scattered, x)


def _names(axis_name: Any) -> Any:
    return axis_name if isinstance(axis_name, tuple | list) else (axis_name,)


def _gathered(x: Any, axis_name: Any, groups: Any) -> Any:
    """The values of all of the axis, or of the own group, along a first axis."""
    names = _names(axis_name)
    every = gather_over(x, names[-1])
    for name in names[-2::-1]:
        every = gather_over(every, name)
        every = np.reshape(every, (np.shape(every)[0] * np.shape(every)[1], *np.shape(every)[2:]))
    if groups is None:
        return every
    found = _found(groups, axis_name)
    return every[np.array([groups[g] for g, _ in found])[axis_index(axis_name)]]


def _summed(x: Any, axis_name: Any, groups: Any) -> Any:
    if groups is None:
        for name in _names(axis_name):
            x = sum_over(x, name)
        return x
    every = _gathered(x, axis_name, groups)
    return np.sum(every, axis=0, dtype=every.dtype)


def _extreme(of: Any, x: Any, axis_name: Any, groups: Any) -> Any:
    if groups is not None:
        return of(_gathered(x, axis_name, groups), axis=0)
    for name in _names(axis_name):
        x = of(gather_over(x, name), axis=0)
    return x


def _found(groups: Any, axis_name: Any) -> list[tuple[int, int]]:
    """In which group each position of the axis is, and at which place there."""
    n = axis_size(axis_name)
    found = {i: (g, k) for g, members in enumerate(groups) for k, i in enumerate(members)}
    sizes = [len(members) for members in groups]
    if sorted(found) != list(range(n)) or sum(sizes) != n:
        raise ValueError(
            f"axis_index_groups must name each position of the axis {axis_name!r} of size {n} once, got {groups}"
        )
    if len(set(sizes)) > 1:
        raise ValueError(f"axis_index_groups must be of one size, got {groups}")
    return [found[i] for i in range(n)]


def _own_piece(x: Any, axis_name: Any, groups: Any, axis: int, front: int, tiled: bool) -> Any:
    """`x` has `front` axes more than the caller's array, whose `axis` is cut."""
    n, own = axis_size(axis_name), axis_index(axis_name)
    if groups is not None:
        own = np.array([k for _, k in _found(groups, axis_name)])[own]
        n = len(groups[0])
    rank = np.ndim(x) - front
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for an array of dimension {rank}")
    k = axis % rank + front
    length = np.shape(x)[k]
    if length % n if tiled else length != n:
        fits = "a multiple of" if tiled else "equal to"
        raise ValueError(f"axis {axis} has size {length}, which must be {fits} the size {n} of the axis {axis_name!r}")
    if tiled:
        x = np.reshape(x, (*np.shape(x)[:k], n, length // n, *np.shape(x)[k + 1 :]))
    return np.take(x, own, axis=k)


def _placed(x: Any, axis: int, tiled: bool) -> Any:
    """The first axis moved to `axis`, or merged into the one that stands there."""
    rank = np.ndim(x) - tiled
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for a result of dimension {rank}")
    k = axis % rank
    moved = np.moveaxis(x, 0, k)
    if not tiled:
        return moved
    shape = np.shape(moved)
    return np.reshape(moved, (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :]))


CALLED = (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
