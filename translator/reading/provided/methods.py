"""Methods: of arrays, of ufuncs, and of the containers that a function builds."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ... import make, surface
from ...builder import Builder
from ...errors import AxisError, DTypeError, ShapeError
from ...ir import Atom, Var
from ...surface.arguments import static_dtype
from ...surface.python import as_item, as_python
from ..core import growing
from ..core.context import Context
from ..core.demand import as_key, ask, static
from ..core.growing import Growing, Pile
from ..core.layout import note_result
from ..core.values import DictView, Filling, Generator, Iterated, Masked, Method, Ref, Value, is_runtime
from ..facts.booleans import is_bool, python_bool
from ..parts import listed, piled
from ..parts.array_stores import changed, store_selected, store_view
from ..parts.known import refuse_class, run_known
from ..uses import protocols
from ..uses.arrays import contiguous
from ..uses.handlers import call_handler
from ..uses.iteration import known_items
from ..uses.selected import call
from .functional import scatter_into
from .standard import sorted_items

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort", "update", "setdefault", "popitem"}
    | {"move_to_end", "subtract", "add", "discard"}
    | {"difference_update", "intersection_update", "symmetric_difference_update"}
)


def call_method(ctx: Context, method: Method, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    owner, name = method.owner, method.name
    if is_runtime(owner):
        own = _ARRAY_METHODS.get(name)
        if own is not None:
            return own(ctx, owner, args, kwargs, node)
        handler = surface.method_handler(name)
        assert handler is not None, f"the attribute {name} was looked up"
        value = call_handler(ctx, handler, name, [owner, *args], kwargs, node)
        return python_bool(ctx, value) if name == "is_integer" else value
    if type(owner) is Pile:
        if name == "extend":
            args = [a if type(a) is Pile else known_items(ctx, a, node) for a in args]
        return piled.call_method(ctx, owner, name, args, kwargs, node)
    if isinstance(owner, Growing):
        return growing.call_method(ctx, owner, name, args, node)
    if type(owner) is Filling:
        listed.append(ctx, owner, args[0], node)
        return None
    if isinstance(owner, Masked):
        return _call_selection_method(ctx, owner, name, args, kwargs, node)
    return _call_container_method(ctx, owner, name, args, kwargs, node)


def _call_selection_method(
    ctx: Context, owner: Masked, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    def again(given: list[Value], keywords: dict[str, Value]) -> Value:
        return call_method(ctx, Method(given[0], name), list(given[1:]), keywords, node)

    if name == "fill":
        store_selected(ctx, owner, args[0], node)
        return None
    return call(ctx, name, [owner, *args], kwargs, node, again)


def _call_container_method(
    ctx: Context, owner: Any, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    args = [known_items(ctx, a, node) if type(a) in (Generator, Iterated, DictView) else a for a in args]
    if name == "extend":
        args = [known_items(ctx, args[0], node)]
    if isinstance(owner, dict) and name in ("get", "pop", "setdefault") and args:
        args = [as_key(ctx, args[0], node, "a dict key"), *args[1:]]
    if isinstance(owner, list) and name in ("pop", "insert") and args:
        args = [static(ctx, args[0], node, "a list position"), *args[1:]]
    if isinstance(owner, list) and name == "sort":
        ctx.touch(owner)
        owner[:] = sorted_items(ctx, node, list(owner), **kwargs)
        return None
    if isinstance(owner, set) and args:
        args = [as_key(ctx, a, node, "an argument of a set method") for a in args]
    if name in ("index", "count", "remove") and any(map(protocols.has_undecided, (owner, args))):
        ask(ctx, [owner, *args])
        ctx.cut(
            node,
            f"`.{name}` of a {type(owner).__name__} that holds run-time values",
            why="the order would depend on the data",
            instead="stack them into an array",
        )
    if name in _COMPARING:
        owner, *args = (static(ctx, v, node, "a compared container") for v in (owner, *args))
    if isinstance(owner, str):
        protocols.check_text(ctx, [*args, *kwargs.values()], node)
        what = "an argument of a string method"
        args = [static(ctx, a, node, what) for a in args]
        kwargs = {name: static(ctx, v, node, what) for name, v in kwargs.items()}
    if name in _MUTATORS and isinstance(owner, list | dict | set):
        if any(_leads_to(a, owner) for a in (*args, *kwargs.values())):
            ctx.cut(node, f"a {type(owner).__name__} that contains itself")
        if name == "update" and id(owner) in ctx.objects:
            for key, value in run_known(ctx, node, lambda: dict(*args, **kwargs)).items():
                ctx.set_attribute(ctx.objects[id(owner)], key, value)
            return None
        ctx.touch(owner)
    result = run_known(ctx, node, lambda: getattr(owner, name)(*args, **kwargs))
    if isinstance(owner, dict) and name in ("keys", "values", "items"):
        return DictView(owner, name)
    return result


_COMPARING = frozenset({"__contains__", "__eq__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__"})


def _leads_to(v: Value, container: Any) -> bool:
    """Whether the container is in `v`."""
    if v is container:
        return True
    items = v.values() if isinstance(v, dict) else v if isinstance(v, list | tuple) else ()
    return any(_leads_to(item, container) for item in items)


# ---- arrays --------------------------------------------------------------------------------------


def _copy(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    copied = ctx.wrap(ctx.atom(owner))
    copied = ctx.boxed(copied) if type(owner) is Ref else copied
    note_result("copy", copied, [owner], {"order": args[0]} if args else kwargs)
    return copied


def _astype(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """A copy, but for copy=False of an array that has the dtype and lies in the order."""
    handler = surface.method_handler("astype")
    assert handler is not None
    converted = call_handler(ctx, handler, "astype", [owner, *args], kwargs, node)
    copies = args[4] if len(args) > 4 else kwargs.get("copy", True)
    if type(owner) is not Ref:
        return converted
    converted = ctx.boxed(converted)
    if copies or converted.aval != owner.aval:
        return converted
    order = args[1] if len(args) > 1 else kwargs.get("order", "K")
    return contiguous(ctx, node, owner, order) if order in ("C", "F") else owner


def _conjugate(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """x.conjugate(): for real numbers the array itself; for a Python number a Python number."""
    if owner.aval.dtype.kind != "c" and not args:
        return owner
    handler = surface.method_handler("conjugate")
    assert handler is not None
    result = call_handler(ctx, handler, "conjugate", [owner, *args], kwargs, node)
    return ctx.wrap(as_python(ctx.b, result)) if owner.aval.weak else result


def _fill(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    if len(args) != 1 or kwargs:
        raise TypeError(f"fill() takes exactly 1 argument ({len(args) + len(kwargs)} given)")
    atom = ctx.atom(args[0])
    if atom.aval.shape:
        raise ctx.error(ShapeError, node, "setting an array element with a sequence.")
    if type(owner) is Ref:  # NumPy's numbers have the method, and stay what they are
        store_view(ctx, owner, atom)


def _tolist(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    if type(owner) is Ref and not owner.aval.shape:
        owner = ctx.number(owner)
    if isinstance(owner, np.generic):  # of a constant array
        return owner.item()
    if type(owner) is not Ref:
        return _pythons(ctx, ctx.wrap(as_item(ctx.b, owner)))
    made: list[Value] = [_tolist(ctx, item, [], {}, node) for item in known_items(ctx, owner, node)]
    if len(owner.aval.shape) == 1:
        listed.note_rows(ctx, made, owner)
    return made


def _item(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    handler = surface.method_handler("item")
    assert handler is not None
    return _pythons(ctx, call_handler(ctx, handler, "item", [owner, *args], kwargs, node))


def _pythons(ctx: Context, number: Value) -> Value:
    return python_bool(ctx, number) if is_bool(number) else number


def _view(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """x.view(dtype) between dtypes of one size; of the same memory, as in NumPy."""
    given = []
    for a in (*args, *kwargs.values()):
        if not (isinstance(a, type) and issubclass(a, np.ndarray)):
            given.append(a)
        elif a is not np.ndarray:
            refuse_class(ctx, a, node)
    if not given:
        return Ref(owner.cell, owner.path) if type(owner) is Ref else owner  # another object
    return call_handler(ctx, _VIEW, "view", [owner, *given], {}, node)


def _viewed(b: Builder, x: Atom, dtype: Any) -> Atom:
    return make.view(b, x, static_dtype(dtype))


_VIEW = surface.Handler(_viewed, view=True)


def _sort(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    """x.sort() and x.partition(kth): in place."""
    _in_place(ctx, np.sort, owner, args, kwargs, node)


def _partition(ctx: Context, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    _in_place(ctx, np.partition, owner, args, kwargs, node)


def _in_place(
    ctx: Context, function: Any, owner: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> None:
    if type(owner) is not Ref:
        raise AxisError(-1, 0)
    handler = surface.handler_for(function)
    assert handler is not None
    store_view(ctx, owner, ctx.atom(call_handler(ctx, handler, function, [owner, *args], kwargs, node)))


_ARRAY_METHODS = {
    "sort": _sort,
    "partition": _partition,
    "copy": _copy,
    "astype": _astype,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "fill": _fill,
    "item": _item,
    "tolist": _tolist,
    "view": _view,
}


# ---- np.add.at -----------------------------------------------------------------------------------


def scatter(ctx: Context, ufunc: np.ufunc, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.add.at(x, index, value) and its kin: repeated indices accumulate. With JAX's inplace=False the result is a
    copy with the elements changed."""
    if kwargs == {"inplace": False} and args and isinstance(args[0], Ref | Var):
        copy = Ref(ctx.cell(ctx.read(ctx.boxed(args[0]))))
        scatter(ctx, ufunc, [copy, *args[1:]], {}, node)
        return copy
    if kwargs and kwargs != {"inplace": True}:
        raise TypeError("ufunc.at() takes no keyword arguments")
    if args and isinstance(args[0], Masked):
        what = f"np.{ufunc.__name__}.at of a selection x[mask]"
        changed(ctx, args[0], node, lambda x: scatter(ctx, ufunc, [x, *args[1:]], {}, node), what)
        return None
    if args and type(args[0]) is not Ref:
        raise ctx.error(DTypeError, node, "first operand must be array")
    if ufunc.nin > 2 or ufunc.nout != 1 or len(args) != ufunc.nin + 1 or type(args[0]) is not Ref:
        ctx.refuse(node, f"np.{ufunc.__name__}.at is not in the language here", instead="use np.add.at on an array")
    target, key, *values = args
    dtype = target.aval.dtype
    if values and ufunc in _WRAPPING:
        values = [_narrowed(ctx, values[0], dtype)]
    given = ctx.atom(values[0]).aval.dtype if values else ufunc.resolve_dtypes((dtype, None))[-1]
    if not np.can_cast(given, dtype, "same_kind"):  # NumPy casts each sum
        what = f"np.{ufunc.__name__}.at cannot cast what it computes with {given} to {dtype}"
        ctx.cut(node, what, instead="cast the array first, x.astype(...)")
    new = ctx.atom(scatter_into(ctx, ufunc, target, key, values[0] if values else None, node))
    ctx.at(node)
    ctx.write(target, new)
    return None


_WRAPPING = (np.add, np.subtract, np.multiply)


def _narrowed(ctx: Context, value: Value, dtype: np.dtype[Any]) -> Value:
    """Integers that NumPy adds in a wider type, and casts each sum of: the same as sums in the narrower type. Bools are
    numbers."""
    x = ctx.atom(value)
    given = x.aval.dtype
    if dtype.kind in "iu" and np.result_type(given, dtype).kind in "iu":
        return ctx.wrap(make.astype(ctx.b, make.astype(ctx.b, x, given), dtype))  # a Python number is an int64 here
    return ctx.wrap(make.astype(ctx.b, x, dtype)) if given.kind == "b" and dtype.kind != "b" else value
