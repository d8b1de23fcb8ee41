"""Handlers of products: each becomes contractions of two operands."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from .. import make
from ..builder import Builder
from ..errors import Diagnostic, ShapeError, UnsupportedError
from ..ir import Atom
from .arguments import array, common_dtype, refuse_out, static, static_dtype, static_int, static_shape

Labels = tuple[int, ...]


def matmul(b: Builder, x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None) -> Atom:
    refuse_out("np.matmul", out)
    x, y = array(b, x1), array(b, x2)
    if dtype is not None:
        x, y = (make.astype(b, a, static_dtype(dtype)) for a in (x, y))
    return make.matmul(b, x, y)


def dot(b: Builder, a: Any, b_: Any, out: Any = None) -> Atom:
    """The last axis of `a` against the second last of `b_`; a product with a scalar is elementwise."""
    refuse_out("np.dot", out)
    x, y = array(b, a), array(b, b_)
    if not x.aval.ndim or not y.aval.ndim:
        return make.multiply(b, x, y)
    return _over(b, x, y, [x.aval.ndim - 1], [max(0, y.aval.ndim - 2)])


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
        return make.multiply(b, x, y)
    return _over(b, x, y, [x.aval.ndim - 1], [y.aval.ndim - 1])


def vdot(b: Builder, a: Any, b_: Any) -> Atom:
    from .elementwise import conjugate

    x = make.reshape(b, array(b, a), (-1,))
    y = x if a is b_ else make.reshape(b, array(b, b_), (-1,))
    return _over(b, conjugate(b, x), y, [0], [0])


def outer(b: Builder, a: Any, b_: Any, out: Any = None) -> Atom:
    refuse_out("np.outer", out)
    x, y = make.reshape(b, array(b, a), (-1,)), make.reshape(b, array(b, b_), (-1,))
    return make.contract(b, x, y, (0,), (1,), (0, 1))


def vecdot(b: Builder, x1: Any, x2: Any, /, *, axis: Any = -1) -> Atom:
    """Products of vectors along an axis, over broadcast batches; the first operand conjugated."""
    from .elementwise import conjugate
    from .shape import moveaxis

    x, y = conjugate(b, array(b, x1)), array(b, x2)
    x, y = (moveaxis(b, a, static_int(axis, "an axis"), -1) for a in (x, y))
    if x.aval.ndim == y.aval.ndim == 1:
        return make.matmul(b, x, y)
    product = make.matmul(b, make.expand_dims(b, x, -2), make.expand_dims(b, y, -1))
    return make.squeeze(b, product, (-2, -1))


def matvec(b: Builder, x1: Any, x2: Any, /) -> Atom:
    x, y = array(b, x1), array(b, x2)
    if y.aval.ndim == 1:
        return make.matmul(b, x, y)
    return make.squeeze(b, make.matmul(b, x, make.expand_dims(b, y, -1)), -1)


def vecmat(b: Builder, x1: Any, x2: Any, /) -> Atom:
    from .elementwise import conjugate

    x, y = conjugate(b, array(b, x1)), array(b, x2)
    if x.aval.ndim == 1:
        return make.matmul(b, x, y)
    return make.squeeze(b, make.matmul(b, make.expand_dims(b, x, -2), y), -2)


def tensordot(b: Builder, a: Any, b_: Any, axes: Any = 2) -> Atom:
    x, y = array(b, a), array(b, b_)
    known = static(axes, "axes")
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
    """Matrix products from left to right."""
    refuse_out("np.linalg.multi_dot", out)
    first, *rest = (array(b, a) for a in arrays)
    for y in rest:
        first = make.matmul(b, first, y)
    return first


# ---- einsum --------------------------------------------------------------------------------------


def einsum(b: Builder, subscripts: Any, *operands: Any, out: Any = None, dtype: Any = None, **options: Any) -> Atom:
    """np.einsum of any number of operands, contracted in pairs from left to right."""
    refuse_out("np.einsum", out)
    for option in options:
        if option not in ("optimize", "order", "casting"):
            raise TypeError(f"np.einsum got an unexpected keyword argument {option!r}")
    text = static(subscripts, "the subscripts of np.einsum")
    if not isinstance(text, str):
        raise UnsupportedError(
            Diagnostic("np.einsum with lists of labels is not in the language", instead='np.einsum("ij,jk->ik", x, y)')
        )
    atoms = [array(b, x) for x in operands]
    inputs, output = parse(text, [a.aval.ndim for a in atoms])
    result_dtype = static_dtype(dtype) or common_dtype(atoms)
    atoms = [make.astype(b, a, result_dtype) for a in atoms]
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
    return inputs, output


def _labels(term: str, rank: int, subscripts: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    if not all(c in string.ascii_letters for c in letters):
        raise ShapeError(f"np.einsum: {subscripts!r} is not understood")
    if len(set(letters)) != len(letters):
        raise UnsupportedError(
            Diagnostic(
                f"np.einsum: a label is repeated in {term!r}",
                why="a diagonal is a view of an operand, not a product",
                instead="np.diagonal(x)",
            )
        )
    rest = rank - len(letters)
    if rest < 0 or (rest and not dots):
        raise ShapeError(f"np.einsum: {term!r} does not name the axes of an array of rank {rank}")
    return (*map(ord, before), *range(-rest, 0), *map(ord, after))
