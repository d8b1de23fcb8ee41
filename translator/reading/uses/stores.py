"""Changes of values in place: x[key] = v, del x[key], x += v, of whatever can be indexed."""

from __future__ import annotations

import ast
import operator
from typing import Any, NoReturn

import numpy as np

from ...errors import CutError, DTypeError, ShapeError
from ...ir import Var
from ..core.aliases import has_one_holder
from ..core.context import Context
from ..core.demand import as_key
from ..core.growing import Growing, Pile, grow, set_item
from ..core.values import Flat, Foreign, Masked, Method, Ref, Value, describe, is_runtime
from ..facts.overlaps import check_overlap, check_parts
from ..parts import piled
from ..parts.array_stores import changed, store_array, store_selected, write_in_place
from ..parts.known import run_known
from ..parts.ranked import place_of
from ..parts.selection import concrete, part_of
from .iteration import known_items
from .operators import binary, in_place_name
from .protocols import is_instance, special
from .subscripts import index_value


def store(ctx: Context, base: Value, key: Value, value: Value, node: ast.AST) -> None:
    """`base[key] = value`."""
    if type(base) is Flat:
        check_parts(ctx, base, value, node, BY_FLAT)
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
        piled.store(ctx, base, key, value, node)
        return
    if isinstance(base, dict | list):
        known = _place(ctx, base, key, node)
        if isinstance(base, list) and isinstance(known, slice):
            value = known_items(ctx, value, node)
        elif isinstance(base, list) and isinstance(known, int | np.integer):
            if not -len(base) <= known < len(base):
                raise IndexError("list assignment index out of range")
            if base[known] is value:
                return
        elif isinstance(base, dict) and known in base and base[known] is value:
            return
        if id(base) in ctx.objects:
            ctx.set_attribute(ctx.objects[id(base)], known, value)
            return
        ctx.touch(base)
        base[known] = value
        return
    if is_instance(base) and special(ctx, base, "__setitem__", [key, value], node) is not NotImplemented:
        return
    if isinstance(base, bytearray):
        cut_changed_bytes(ctx, node)
    what = f"{describe(base)} does not support item assignment"
    raise ctx.error(DTypeError, node, what, instead="make it a list, a dict or an array")


def _place(ctx: Context, base: dict[Any, Value] | list[Value], key: Value, node: ast.AST) -> Any:
    """A key that is known. The list is read again as rows of an array where only the run knows it."""
    try:
        return as_key(ctx, key, node, "the index of a container")
    except CutError:
        grow(ctx, (base,))
        raise


def cut_changed_bytes(ctx: Context, node: ast.AST) -> NoReturn:
    """What changes a bytearray CPython does: here it would be done once, when the function is translated."""
    ctx.cut(node, "a bytearray that changes cannot be compiled", instead="use an array of np.uint8")


def delete_item(ctx: Context, base: Value, key: Value, node: ast.AST) -> None:
    """`del base[key]`."""
    if isinstance(base, bytearray):
        cut_changed_bytes(ctx, node)
    if type(base) is Pile and type(key) is not slice:
        piled.call_method(ctx, base, "pop", [key], {}, node)
        return
    if is_instance(base) and special(ctx, base, "__delitem__", [key], node) is not NotImplemented:
        return
    if not isinstance(base, dict | list):
        ctx.refuse(node, f"`del` of an element of {describe(base)}", instead="build the smaller one")
    known = _place(ctx, base, key, node)
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


# ---- x += v --------------------------------------------------------------------------------------

_SET_OPERATORS = {ast.BitOr: operator.ior, ast.BitAnd: operator.iand, ast.Sub: operator.isub, ast.BitXor: operator.ixor}


def _adds_lists(ctx: Context, v: Value) -> bool:
    """Whether `+=` of a list adds it to the list as `+` does, where it would extend it: arrays and NumPy's numbers."""
    if is_runtime(v) or isinstance(v, Masked | np.generic):
        return True
    return is_instance(v) and ctx.captures.part(type(v.value if isinstance(v, Foreign) else v), "__radd__") is not None


def augmented_value(
    ctx: Context, kind: type[ast.operator], current: Value, value: Value, node: ast.AST
) -> Value:
    """`current op= value`: arrays and containers change in place, everything else gives a new value, as the caller's
    Arrays do.
    """
    if isinstance(current, list | Pile) and kind is ast.Add and _adds_lists(ctx, value):
        return binary(ctx, kind, current, value, node)
    if type(current) is list and kind is ast.Add:
        ctx.touch(current)
        current.extend(known_items(ctx, value, node))
        return current
    if type(current) is Pile and kind is ast.Add:
        ctx.call(Method(current, "extend"), [value], {}, node)
        return current
    if type(current) is list and kind is ast.Mult:
        repeated = binary(ctx, kind, current, value, node)
        if type(repeated) is not list:  # an array times the list
            return repeated
        ctx.touch(current)
        current[:] = repeated
        return current
    if isinstance(current, bytearray):
        cut_changed_bytes(ctx, node)
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
    if type(current) is Var and current in ctx.numbers.boxed and not has_one_holder(ctx, current, ctx.frame.env):
        ctx.cut(node, "a number that may be an array without axes is changed, and has two names", instead=_NEW_VALUE)
    if type(current) is not Ref or (current.cell.immutable and not ctx.frame.fixed):
        return binary(ctx, kind, current, value, node)
    if kind is ast.MatMult and (not current.aval.shape or len(ctx.atom(value).aval.shape) < 2):
        what = "requires the first operand to have at least one and the second at least two dimensions."
        raise ctx.error(ShapeError, node, f"inplace matrix multiplication {what}")
    result = binary(ctx, kind, Ref(ctx.cell(ctx.read(current))), value, node)
    atom = ctx.atom(result)
    ctx.at(node)
    write_in_place(ctx, current, atom, node)
    return current


_NEW_VALUE = "give the new value a name, or make a number of it before, x[()]"
BY_FLAT = "a store through `.flat`"
