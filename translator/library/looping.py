"""JAX's control flow as Python's own: loops, branches and scans of functions, over pytrees.

Each runs under CPython as it stands. Read inside an accelerated function it becomes the loop or the branch that it is
here; `scan` has a form of its own for that (`scan_in_place`), since a list that grows is no array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..tree import LEAF, Kind, TreeDef, flatten, tree_map, unflatten, without_order
from .support import is_weak, one_axis

Fun = Callable[..., Any]


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
    """true_fun(*operands) where `pred`, a bool scalar, holds, else false_fun(*operands). One of them runs. Both return
    trees of the same structure, shapes and dtypes. TypeError for a predicate that is no scalar, and, where both are
    read, for branches that differ.

    JAX's older form has an operand for each: cond(pred, true_operand, true_fun, false_operand, false_fun).
    """
    _scalar("cond: the predicate", "biuf", "a truth value or a real number", pred)
    results = _Results("cond")
    operands = _operands("cond", operands, options)
    if not callable(true_fun) and len(operands) == 2:
        return passed(_either(pred, results, false_fun, (true_fun,), operands[1], operands[:1]))
    return passed(_either(pred, results, true_fun, operands, false_fun, operands))


def _either(pred: Any, results: _Results, f: Fun, given: tuple[Any, ...], g: Fun, other: tuple[Any, ...]) -> Any:
    if pred:
        return _as_others(results, f(*passed(given)))
    return _as_others(results, g(*passed(other)))


def switch(index: Any, branches: Sequence[Fun], *operands: Any, **options: Any) -> Any:
    """branches[index](*operands), the index clamped into range. All return trees of the same structure, shapes
    and dtypes, else TypeError where they are read; `index` is an integer scalar. `operand=` names a single operand.
    """
    operands = _operands("switch", operands, options)
    if not len(branches):
        raise ValueError("switch needs at least one branch")
    _scalar("switch: the index", "iu", "an integer", index)
    return passed(_chosen(index, branches, 0, operands, _Results("switch")))


def _operands(call: str, operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The operands of a call: those by position, or the one named `operand`. TypeError for both, or another name."""
    for name in options:
        if name != "operand":
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
    if "operand" not in options:
        return operands
    if len(operands):
        raise TypeError(f"{call}: give operands by position or as `operand`, not both")
    return (options["operand"],)


def _chosen(index: Any, branches: Sequence[Fun], k: int, operands: tuple[Any, ...], results: _Results) -> Any:
    if k == len(branches) - 1:
        return _as_others(results, branches[k](*passed(operands)))
    if index <= k:
        return _as_others(results, branches[k](*passed(operands)))
    return _chosen(index, branches, k + 1, operands, results)


class _Results:
    """What the branches of one call give: where it is read, of each of them, else of the one that runs."""

    __untraced_static__ = True  # made where the call is read

    def __init__(self, call: str) -> None:
        self.call = call
        self.first: tuple[TreeDef, list[Type]] | None = None


def _as_others(results: _Results, result: Any) -> Any:
    """What a branch gave. TypeError where that is a tree of another structure than another branch gives, or has leaves
    of other shapes or dtypes."""
    leaves, structure = flatten(result)
    _same_results(results, structure, [_type(x) for x in leaves])
    return _carried(result)


def _same_results(results: _Results, structure: TreeDef, types: list[Type]) -> None:
    """A refusal, whatever CPython would give, which asks only the branch that runs."""
    if results.first is None:
        results.first = structure, types
        return
    other, others = results.first
    if without_order(structure) != without_order(other):
        raise DTypeError.refusing(f"{results.call} branch outputs must have the same pytree structure, but they differ")
    for one, two in zip(others, types, strict=True):
        if one[0] != two[0] or not (_in_jax(one[1]) == _in_jax(two[1]) or _joins(one, two) or _joins(two, one)):
            found = " and ".join(f"{dtype}{list(shape)}" for shape, dtype, _ in (one, two))
            what = f"{results.call} branches must have equal output types, but they differ: {found}"
            raise DTypeError.refusing(what)


def _joins(one: Type, two: Type) -> bool:
    """Whether a number of Python's takes the dtype of the other."""
    return one[2] and two[1].kind in {"i": "iu", "f": "fV", "c": "c"}[one[1].kind]


def while_loop(cond_fun: Fun, body_fun: Fun, init_val: Any) -> Any:
    """val = body_fun(val) while cond_fun(val). `val` is a tree whose structure, shapes and dtypes stay, but that
    Python's numbers may widen; `cond_fun` returns a bool scalar. TypeError where either does not hold.
    """
    leaves, structure = flatten(init_val)
    if _keeps_data(structure):
        leaves = while_loop(
            lambda x: cond_fun(unflatten(structure, x)),
            lambda x: _leaves("while_loop", structure, body_fun(unflatten(structure, x))),
            leaves,
        )
        return unflatten(structure, leaves)
    val = _carried(init_val)
    while _going_on(cond_fun(passed(val))):
        val = _passed_on("while_loop", val, body_fun(passed(val)))
    return passed(val)


def passed(values: Any) -> Any:
    """What a function of the user's is given, or he is. Where it is read, its leaves are JAX's: `passed_leaf`."""
    return values


def each_passed(values: Any) -> Any:
    """`passed`, as it is read."""
    return tree_map(passed_leaf, values)


def passed_leaf(x: Any) -> Any:
    """Read, a number is noted as JAX's array, and an array is one of its own, of which `x += y` makes a new one."""
    return x


def _carried(val: Any) -> Any:
    """The tree with numbers for its arrays of shape (): JAX does not tell the two apart, and what `np.where` gives in
    one turn, an array, may take the place of a number. Truths are NumPy's, of which `~` is the other one."""
    return tree_map(_number, val)


def _passed_on(loop: str, before: Any, after: Any) -> Any:
    """What a turn leaves for the next one. TypeError where that is a tree of another structure, or has leaves of other
    shapes or dtypes."""
    leaves, structure = flatten(before)
    left, as_left = flatten(after)
    _same_carry(loop, structure, as_left, [_type(x) for x in leaves], [_type(x) for x in left])
    return _carried(after)


def _keeps_data(structure: TreeDef) -> bool:
    """Whether the structure of a carry holds data of its own, which no turn changes: then the leaves alone are
    carried, else the containers as they are."""
    own = structure.kind is Kind.STATIC or (structure.kind in (Kind.CUSTOM, Kind.DATACLASS) and bool(structure.aux))
    return own or any(map(_keeps_data, structure.children))


def _leaves(loop: str, structure: TreeDef, after: Any) -> list[Any]:
    """The leaves of what a turn leaves. TypeError where that is a tree of another structure."""
    leaves, left = flatten(after)
    _same_structure(loop, structure, left)
    return leaves


def _same_structure(loop: str, structure: TreeDef, left: TreeDef) -> None:
    if without_order(structure) != without_order(left):
        carry = f"{loop}: carry input and carry output must have"
        raise TypeError(f"{carry} the same pytree structure, and a turn makes another one of it")


def _on_leaves(f: Fun, structure: TreeDef) -> Fun:
    """The function of a scan with the leaves of the carry for the carry."""

    def turn(leaves: Any, x: Any) -> Any:
        after, y = _turned(f(unflatten(structure, leaves), x))
        return _leaves("scan", structure, after), y

    return turn


Type = tuple[tuple[int, ...], Any, bool]  # shape, dtype, and whether it is a number of Python's


def _type(x: Any) -> Type:
    if isinstance(x, str | bytes):
        return (), np.dtype(np.object_), False
    return np.shape(x), np.result_type(x), is_weak(x)


def _same_carry(loop: str, structure: TreeDef, as_left: TreeDef, found: list[Type], left: list[Type]) -> None:
    carry = f"{loop}: carry input and carry output must have"
    if [shape for shape, *_ in found] != [shape for shape, *_ in left]:
        before, after = [shape for shape, *_ in found], [shape for shape, *_ in left]
        raise TypeError(f"{carry} equal types; its arrays have the shapes {before} before a turn and {after} after it")
    _same_structure(loop, structure, as_left)
    for (shape, dtype, weak), (_, after, _) in zip(found, left, strict=True):
        if _in_jax(dtype) != _in_jax(after) and not (weak and after.kind in _WIDER[dtype.kind]):
            what = "a number" if shape == () else f"an array of shape {shape}"
            raise TypeError(f"{carry} equal types; {what} is of {dtype} before a turn and of {after} after it")


_WIDER = {"i": "iufcV", "f": "fcV", "c": "c"}  # what a number of Python's becomes beside others; V is bfloat16
_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _in_jax(dtype: Any) -> str:
    """The dtype by which JAX knows it without 64 bits: widths that it does not tell apart are no reason to refuse."""
    name = str(dtype.name)
    return _NARROW.get(name, name)


def _is_predicate(structure: TreeDef, types: list[Type]) -> None:
    if structure != LEAF or types[0][0] != () or types[0][1] != np.bool_:
        what = [f"{dtype}{list(shape)}" for shape, dtype, _ in types] if types else "no array"
        raise TypeError(f"while_loop: cond_fun must return a boolean scalar, but got {what}")


def _is_scalar(what: str, kinds: str, named: str, structure: TreeDef, types: list[Type]) -> None:
    if structure != LEAF or types[0][0] != ():
        raise TypeError(f"{what} must be a scalar, but has the shapes {[shape for shape, *_ in types]}")
    if types[0][1].kind not in kinds:
        raise TypeError(f"{what} must be {named}, not {types[0][1]}")


def _is_pair(turn: Any) -> None:
    if not isinstance(turn, tuple | list) or len(turn) != 2:
        raise TypeError("scan: the function must return a pair, the carry and what is stacked")


for _check in (_keeps_data, _same_structure, _same_results, _same_carry, _is_predicate, _is_scalar, _is_pair):
    _check.__dict__["__untraced_static__"] = True  # called where the loop is read, however often it will run


def _going_on(value: Any) -> Any:
    """What says whether a while_loop goes on. TypeError where it is no bool scalar."""
    leaves, structure = flatten(value)
    _is_predicate(structure, [_type(x) for x in leaves])
    return value


def _scalar(what: str, kinds: str, named: str, value: Any) -> None:
    """TypeError for what is no scalar, or a scalar of other kinds."""
    leaves, structure = flatten(value)
    _is_scalar(what, kinds, named, structure, [_type(x) for x in leaves])


def _turned(turn: Any) -> Any:
    """The carry and what is stacked, of a turn of a scan. TypeError where it gave no pair."""
    _is_pair(turn)
    return turn


def _number(x: Any) -> Any:
    if isinstance(x, bool):
        return np.bool_(x)
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def fori_loop(lower: Any, upper: Any, body_fun: Fun, init_val: Any, *, unroll: Any = None) -> Any:
    """val = body_fun(i, val) for i from `lower` to `upper`, exclusive, in steps of 1, which may be floats. `val` is a
    tree whose structure, shapes and dtypes stay, else TypeError. `unroll` changes nothing here.
    """
    leaves, structure = flatten(init_val)
    if _keeps_data(structure):
        turn = lambda i, x: _leaves("fori_loop", structure, body_fun(i, unflatten(structure, x)))  # noqa: E731
        return unflatten(structure, fori_loop(lower, upper, turn, leaves))
    val = _carried(init_val)
    if np.result_type(lower, upper).kind == "f":
        return while_loop(lambda c: c[0] < upper, lambda c: (c[0] + 1.0, body_fun(*c)), (lower * 1.0, val))[1]
    for i in range(lower, upper):
        val = _passed_on("fori_loop", val, body_fun(passed(i), passed(val)))
    return passed(val)


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
    where a turn gives no pair or changes the structure, a shape or a dtype of the carry.
    """
    leaves, structure = flatten(init)
    if _keeps_data(structure):
        leaves, stacked = scan(_on_leaves(f, structure), leaves, xs, length, reverse)
        return unflatten(structure, leaves), stacked
    n = scan_length(xs, length)
    carry = _carried(init)
    ys: list[Any] = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        after, ys[i] = _turned(f(passed(carry), passed(_row(xs, i))))
        carry = _passed_on("scan", carry, after)
    if n:
        return carry, tree_map(lambda *parts: np.stack(parts), *ys)
    after, y = _turned(f(carry, _zero_row(xs)))
    _passed_on("scan", carry, after)
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
    leaves, structure = flatten(init)
    if _keeps_data(structure):
        leaves, stacked = scan(_on_leaves(f, structure), leaves, xs, length, reverse)
        return unflatten(structure, leaves), stacked
    n = scan_length(xs, length)
    carry = _carried(init)
    after, y = _turned(f(passed(carry), passed(_row(xs, 0)) if n else _zero_row(xs)))
    _passed_on("scan", carry, after)
    ys = tree_map(lambda v: np.empty((n, *np.shape(v)), np.result_type(v)), y)
    for i in reversed(range(n)) if reverse else range(n):
        after, y = _turned(f(passed(carry), passed(_row(xs, i))))
        carry = _passed_on("scan", carry, after)
        tree_map(lambda out, v: _store(out, i, v), ys, y)  # noqa: B023  # called at once
    return passed(carry), ys


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
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn argument should be callable, got {fn!r}")
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
