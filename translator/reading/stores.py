"""Assignments: names, unpacking, x[i] = v, x += v, attributes."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any

import numpy as np

from .. import make
from ..errors import Diagnostic, DTypeError, ShapeError, UnsupportedError
from ..fits import check_holds
from ..ir import Atom, Aval, Var
from ..ops.core import At
from ..surface.arguments import holds_atoms, plain
from .attributes import get_attribute, set_attribute
from .context import Context, name_result
from .control import Kont
from .demand import static
from .expressions import binary, in_place_name, lookup
from .growing import Growing, Pile, add_item, set_item
from .indexing import Key, extend_index, flat_of, index_value, mask_for, mask_of, parse_key, selected_view
from .iteration import held, known_items
from .known import run_known
from .overlaps import check_overlap, check_parts
from .protocols import is_instance, special
from .selection import changed, concrete, masked, part_of, place_of, store_selected
from .source import Scope
from .values import SHARED, Flat, Frame, Masked, Ref, Undefined, Value, describe


def assign_(ctx: Context, node: ast.Assign, kont: Kont) -> None:
    value = ctx.eval(node.value)
    for target in node.targets:
        assign(ctx, target, value, node)


def ann_assign(ctx: Context, node: ast.AnnAssign, kont: Kont) -> None:
    if node.value is not None:
        assign(ctx, node.target, ctx.eval(node.value))


def assign(ctx: Context, target: ast.expr, value: Value, origin: ast.AST | None = None) -> None:
    """Bind a target; stores that this takes come from the statement `origin`."""
    match target:
        case ast.Name(id=identifier):
            value = held(ctx, value)
            bind_name(ctx, identifier, value)
            if not ctx.frame.fixed:  # the names of library source are none of the user's
                name_result(value, identifier)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(ctx, elts, known_items(ctx, value, target), origin or target)
        case ast.Subscript():
            store(ctx, ctx.eval(target.value), ctx.eval(target.slice), value, origin or target)
        case ast.Attribute(attr=attr):
            _store_attribute(ctx, ctx.eval(target.value), attr, value, target)
        case ast.Starred():
            assign(ctx, target.value, value, origin)
        case _:
            ctx.refuse(target, "this target of an assignment is not in the language")


def bind_name(ctx: Context, identifier: str, value: Value) -> None:
    """Bind a name of the function, or the one of a function around it that it declares nonlocal."""
    owner: Frame | None = ctx.frame
    live, scope = ctx.frame.live, ctx.frame.scope
    if identifier in live.globals:
        _bind_outside(ctx, Scope(scope.function, {}, scope.globals), identifier, value)
        return
    if identifier not in live.shared and identifier not in live.nonlocals:
        ctx.frame.env[identifier] = value
        return
    while owner is not None and identifier not in owner.live.shared:
        scope = owner.scope
        owner = owner.outer
    if owner is None:
        _bind_outside(ctx, scope, identifier, value)
        return
    ctx.set_attribute(owner.env[SHARED], identifier, value)


def _bind_outside(ctx: Context, scope: Scope, identifier: str, value: Value) -> None:
    if not (ctx.keeps_changes or ctx.transforms):
        raise UnsupportedError(
            Diagnostic(
                f"{identifier} lives outside the function, and cannot be assigned",
                why="the assignment would have to happen at every call, outside the derivative or the batch",
                instead="return the new value and assign it where the function is called",
            )
        )
    ctx.note_outside(identifier)
    ctx.set_variable(scope, identifier, value)


def _unpack(ctx: Context, targets: list[ast.expr], items: list[Value], node: ast.AST) -> None:
    starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if not starred:
        if len(items) != len(targets):
            what = "too many" if len(items) > len(targets) else "not enough"
            what += f" values to unpack (expected {len(targets)}, got {len(items)})"
            raise ctx.error(ShapeError, node, what, instead="name each value, or take the rest as *rest")
        for t, item in zip(targets, items, strict=True):
            assign(ctx, t, item, node)
        return
    (i,) = starred
    after = len(targets) - i - 1
    if len(items) < i + after:
        raise ctx.error(ShapeError, node, f"not enough values to unpack: {len(items)}, at least {i + after} are needed")
    parts = [*items[:i], items[i : len(items) - after], *items[len(items) - after :]]
    for t, item in zip(targets, parts, strict=True):
        assign(ctx, t, item, node)


def _store_attribute(ctx: Context, owner: Value, attr: str, value: Value, node: ast.AST) -> None:
    if attr == "flat" and type(owner) is Ref:
        check_parts(ctx, owner, value, node, _BY_FLAT)
        atom = ctx.atom(value)
        line = ctx.wrap(make.reshape(ctx.b, atom, (-1,))) if atom.aval.shape else value
        store(ctx, flat_of(ctx, owner), slice(None), line, node)
        return
    if attr in ("real", "imag") and type(owner) is Ref:
        store(ctx, get_attribute(ctx, owner, attr, node), Ellipsis, value, node)
        return
    if isinstance(owner, Ref | Var):
        what = f"an array's `.{attr}` cannot be assigned"
        ctx.cut(node, what, instead="make a new array: x.reshape(...), x.astype(...)")
    set_attribute(ctx, owner, attr, value, node)


_BY_FLAT = "a store through `.flat`"


def store(ctx: Context, base: Value, key: Value, value: Value, node: ast.AST) -> None:
    """`base[key] = value`."""
    if type(base) is Flat:
        check_parts(ctx, base, value, node, _BY_FLAT)
    if type(base) is Ref or type(base) is Flat:
        store_array(ctx, base.line if isinstance(base, Flat) else base, key, value, node)
        return
    if isinstance(base, Masked):
        _store_in_selection(ctx, base, key, value, node)
        return
    if isinstance(base, Growing):
        set_item(ctx, base, key, value, node)
        return
    if type(base) is Pile:
        from . import piled

        piled.store(ctx, base, key, value, node)
        return
    if isinstance(base, dict | list):
        known = static(ctx, key, node, "the index of a container")
        if isinstance(base, list) and isinstance(known, slice):
            value = known_items(ctx, value, node)
        elif isinstance(base, list) and isinstance(known, int | np.integer):
            if not -len(base) <= known < len(base):
                raise IndexError("list assignment index out of range")
            if base[known] is value:
                return
        elif isinstance(base, dict) and known in base and base[known] is value:
            return
        ctx.touch(base)
        base[known] = value
        return
    if is_instance(base) and special(ctx, base, "__setitem__", [key, value], node) is not NotImplemented:
        return
    what = f"{describe(base)} does not support item assignment"
    raise ctx.error(DTypeError, node, what, instead="make it a list, a dict or an array")


def delete_item(ctx: Context, base: Value, key: Value, node: ast.AST) -> None:
    """`del base[key]`."""
    if not isinstance(base, dict | list):
        ctx.refuse(node, f"`del` of an element of {describe(base)}", instead="build the smaller one")
    known = static(ctx, key, node, "the index of a container")
    ctx.touch(base)
    run_known(ctx, node, operator.delitem, base, known)


def _store_in_selection(ctx: Context, base: Masked, key: Value, value: Value, node: ast.AST) -> None:
    """`x[lo:hi][key] = value`: through an integer, a mask or all of it; other keys need the array."""
    if key is Ellipsis or key == slice(None):
        check_overlap(ctx, base, value, node)
        store_selected(ctx, base, value, node)
        return
    part = part_of(ctx, base, key) if isinstance(key, Masked) else None
    if part is not None:
        store_selected(ctx, part, value, node)
        return
    place = place_of(ctx, base, key)
    if place is None:
        what = "a store into x[mask]"
        changed(ctx, base, node, lambda array: store_array(ctx, array, key, value, node), what)
    elif len(base.parts) == 1:
        store_array(ctx, base.whole, place, value, node)
    else:
        view = index_value(ctx, base, key, node)
        store(ctx, view, Ellipsis, value, node)


def store_array(ctx: Context, base: Ref, key: Value, value: Value, node: ast.AST) -> None:
    """A store through a basic index, an index array, or a mask; the value is cast to the array's dtype."""
    key = mask_for(ctx, key, base.aval.shape)
    if isinstance(key, Masked):
        key = concrete(ctx, key, node, "a store through an index x[mask]")
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
    if type(value) is Var:
        _check_number(ctx, base.aval.dtype, value)
    elif atom.aval.shape and TAKES_NUMBERS and not ctx.frame.fixed and _is_element(parsed, key):
        raise ShapeError(Diagnostic("setting an array element with a sequence.", instead="store v[0], or v.item()"))
    if parsed.gathers:
        ctx.write(base, make.put(ctx.b, ctx.read(base), atom, parsed.dims, parsed.atoms))
        return
    if parsed.new_axes:
        atom = _without_new_axes(ctx, atom, parsed)
    view = extend_index(ctx, base, Key(parsed.dims, parsed.atoms))
    if not parsed.new_axes:  # of more than one axis otherwise
        check_overlap(ctx, view, value, node)
    store_view(ctx, view, atom)


TAKES_NUMBERS = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
"""Whether an element takes numbers only: before, arrays with one element, too, with a warning."""


def _is_element(parsed: Key, key: Value) -> bool:
    """Whether an index is of one element, and not of a part without axes, as x[0, ...] is."""
    has_ellipsis = any(e is Ellipsis for e in (key if type(key) is tuple else (key,)))
    return not has_ellipsis and not parsed.new_axes and all(isinstance(d, At) for d in parsed.dims)


def _check_number(ctx: Context, dtype: np.dtype[Any], x: Var) -> None:
    """Raise where a NumPy number, or Python's float, is no integer of the dtype: NumPy casts arrays, and makes Python's
    ints of numbers. Python's own ints are asked by `fits`.
    """
    kind, b = x.aval.dtype.kind, ctx.b
    if dtype.kind not in "iu" or kind not in ("f" if x.aval.weak else "iuf") or ctx.frame.fixed or ctx.is_printed:
        return
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    outside: list[Atom] = []
    if kind == "f":
        number = make.astype(b, x, np.dtype(np.float64))
        least = make.less(b, number, low) if low == -(2**63) else make.less_equal(b, number, low - 1.0)
        outside = [make.not_equal(b, number, number), least, make.greater_equal(b, number, high + 1.0)]
    else:
        own = np.iinfo(x.aval.dtype)
        outside += [make.less(b, x, low)] if own.min < low else []
        outside += [make.greater(b, x, high)] if own.max > high else []
    if outside:
        error = OverflowError if kind != "f" else ValueError
        condition = functools.reduce(functools.partial(make.logical_or, b), outside)
        make.raise_if(b, condition, error, f"a number that is stored is out of bounds for {dtype}")


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


# ---- x += v --------------------------------------------------------------------------------------


def aug_assign(ctx: Context, node: ast.AugAssign, kont: Kont) -> None:
    target = node.target
    match target:
        case ast.Name(id=identifier):
            current = lookup(ctx, identifier, target)
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            bind_name(ctx, identifier, updated)
            if updated is not current and not ctx.frame.fixed:
                name_result(updated, identifier)
        case ast.Subscript():
            base, key = ctx.eval(target.value), ctx.eval(target.slice)
            if isinstance(base, Growing):
                add_item(ctx, base, key, ctx.eval(node.value), node)
                return
            current = index_value(ctx, base, key, target)
            line = base.line if isinstance(base, Flat) else base.whole if isinstance(base, Masked) else base
            if isinstance(base, Masked) and type(current) is Ref and current.cell is not base.whole.cell:
                current = Ref(ctx.cell(ctx.read(current)))
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            shown = current.whole if isinstance(current, Masked) else current
            copied = type(line) is Ref and type(shown) is Ref and shown.cell is not line.cell
            if updated is not current or copied:
                store(ctx, base, key, updated, node)
        case ast.Attribute(attr=attr):
            owner = ctx.eval(target.value)
            current = get_attribute(ctx, owner, attr, target)
            updated = augmented(ctx, current, ctx.eval(node.value), node)
            if updated is not current:
                _store_attribute(ctx, owner, attr, updated, node)


def augmented(ctx: Context, current: Value, value: Value, node: ast.AugAssign) -> Value:
    return augmented_value(ctx, type(node.op), current, value, node)


_SET_OPERATORS = {ast.BitOr: operator.ior, ast.BitAnd: operator.iand, ast.Sub: operator.isub, ast.BitXor: operator.ixor}


def augmented_value(
    ctx: Context, kind: type[ast.operator], current: Value, value: Value, node: ast.AST
) -> Value:
    """`current op= value`: arrays and containers change in place, everything else gives a new value."""
    if type(current) is list and kind is ast.Add:
        ctx.touch(current)
        current.extend(known_items(ctx, value, node))
        return current
    if type(current) is Pile and kind is ast.Add:
        from .piled import call_method

        call_method(ctx, current, "extend", [value], {}, node)
        return current
    if type(current) is list and kind is ast.Mult:
        repeated = binary(ctx, kind, current, value, node)
        if type(repeated) is not list:  # an array times the list
            return repeated
        ctx.touch(current)
        current[:] = repeated
        return current
    if isinstance(current, set) and isinstance(value, set) and kind in _SET_OPERATORS:
        ctx.touch(current)
        run_known(ctx, node, _SET_OPERATORS[kind], current, value)
        return current
    if isinstance(current, dict) and kind is ast.BitOr and isinstance(value, dict):
        ctx.touch(current)
        current.update(value)
        return current
    if is_instance(current):
        result = special(ctx, current, in_place_name(kind), [value], node)
        if result is not NotImplemented:
            return result
    if isinstance(current, Masked):
        store_selected(ctx, current, binary(ctx, kind, current, value, node), node, in_place=True)
        return current
    if isinstance(value, Masked) and type(current) is Ref:
        value = concrete(ctx, value, node, "an array changed by a selection x[mask]")
    if type(current) is not Ref:
        return binary(ctx, kind, current, value, node)
    if kind is ast.MatMult and (not current.aval.shape or len(ctx.atom(value).aval.shape) < 2):
        what = "requires the first operand to have at least one and the second at least two dimensions."
        raise ctx.error(ShapeError, node, f"inplace matrix multiplication {what}")
    result = binary(ctx, kind, Ref(ctx.cell(ctx.read(current))), value, node)
    atom = ctx.atom(result)
    ctx.at(node)
    write_in_place(ctx, current, atom, node)
    return current


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


Context.statements.update({ast.Assign: assign_, ast.AnnAssign: ann_assign, ast.AugAssign: aug_assign})
