"""Handlers of products: each becomes contractions of two operands."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import make
from ..builder import Builder
from ..errors import ShapeError, SquareError
from ..ir import Atom
from .arguments import array, common_dtype, is_atom, refuse_out, static, static_dtype, static_int, static_shape
from .elementwise import conjugate
from .shape import diagonal, moveaxis

Labels = tuple[int, ...]


def matmul(b: Builder, x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, axes: Any = None) -> Atom:
    refuse_out("np.matmul", out)
    x, y = array(b, x1), array(b, x2)
    if dtype is not None:
        x, y = (make.astype(b, a, static_dtype(dtype)) for a in (x, y))
    if axes is None:
        return make.matmul(b, x, y)
    first, second, *third = (_axis_tuple(a) for a in static(axes, "the axes of np.matmul"))
    return _result_axes(b, make.matmul(b, _at_end(b, x, first), _at_end(b, y, second)), third)


def _axis_tuple(axes: Any) -> Labels:
    return static_shape(axes, "the axes of a product")


def _at_end(b: Builder, x: Atom, axes: Labels) -> Atom:
    """The axes that a generalized ufunc works on, moved behind the others."""
    return moveaxis(b, x, axes, tuple(range(-len(axes), 0)))


def _result_axes(b: Builder, x: Atom, axes: Sequence[Labels]) -> Atom:
    return moveaxis(b, x, tuple(range(-len(axes[0]), 0)), axes[0]) if axes and axes[0] else x


def dot(b: Builder, a: Any, b_: Any, out: Any = None) -> Atom:
    """The last axis of `a` against the second last of `b_`; a product with a scalar is elementwise."""
    refuse_out("np.dot", out)
    x, y = array(b, a), array(b, b_)
    if not x.aval.ndim or not y.aval.ndim:
        return make.multiply(b, _strong(b, x), _strong(b, y))
    return _over(b, x, y, [x.aval.ndim - 1], [max(0, y.aval.ndim - 2)])


def dot_method(
    b: Builder, a: Any, b_: Any, out: Any = None, *, precision: Any = None, preferred_element_type: Any = None
) -> Atom:
    """a.dot(b_), as NumPy's and as JAX's arrays have it: operands are converted to `preferred_element_type`."""
    refuse_out("np.dot", out)
    if preferred_element_type is None:
        return dot(b, a, b_)
    wanted = np.dtype(preferred_element_type)
    return dot(b, make.astype(b, array(b, a), wanted), make.astype(b, array(b, b_), wanted))


def _strong(b: Builder, x: Atom) -> Atom:
    """A Python number as the array that a product makes of it."""
    return make.astype(b, x, x.aval.dtype)


def _over(b: Builder, x: Atom, y: Atom, x_axes: Sequence[int], y_axes: Sequence[int]) -> Atom:
    """Sums over pairs of axes; the other axes of `x`, then those of `y`."""
    pairs = dict(zip(y_axes, x_axes, strict=True))
    lhs = tuple(range(x.aval.ndim))
    rhs = tuple(pairs.get(j, x.aval.ndim + j) for j in range(y.aval.ndim))
    out = [s for i, s in enumerate(lhs) if i not in x_axes] + [s for j, s in enumerate(rhs) if j not in y_axes]
    return make.contract(b, x, y, lhs, rhs, out)


def inner(b: Builder, a: Any, b_: Any) -> Atom:
    x, y = array(b, a), array(b, b_)
    if not x.aval.ndim or not y.aval.ndim:
        return make.multiply(b, _strong(b, x), _strong(b, y))
    return _over(b, x, y, [x.aval.ndim - 1], [y.aval.ndim - 1])


def vdot(b: Builder, a: Any, b_: Any) -> Atom:
    x = make.reshape(b, array(b, a), (-1,))
    y = x if a is b_ else make.reshape(b, array(b, b_), (-1,))
    return _over(b, conjugate(b, x) if x.aval.dtype.kind == "c" else x, y, [0], [0])


def outer(b: Builder, a: Any, b_: Any, out: Any = None) -> Atom:
    refuse_out("np.outer", out)
    x, y = make.reshape(b, array(b, a), (-1,)), make.reshape(b, array(b, b_), (-1,))
    return make.contract(b, x, y, (0,), (1,), (0, 1))


def linalg_tensordot(b: Builder, x1: Any, x2: Any, /, *, axes: Any = 2) -> Atom:
    return tensordot(b, x1, x2, axes)


def linalg_outer(b: Builder, x1: Any, x2: Any, /) -> Atom:
    x, y = array(b, x1), array(b, x2)
    if x.aval.ndim != 1 or y.aval.ndim != 1:
        raise ShapeError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={x.aval.ndim} and x2.ndim={y.aval.ndim}."
        )
    return outer(b, x, y)


def vecdot(b: Builder, x1: Any, x2: Any, /, *, axis: Any = -1) -> Atom:
    """Products of vectors along an axis, over broadcast batches; the first operand conjugated."""
    x, y = _conjugated(b, array(b, x1)), array(b, x2)
    x, y = (moveaxis(b, a, static_int(axis, "an axis"), -1) for a in (x, y))
    if x.aval.shape == y.aval.shape:
        labels = range(x.aval.ndim)
        return make.contract(b, x, y, labels, labels, labels[:-1])
    product = make.matmul(b, make.expand_dims(b, x, -2), make.expand_dims(b, y, -1))
    return make.squeeze(b, product, (-2, -1))


def _conjugated(b: Builder, x: Atom) -> Atom:
    return conjugate(b, x) if x.aval.dtype.kind == "c" else x  # bools would become int8


def matvec(b: Builder, x1: Any, x2: Any, /) -> Atom:
    x, y = array(b, x1), array(b, x2)
    if y.aval.ndim == 1:
        return make.matmul(b, x, y)
    return make.squeeze(b, make.matmul(b, x, make.expand_dims(b, y, -1)), -1)


def vecmat(b: Builder, x1: Any, x2: Any, /) -> Atom:
    x, y = _conjugated(b, array(b, x1)), array(b, x2)
    if x.aval.ndim == 1:
        return make.matmul(b, x, y)
    return make.squeeze(b, make.matmul(b, make.expand_dims(b, x, -2), y), -2)


def tensordot(b: Builder, a: Any, b_: Any, axes: Any = 2) -> Atom:
    x, y = array(b, a), array(b, b_)
    known = static(axes, "axes")
    if isinstance(known, np.ndarray):
        known = known.tolist()
    if isinstance(known, tuple | list):
        left, right = (list(static_shape(part, "axes")) for part in known)
    else:
        count = static_int(known, "axes")
        left, right = list(range(x.aval.ndim - count, x.aval.ndim)), list(range(count))
    if len(left) != len(right):
        raise ShapeError("np.tensordot: as many axes of the one operand as of the other")
    x_axes = [make.normalize_axis(i, x.aval.ndim) for i in left]
    y_axes = [make.normalize_axis(j, y.aval.ndim) for j in right]
    return _over(b, x, y, x_axes, y_axes)


def multi_dot(b: Builder, arrays: Any, *, out: Any = None) -> Atom:
    """Matrix products in the order that takes the fewest multiplications."""
    refuse_out("np.linalg.multi_dot", out)
    atoms = [array(b, a) for a in arrays]
    if len(atoms) < 2:
        raise ValueError("Expecting at least two arrays.")
    for a, allowed in zip(atoms, [(1, 2), *[(2,)] * (len(atoms) - 2), (1, 2)], strict=True):
        if a.aval.ndim not in allowed:
            raise SquareError(f"{a.aval.ndim}-dimensional array given. Array must be two-dimensional")
    first, last = atoms[0].aval.shape, atoms[-1].aval.shape
    ends = first[0] if len(first) == 2 else 1, last[1] if len(last) == 2 else 1
    sizes = [ends[0], *(a.aval.shape[0] for a in atoms[1:]), ends[1]]
    return _chained(b, atoms, cheapest_splits(sizes), 0, len(atoms) - 1)


def _chained(b: Builder, atoms: Sequence[Atom], splits: dict[tuple[int, int], int], i: int, j: int) -> Atom:
    if i == j:
        return atoms[i]
    k = splits[i, j]
    return make.matmul(b, _chained(b, atoms, splits, i, k), _chained(b, atoms, splits, k + 1, j))


def cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For matrices i to j of a chain, matrix k being sizes[k] by sizes[k + 1]: the last one of the left part.

    T. H. Cormen et al., Introduction to Algorithms, 15.2.
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            splits[i, j] = min(ways, key=lambda k: ways[k])
            cost[i, j] = ways[splits[i, j]]
    return splits


# ---- einsum --------------------------------------------------------------------------------------


def einsum(b: Builder, subscripts: Any, *operands: Any, out: Any = None, dtype: Any = None, **options: Any) -> Atom:
    """np.einsum of any number of operands, contracted in pairs from left to right."""
    refuse_out("np.einsum", out)
    for option in options:
        if option not in ("optimize", "order", "casting"):
            raise TypeError(f"np.einsum got an unexpected keyword argument {option!r}")
    if is_atom(subscripts) or not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    atoms = [array(b, x) for x in operands]
    inputs, output = parse(subscripts, [a.aval.ndim for a in atoms])
    result_dtype = static_dtype(dtype) or common_dtype(atoms)
    atoms = [make.astype(b, a, result_dtype) for a in atoms]
    for i in range(len(atoms)):
        atoms[i], inputs[i] = _diagonals(b, atoms[i], inputs[i])
    for i in range(len(atoms)):
        atoms[i], inputs[i] = _unit_axes_dropped(b, atoms, inputs, i)
    first, labels = atoms[0], inputs[0]
    for i in range(1, len(atoms)):
        later = set(output).union(*inputs[i + 1 :])
        keep = tuple(dict.fromkeys(s for s in (*labels, *inputs[i]) if s in later))
        if i == len(atoms) - 1 and set(keep) == set(output):
            keep = output
        first, labels = make.contract(b, first, atoms[i], labels, inputs[i], keep), keep
    return _finished(b, first, labels, output)


def _from_lists(args: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """np.einsum(x, [0, 1], y, [1, 2], [0, 2]) as subscripts and operands."""
    count = len(args) // 2
    lists = [static(item, "the labels of np.einsum") for item in (*args[1 : 2 * count : 2], *args[2 * count :])]
    terms = ["".join("..." if s is Ellipsis else string.ascii_letters[s] for s in labels) for labels in lists]
    arrow = "->" + terms.pop() if len(terms) > count else ""
    return ",".join(terms) + arrow, tuple(args[: 2 * count : 2])


def _diagonals(b: Builder, x: Atom, labels: Labels) -> tuple[Atom, Labels]:
    """A label that is repeated runs along a diagonal."""
    while len(set(labels)) < len(labels):
        s = next(s for s in labels if labels.count(s) > 1)
        i = labels.index(s)
        j = labels.index(s, i + 1)
        if x.aval.shape[i] != x.aval.shape[j]:
            sizes = f"{x.aval.shape[i]} and {x.aval.shape[j]}"
            raise ShapeError(f"np.einsum: the axes of one label have different sizes, {sizes}")
        x, labels = diagonal(b, x, 0, i, j), (*(t for k, t in enumerate(labels) if k not in (i, j)), s)
    return x, labels


def _finished(b: Builder, x: Atom, labels: Labels, output: Labels) -> Atom:
    summed = [i for i, s in enumerate(labels) if s not in output]
    if summed:
        x = make.astype(b, make.sum(b, x, summed), x.aval.dtype)
    kept = [s for s in labels if s in output]
    return make.transpose(b, x, [kept.index(s) for s in output])


def _unit_axes_dropped(b: Builder, atoms: list[Atom], inputs: list[Labels], i: int) -> tuple[Atom, Labels]:
    """An axis of size 1 stands for any size that another operand gives its label, as in broadcasting."""
    sizes: dict[int, int] = {}
    for a, labels in zip(atoms, inputs, strict=True):
        for s, n in zip(labels, a.aval.shape, strict=True):
            sizes[s] = max(n, sizes.get(s, 1))
    drop = [k for k, s in enumerate(inputs[i]) if atoms[i].aval.shape[k] == 1 and sizes[s] > 1]
    return make.squeeze(b, atoms[i], drop), tuple(s for k, s in enumerate(inputs[i]) if k not in drop)


def parse(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Labels of each operand and of the result; an ellipsis is negative labels, counted from the right."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ShapeError(f"np.einsum: {len(terms)} terms in {subscripts!r} for {len(ranks)} operands")
    inputs = [_labels(term, rank, subscripts) for term, rank in zip(terms, ranks, strict=True)]
    batch = sorted({s for labels in inputs for s in labels if s < 0})
    if arrow:
        output = _labels(right, len(right.replace("...", "")) + (len(batch) if "..." in right else 0), subscripts)
    else:
        flat = [s for labels in inputs for s in labels if s >= 0]
        output = (*batch, *sorted(s for s in set(flat) if flat.count(s) == 1))
    known = {s for labels in inputs for s in labels}
    if not set(output) <= known:
        raise ShapeError(f"np.einsum: {subscripts!r} has a label in the result that no operand has")
    if len(set(output)) != len(output):
        raise ShapeError(f"np.einsum: {subscripts!r} has a label twice in the result")
    return inputs, output


def _labels(term: str, rank: int, subscripts: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    if not all(c in string.ascii_letters for c in letters):
        raise ShapeError(f"np.einsum: {subscripts!r} is not understood")
    rest = rank - len(letters)
    if rest < 0 or (rest and not dots):
        raise ShapeError(f"np.einsum: {term!r} does not name the axes of an array of rank {rank}")
    return (*map(ord, before), *range(-rest, 0), *map(ord, after))
