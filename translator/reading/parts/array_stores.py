"""Stores into arrays: through indices, masks and slices of unknown length, with NumPy's rules for shapes and dtypes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ... import make
from ...builder import Builder
from ...errors import Diagnostic, DTypeError, ShapeError
from ...fits import check_holds
from ...ir import Atom, Aval, For, Range, Var
from ...ops.core import At, Dyn
from ...purpose import purpose
from ...surface.arguments import holds_atoms, plain
from ..core.context import Context
from ..core.demand import follows_loops
from ..core.narrowing import check_numbers
from ..core.values import Bounds, Masked, Part, Places, Ref, Undefined, Value
from ..facts.contents import known_arrays
from ..facts.overlaps import check_overlap
from ..facts.runs import first, past
from .agreeing import align
from .indexing import Key, extend_index, mask_for, mask_of, masked, parse_key, selected_view
from .ranked import crossing, scattered
from .selection import concrete, condition, refuse, strict_of, strict_view, true_places

_THROUGH = "a store through an index x[mask]"


def store_array(ctx: Context, base: Ref, key: Value, value: Value, node: ast.AST) -> None:
    """A store through a basic index, an index array, or a mask; the value is cast to the array's dtype."""
    key = mask_for(ctx, key, base.aval.shape)
    if isinstance(key, Masked):
        key = concrete(ctx, key, node, _THROUGH)
    if type(key) is tuple and any(isinstance(e, Masked) for e in key):
        crossed = crossing(ctx, base, key)
        if crossed is not None:
            check_overlap(ctx, crossed, value, node)
            store_selected(ctx, crossed, value, node)
            return
        key = tuple(concrete(ctx, e, node, _THROUGH) if isinstance(e, Masked) else e for e in key)
    mask = mask_of(ctx, base.aval.shape, key, node)
    if mask is not None:
        selected = masked(ctx, base, mask)
        check_overlap(ctx, selected, value, node)
        store_selected(ctx, selected, value, node)
        return
    ctx.at(node)
    parsed = parse_key(ctx, base.aval.shape, key, node, selects=True)
    if parsed.special:
        shown = selected_view(ctx, base, parsed, key, node)
        target = Masked(extend_index(ctx, base, parsed), shown.parts, shown.strict, shown.leaves)
        check_overlap(ctx, target, value, node)
        store_selected(ctx, target, value, node)
        return
    if isinstance(value, Masked):
        value = concrete(ctx, value, node, "a store of a selection x[mask] elsewhere than through the same mask")
    if isinstance(value, Undefined) and value.number is not None:
        atom: Atom = value.number
    elif isinstance(value, list | tuple) and not holds_atoms(value):
        atom = make.lift(np.asarray(plain(value), base.aval.dtype))
    else:
        atom = ctx.atom(value)
    ctx.at(node)
    if type(value) is Var and not (ctx.frame.fixed or ctx.is_printed):
        check_numbers(ctx.b, base.aval.dtype, value)
    elif atom.aval.shape and TAKES_NUMBERS and not ctx.frame.fixed and _is_element(parsed, key):
        raise ShapeError(Diagnostic("setting an array element with a sequence.", instead="store v[0], or v.item()"))
    if parsed.gathers:
        ctx.write(base, make.put(ctx.b, ctx.read(base), atom, parsed.dims, parsed.atoms))
        return
    if parsed.new_axes:
        atom = _without_new_axes(ctx, atom, parsed)
    view = extend_index(ctx, base, Key(parsed.dims, parsed.atoms))
    if not parsed.new_axes:  # of more than one axis otherwise
        _check_depth(value, atom, view)
        check_overlap(ctx, view, value, node)
    store_view(ctx, view, atom)


def _check_depth(value: Value, atom: Atom, view: Ref) -> None:
    """NumPy lets an array have more axes, of size 1, than what it is stored in, but not nested lists."""
    if type(value) in (list, tuple) and atom.aval.ndim > view.aval.ndim > 0:
        what = "setting an array element with a sequence."
        raise ShapeError(Diagnostic(what, why=f"the lists are nested deeper than {view.aval.ndim} axes"))


TAKES_NUMBERS = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
"""Whether an element takes numbers only: before, arrays with one element, too, with a warning."""


def _is_element(parsed: Key, key: Value) -> bool:
    """Whether an index is of one element, and not of a part without axes, as x[0, ...] is."""
    has_ellipsis = any(e is Ellipsis for e in (key if type(key) is tuple else (key,)))
    return not has_ellipsis and not parsed.new_axes and all(isinstance(d, At) for d in parsed.dims)


def store_view(ctx: Context, view: Ref, atom: Atom) -> None:
    """Overwrite all elements of a view; the value broadcasts."""
    aval = view.aval
    while atom.aval.ndim > aval.ndim and atom.aval.shape[0] == 1:
        atom = make.squeeze(ctx.b, atom, 0)
    if atom.aval.shape != aval.shape:
        try:
            fits = np.broadcast_shapes(atom.aval.shape, aval.shape) == aval.shape
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"could not broadcast input array from shape {atom.aval.shape} into shape {aval.shape}")
    check_holds(aval.dtype, atom)
    if not view.path or not hasattr(view.path[-1], "dims"):
        atom = make.broadcast_to(ctx.b, make.astype(ctx.b, atom, aval.dtype), aval.shape)
    ctx.write(view, atom)


def _without_new_axes(ctx: Context, atom: Atom, key: Key) -> Atom:
    """A value stored at x[:, None] has, or broadcasts to, an axis of size 1 there."""
    ndim = sum(1 for d in key.dims if hasattr(d, "size")) + len(key.new_axes)
    axes = tuple(a - (ndim - atom.aval.ndim) for a in key.new_axes if a - (ndim - atom.aval.ndim) >= 0)
    return make.squeeze(ctx.b, atom, axes)


def write_in_place(ctx: Context, target: Ref, atom: Atom, node: ast.AST) -> None:
    """Write a result into `target`, cast as `casting="same_kind"` allows. Raises ShapeError, DTypeError."""
    aval = target.aval
    if atom.aval.shape != aval.shape:
        if np.broadcast_shapes(atom.aval.shape, aval.shape) != aval.shape:
            raise ctx.error(
                ShapeError,
                node,
                f"non-broadcastable output operand: shape {aval.shape} does not hold a result of {atom.aval.shape}",
            )
        atom = make.broadcast_to(ctx.b, atom, aval.shape)
    check_cast(ctx, atom.aval, aval.dtype, node)
    ctx.write(target, make.astype(ctx.b, atom, aval.dtype))


def check_cast(ctx: Context, found: Aval, dtype: np.dtype[Any], node: ast.AST) -> None:
    """Raises DTypeError where NumPy refuses to write a result of one dtype into an array of another."""
    if not found.weak and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise ctx.error(
            DTypeError,
            node,
            f"cannot cast the result from {found.dtype} to {dtype} in place",
            why="NumPy allows casts within one kind only when it writes in place",
            instead="write x = x + ... to get a new array, or cast the array first",
        )


def changed(ctx: Context, s: Masked, node: ast.AST, change: Callable[[Ref], Any], what: str) -> Any:
    """change(the selection as an array): what it stores there is put back into the whole."""
    array = concrete(ctx, s, node, what)
    if array.cell is s.whole.cell:
        return change(array)
    masks = {i: p.mask for i, p in enumerate(s.parts) if isinstance(p, Places)}
    known = known_arrays(ctx, masks.values())
    if known is None or len(known) != 1:
        refuse(ctx, node, what)
    own = Ref(ctx.cell(ctx.read(array)))
    result = change(own)
    store_array(ctx, s.whole, true_places(s, next(iter(masks)), known[0]), own, node)
    return result


# ---- selections ----------------------------------------------------------------------------------


def store_selected(ctx: Context, target: Masked, value: Value, node: ast.AST, in_place: bool = False) -> None:
    """target[...] = value. `in_place`: casts within a kind only, as `+=` does."""
    aligned = align(ctx, [target, value])
    if aligned is not None and len(aligned[1]) > len(target.parts):
        aligned = None
    if aligned is None and (laid := scattered(ctx, target, value)) is not None:
        aligned = align(ctx, [target, laid])
    if aligned is None:
        if target.strict is not None and target.content is not None:
            target = strict_view(ctx, target, node)
        if target.strict is not None:
            given = concrete(ctx, value, node, "a selection") if isinstance(value, Masked) else value
            store_view(ctx, strict_of(ctx, target, node), ctx.atom(given))
            return
        _refuse_store(ctx, target, value, node)
    new = ctx.atom(aligned[0][1])
    whole = ctx.read(target.whole)
    if np.broadcast_shapes(new.aval.shape, whole.aval.shape) != whole.aval.shape:
        raise ctx.error(ShapeError, node, f"could not broadcast {new.aval.shape} into a part of {whole.aval.shape}")
    if in_place:
        check_cast(ctx, new.aval, whole.aval.dtype, node)
    ctx.at(node)
    check_holds(whole.aval.dtype, new)
    if _is_sparse(ctx, target, new):
        ctx.write(target.whole, _stored_in_turn(ctx, target.parts[0], whole, new))
        return
    inside = condition(ctx, target)
    ctx.write(target.whole, make.where(ctx.b, inside, make.astype(ctx.b, new, whole.aval.dtype), whole))


def _is_sparse(ctx: Context, target: Masked, new: Atom) -> bool:
    """Whether a store in a loop, to every k-th element of a long line, is better a loop over these elements."""
    p, goal = target.parts[0], purpose()
    if len(target.parts) != 1 or not isinstance(p, Bounds) or new.aval.ndim > 1:
        return False
    if p.n < (_LONG if type(p.step) is Var and follows_loops(ctx, p.step) else _LONG_FOR_FEW):
        return False
    plain = goal.orders == 0 and not goal.keeps_calls and not ctx.is_printed
    return goal.runs_loops and plain and len(ctx.builders) > 1 and not (type(p.step) is int and p.step == 1)


_LONG = 1 << 10
_LONG_FOR_FEW = 1 << 14  # where perhaps few turns do so: the loop over such a line alone is worth compiling


def _stored_in_turn(ctx: Context, p: Part, whole: Atom, new: Atom) -> Atom:
    """`for k in range(start, stop, step): whole[k] = new[k]`"""
    assert isinstance(p, Bounds)
    k, line, made = Var("k", make.lift(0).aval), Var("line", whole.aval), Var("line", whole.aval)
    turns = Range(ctx.atom(first(ctx, p)), ctx.atom(past(ctx, p)), ctx.atom(p.step))
    inner, here = Builder(ctx.b.span), (At(Dyn(0)),)
    value = make.index(inner, new, here, (k,)) if new.aval.shape == whole.aval.shape else make.reshape(inner, new, ())
    body = inner.block((k, line), (make.put(inner, line, value, here, (k,)),))
    ctx.append(For((made,), turns, (whole,), body, span=ctx.b.span))
    return made


def _refuse_store(ctx: Context, target: Masked, value: Value, node: ast.AST) -> NoReturn:
    if isinstance(value, Masked):
        for s in (target, value):
            if not any(isinstance(p, Places) for p in (*target.parts, *value.parts)):
                concrete(ctx, s, node, "a slice")
        ctx.cut(node, "the selection on the right has another mask", instead="use np.where")
    if not any(isinstance(p, Places) for p in target.parts):
        concrete(ctx, target, node, "a slice")
    ctx.cut(
        node,
        "x[mask] = an array",
        why="how many elements the mask selects is not known before the run",
        instead="select on both sides, x[mask] = y[mask], or use np.where(mask, y, x)",
    )
