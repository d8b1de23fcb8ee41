"""JAX's control flow as Python's own: loops, branches and scans of functions, over pytrees.

Each runs under CPython as it stands. Read inside an accelerated function it becomes the loop or the branch that it is
here; `scan` has a form of its own for that (`scan_in_place`), since a list that grows is no array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tree import flatten, tree_map
from .support import one_axis

Fun = Callable[..., Any]


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
    """true_fun(*operands) where `pred`, a bool scalar, holds, else false_fun(*operands). One of them runs. Both return
    trees of the same structure and shapes.

    JAX's older form has an operand for each: cond(pred, true_operand, true_fun, false_operand, false_fun).
    """
    if "operand" in options:
        operands = (options["operand"],)
    if not callable(true_fun) and len(operands) == 2:
        return false_fun(true_fun) if pred else operands[1](operands[0])
    if pred:
        return true_fun(*operands)
    return false_fun(*operands)


def switch(index: Any, branches: Sequence[Fun], *operands: Any) -> Any:
    """branches[index](*operands), the index clamped into range. All return trees of the same structure and shapes;
    `index` is an integer scalar.
    """
    if not len(branches):
        raise ValueError("switch needs at least one branch")
    if np.result_type(index).kind not in "iub":
        raise TypeError(f"switch: the index must be an integer, not {np.result_type(index)}")
    return _chosen(index, branches, 0, operands)


def _chosen(index: Any, branches: Sequence[Fun], k: int, operands: tuple[Any, ...]) -> Any:
    if k == len(branches) - 1:
        return branches[k](*operands)
    if index <= k:
        return branches[k](*operands)
    return _chosen(index, branches, k + 1, operands)


def while_loop(cond_fun: Fun, body_fun: Fun, init_val: Any) -> Any:
    """val = body_fun(val) while cond_fun(val). `val` is a tree whose structure and shapes stay; `cond_fun` returns
    a bool scalar.
    """
    val = _carried(init_val)
    while cond_fun(val):
        val = _passed_on("while_loop", val, body_fun(val))
    return val


def _carried(val: Any) -> Any:
    """The tree with numbers for its arrays of shape (): JAX does not tell the two apart, and what `np.where` gives in
    one turn, an array, may take the place of a number."""
    return tree_map(_number, val)


def _passed_on(loop: str, before: Any, after: Any) -> Any:
    """What a turn leaves for the next one. TypeError where that has other leaves, or leaves of other shapes."""
    _same_shapes(loop, [np.shape(x) for x in flatten(before)[0]], [np.shape(x) for x in flatten(after)[0]])
    return _carried(after)


def _same_shapes(loop: str, found: list[tuple[int, ...]], left: list[tuple[int, ...]]) -> None:
    if found != left:
        raise TypeError(
            f"{loop}: carry input and carry output must have equal types; its arrays have the shapes {found} before a "
            f"turn and {left} after it"
        )


_same_shapes.__dict__["__untraced_static__"] = True  # called where the loop is read, however often it will run


def _number(x: Any) -> Any:
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def fori_loop(lower: Any, upper: Any, body_fun: Fun, init_val: Any, *, unroll: Any = None) -> Any:
    """val = body_fun(i, val) for i from `lower` to `upper`, exclusive. `unroll` changes nothing here. `val` is a tree
    whose structure and shapes stay.
    """
    val = _carried(init_val)
    for i in range(lower, upper):
        val = _passed_on("fori_loop", val, body_fun(i, val))
    return val


# ---- scans ---------------------------------------------------------------------------------------


def scan(
    f: Fun,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """carry, y = f(carry, x) for each x along the leading axis of `xs`; the last carry, and all y stacked.

    `xs` is a pytree of arrays of one length, or None with `length`. Raises ValueError where lengths differ, TypeError
    where a turn changes a shape of the carry.
    """
    n = scan_length(xs, length)
    carry = _carried(init)
    ys: list[Any] = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        after, ys[i] = f(carry, _row(xs, i))
        carry = _passed_on("scan", carry, after)
    if n:
        return carry, tree_map(lambda *parts: np.stack(parts), *ys)
    _, y = f(init, _zero_row(xs))
    return carry, tree_map(lambda v: np.empty((0, *np.shape(v)), np.result_type(v)), y)


def scan_in_place(
    f: Fun,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """`scan` as it is read: arrays are allocated before the loop. What `f` is called for first is only their shape."""
    n = scan_length(xs, length)
    _, y = f(init, _row(xs, 0) if n else _zero_row(xs))
    ys = tree_map(lambda v: np.empty((n, *np.shape(v)), np.result_type(v)), y)
    carry = _carried(init)
    for i in reversed(range(n)) if reverse else range(n):
        after, y = f(carry, _row(xs, i))
        carry = _passed_on("scan", carry, after)
        tree_map(lambda out, v: _store(out, i, v), ys, y)  # noqa: B023  # called at once
    return carry, ys


def scan_length(xs: Any, length: int | None) -> int:
    """How many steps a scan has."""
    if any(np.ndim(x) == 0 for x in flatten(xs)[0]):
        raise ValueError("scan and map go along the leading axis of arrays; a number has none")
    sizes = {np.shape(x)[0] for x in flatten(xs)[0]} | (set() if length is None else {int(length)})
    if len(sizes) != 1:
        raise ValueError(f"scan needs xs of one length, or length=; got lengths {sorted(sizes)}")
    return int(sizes.pop())


def _row(xs: Any, i: Any) -> Any:
    return tree_map(lambda a: a[i], xs)


def _zero_row(xs: Any) -> Any:
    return tree_map(lambda a: np.zeros(np.shape(a)[1:], np.result_type(a)), xs)


def _store(out: Any, i: Any, v: Any) -> Any:
    out[i] = v
    return None


def map_rows(f: Fun, xs: Any, *, batch_size: int | None = None) -> Any:
    """f(x) for each x along the leading axis of `xs`, one after the other, stacked (`lax.map`)."""
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def associative_scan(fn: Fun, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes y[k] = fn(fn(x[0], x[1]), ... x[k]) of an associative `fn` along an axis, in log2(n) steps.

    `fn` takes and gives trees of arrays and works elementwise along the axis. The even prefixes follow from those of
    neighbouring pairs: Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990. Of np.add, np.multiply,
    np.maximum and np.minimum they are running reductions, in one step.
    """
    leaves = flatten(elems)[0]
    n = leaves[0].shape[one_axis(axis, np.ndim(leaves[0]))]
    if any(x.shape[axis] != n for x in leaves):
        raise ValueError("associative_scan needs arrays of one length along the axis")
    if reverse:
        elems = tree_map(lambda x: np.flip(x, axis), elems)
    if fn is np.add or fn is np.multiply or fn is np.maximum or fn is np.minimum:
        found = tree_map(lambda x: fn.accumulate(x, axis=axis, dtype=x.dtype), elems)
    else:
        found = _prefixes(fn, elems, n, axis)
    return tree_map(lambda x: np.flip(x, axis), found) if reverse else found


def _prefixes(fn: Fun, elems: Any, n: int, axis: int) -> Any:
    if n < 2:
        return elems
    pairs = fn(_every(elems, 0, n - 1, axis), _every(elems, 1, n, axis))
    odd = _prefixes(fn, pairs, n // 2, axis)  # those that end with 1, 3, 5, ...
    if n == 2:
        return tree_map(lambda x, y: np.concatenate([_part(x, 0, 1, 1, axis), y], axis), elems, odd)
    even = fn(_run(odd, 0, (n - 1) // 2, axis), _every(elems, 2, n, axis))
    return tree_map(lambda x, e, o: _woven(_part(x, 0, 1, 1, axis), e, o, n, axis), elems, even, odd)


def _every(tree: Any, start: int, stop: int, axis: int) -> Any:
    return tree_map(lambda x: _part(x, start, stop, 2, axis), tree)


def _run(tree: Any, start: int, stop: int, axis: int) -> Any:
    return tree_map(lambda x: _part(x, start, stop, 1, axis), tree)


def _part(x: Any, start: int, stop: int, step: int, axis: int) -> Any:
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def _woven(first: Any, even: Any, odd: Any, n: int, axis: int) -> Any:
    """first, odd[0], even[0], odd[1], even[1], ..."""
    out = np.empty((*first.shape[: axis % first.ndim], n, *first.shape[axis % first.ndim + 1 :]), odd.dtype)
    before = (slice(None),) * (axis % first.ndim)
    out[(*before, slice(0, n, 2))] = np.concatenate([first, even], axis)
    out[(*before, slice(1, n, 2))] = odd
    return out


CALLED: tuple[Callable[..., Any], ...] = (cond, switch, while_loop, fori_loop, map_rows, associative_scan)
